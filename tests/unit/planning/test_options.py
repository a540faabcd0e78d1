"""Options: what is read, what is refused, what looks misspelt."""

import pytest
from ansible.parsing.splitter import parse_kv
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import (
    OPTIONS,
    misspelt,
    parse_options,
)
from ansible_collections.scalebench.core.plugins.module_utils.records.factors import own_factor


def test_lists_come_as_text_or_list_and_lose_repetitions():
    given = {"precision": "fp32, amp,fp32", "batch_size_per_device": [4, "8"], "repeats": "3"}
    assert parse_options(given) == {
        "precision": ["fp32", "amp"],
        "batch_size_per_device": [4, 8],
        "repeats": 3,
    }


def test_variables_that_are_no_options_are_left_alone():
    assert parse_options({"ansible_user": "me", "campaign": "x"}) == {}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("repeats", "0", "-e repeats=0: '0' is below 1"),
        ("repeats", -2, "is below 1"),
        ("repeats", "1_0", "'1_0' is not a whole number"),
        ("repeats", "\N{ARABIC-INDIC DIGIT THREE}", "is not a whole number"),
        ("repeats", "x" * 5000, f"-e repeats={'x' * 80}: '{'x' * 79} is not a whole number"),
        ("precision", {"x" * 5000: 1}, f"-e precision={{'{'x' * 78}: is a mapping"),
        ("repeats", 10001, "is above 10000, the most that can be asked for"),
        ("max_repeats", 10001, "is above 10000"),
        ("warmup", "9" * 20, "is above 1000000"),
        ("iterations", "9" * 23, f"-e iterations={'9' * 23}: '{'9' * 23}' is above 1000000, the"),
        ("epochs", 1000001, "is above 1000000"),
        ("batch_size_per_device", "4,9999999999999", "'9999999999999' is above 1000000"),
        ("repeats", True, "is not a whole number"),
        ("iterations", "ten", "'ten' is not a whole number"),
        ("epochs", "0", "is below 1"),
        ("target_accuracy", "101", "is not above 0 and at most 100 percent"),
        ("target_accuracy", "0", "is not above 0 and at most 100 percent"),
        ("target_accuracy", "high", "is not a number"),
        ("batch_size_per_device", "4.5", "'4.5' is not a whole number"),
        ("batch_size_per_device", 4.5, "'4.5' is not a whole number"),
        (
            "batch_size_per_device",
            "4,,8",
            "-e batch_size_per_device=4,,8: has an empty item",
        ),
        ("precision", "", "is empty"),
        ("precision", "fp32,,amp", "-e precision=fp32,,amp: has an empty item: remove"),
        ("precision", ["fp32", " "], "has an empty item"),
        ("precision", [], "the list is empty"),
        ("topology", "4n", "is not a topology"),
        ("topology", "0n1g", "is not a topology"),
        (
            "topology",
            "9" * 20 + "n1g",
            "g' has too many nodes or devices: give counts of at",
        ),
        ("topology", "1n" + "9" * 10 + "g", "has too many nodes or devices"),
        ("xla", "maybe", "is neither true nor false"),
        ("precision", {"fp32": 1}, "is a mapping, not a list of values"),
        ("precision", [32], "32 is not a text"),
        ("recipe", None, "None is not a text"),
        ("framework_version", "1." + "0" * 63, "is longer than 64 characters"),
        ("global_batch_size", "1" * 65, "is above 1000000000"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_with_its_source(name, value, said):
    with pytest.raises(ValueError, match=f"^-e {name}") as error:
        parse_options({name: value})
    assert said in str(error.value)


def test_warm_up_may_be_none():
    assert parse_options({"warmup": "0"}) == {"warmup": 0}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("precison", "precision"),
        ("batch", "batch_size_per_device"),
        ("repeat", "repeats"),
        ("campain", "campaign"),
        ("dtype", "precision"),
        ("topologies", "topology"),
    ],
)
def test_a_misspelt_option_is_told_with_the_one_meant(name, meant):
    said = f"-e {name}: there is no option {name!r}; did you mean {meant!r}?"
    assert misspelt([name], ["campaign", *OPTIONS]) == [said]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("precison", "precision"),
        ("repaats", "repeats"),
        ("dtype", "precision"),
        ("sequence_lenght", "sequence_length"),
    ],
)
def test_a_misspelt_option_of_another_playbook_is_told_as_such(name, meant):
    assert misspelt([name], ["campaign"], [], ["sequence_length"]) == [
        f"-e {name}: there is no option {name!r}; did you mean {meant!r}? Only playbooks that run a"
        " campaign read it, as bench.yml"
    ]


@pytest.mark.parametrize("name", ["message_size", "campaign_message_size", "topologies"])
def test_what_resembles_an_option_of_another_playbook_from_afar_is_the_users_own(name):
    assert misspelt([name], ["campaign"], [], ["image_size"]) == []
    every = [*OPTIONS, "image_size"]
    assert misspelt([name], [*every, *(f"campaign_{one}" for one in every)])


def test_words_that_give_no_variable_are_refused():
    """Ansible's own parser leaves them under a name."""
    given = parse_kv("repeats: 1 precision=amp")
    assert misspelt(given, ["precision"]) == [
        'an -e without "=" gives no variable: write NAME=VALUE, JSON or @FILE'
    ]


def test_misspelt_options_are_in_order():
    names = ["repeat", "batch", "dtype", "amp", "precison", "campain"]
    assert [said.split()[1] for said in misspelt(names, ["campaign"])] == [
        f"{name}:" for name in sorted(names)
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("campaign_precison", "campaign_precision"),
        ("campaign_amp", "campaign_precision"),
        ("campaign_sequence_lenght", "campaign_sequence_length"),
        ("campaign_baseline", "baseline"),
        ("campain_precision", "campaign_precision"),
    ],
)
def test_a_misspelt_variable_of_role_campaign_is_told_with_the_one_meant(name, meant):
    known = ["baseline", *(f"campaign_{option}" for option in (*OPTIONS, "sequence_length"))]
    assert misspelt([name, "campaign_owner", "campaign_benchmarks_dir"], known) == [
        f"-e {name}: there is no option {name!r}; did you mean {meant!r}?"
    ]
    assert misspelt(known, known) == []


FOR_ALL = "; what several playbooks share can be in the inventory, as in group_vars/all"


@pytest.mark.parametrize("name", ["campaign_precision", "campaign_precison"])
def test_a_playbook_without_role_campaign_refuses_its_variables(name):
    assert misspelt([name, "campaign_owner", "campaign_benchmarks_dir"], ["output_dir"]) == [
        f"-e {name}: only playbooks that run role campaign read campaign_precision{FOR_ALL}"
    ]
    assert misspelt([name], ["precision"]) == [
        f"-e {name}: there is no option {name!r}; did you mean 'precision'?"
    ]


def test_a_variable_of_the_users_own_is_not_taken_for_misspelt():
    assert misspelt(["my_rack", "precision", "campaign"], ["campaign", "precision"]) == []


def test_an_option_that_the_playbook_does_not_read_is_refused():
    assert misspelt(["precision", "warmup", "campaign"], ["campaign"]) == [
        f"-e precision: only playbooks that run a campaign read it, as bench.yml{FOR_ALL}",
        f"-e warmup: only playbooks that run a campaign read it, as bench.yml{FOR_ALL}; report.yml"
        """ takes it as parameter of its rule: -e '{"report_parameters": {"warmup": NUMBER}}'""",
    ]
    assert misspelt(OPTIONS, OPTIONS) == []


def test_a_factor_that_a_benchmark_declares_is_refused_as_other_options_are():
    given = ["campaign_experts", "expert", "experts", "my_rack"]
    assert misspelt(given, ["campaign"], [], ["experts"]) == [
        "-e campaign_experts: only playbooks that run role campaign read campaign_experts"
        + FOR_ALL,
        "-e expert: there is no option 'expert'; did you mean 'experts'? Only playbooks that run a"
        " campaign read it, as bench.yml",
        f"-e experts: only playbooks that run a campaign read it, as bench.yml{FOR_ALL}",
    ]
    assert misspelt(["experts"], ["experts"], [], ["experts"]) == []
    assert misspelt(given, ["campaign"]) == []


def test_a_count_that_a_benchmark_declares_has_a_limit_too():
    size = own_factor("image_size", {"type": "count", "token": "{}px"})
    assert parse_options({"image_size": 10**12}, own=[size]) == {"image_size": [10**12]}
    with pytest.raises(ValueError, match=r"-e image_size=.* is above 1000000000000"):
        parse_options({"image_size": 10**12 + 1}, own=[size])
