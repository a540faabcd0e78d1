"""Where the options of a campaign come from: -e, or variables of inventory and play."""

import re

import pytest
import yaml
from ansible.errors import AnsibleUndefinedVariable
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import OPTIONS
from ansible_collections.scalebench.core.plugins.module_utils.records.factors import FACTORS
from ansible_collections.scalebench.core.plugins.plugin_utils.given_options import (
    check_same_on_nodes,
    given_options,
    misspelt,
    role_variables,
    with_sources,
)
from campaign_data import ROOT

NAMES = ("precision", "mode", "repeats", "sequence_length")


def given(extra, **variables):
    """Return the options; a variable is templated by a mark that shows it."""
    return given_options(
        extra, {**variables, **extra}, NAMES, lambda value: ["templated", value] if value else value
    )


def test_what_a_template_lacks_is_told_with_the_option():
    def template(_value):
        raise AnsibleUndefinedVariable("'nope' is undefined")

    for extra, variables in (({"precision": "{{ nope }}"}, {}), ({}, {"precision": "{{ nope }}"})):
        with pytest.raises(AnsibleUndefinedVariable, match="precision: 'nope' is undefined"):
            given_options(extra, {**variables, **extra}, NAMES, template)


@pytest.mark.parametrize(
    ("extra", "variables", "options", "of_variables"),
    [
        ({}, {}, {}, []),
        ({"precision": "amp"}, {"precision": "fp32"}, {"precision": ["templated", "amp"]}, []),
        (
            {"precision": "amp"},
            {"campaign_precision": "fp32"},
            {"precision": ["templated", "amp"]},
            [],
        ),
        (
            {"campaign_precision": "amp"},
            {"precision": "fp32"},
            {"precision": ["templated", "amp"]},
            [],
        ),
        ({"repeats": ""}, {}, {"repeats": ""}, []),
        ({"campaign_mode": ""}, {"mode": "0644"}, {}, []),
        ({}, {"precision": "fp32"}, {"precision": ["templated", "fp32"]}, ["precision"]),
        (
            {},
            {"precision": "fp32", "campaign_precision": "amp"},
            {"precision": ["templated", "amp"]},
            ["precision"],
        ),
        ({}, {"mode": "0644", "campaign_mode": ""}, {}, []),
        (
            {},
            {"campaign_sequence_length": 1, "sequence_length": 2},
            {"sequence_length": ["templated", 1]},
            ["sequence_length"],
        ),
        ({}, {"sequence_length": 1, "campaign_sequence_length": ""}, {}, []),
        ({}, {"sequence_length": 1}, {"sequence_length": ["templated", 1]}, ["sequence_length"]),
    ],
)
def test_ansibles_precedence_holds(extra, variables, options, of_variables):
    assert given(extra, **variables) == (options, of_variables)


def test_an_option_that_differs_between_nodes_is_refused_with_their_values():
    nodes = {"node1": {"precision": "amp"}, "node2": {"mode": "x"}}
    check_same_on_nodes(nodes, ["repeats"])
    with pytest.raises(
        ValueError, match=r'precision differs .* node1 has "amp", node2 has no value'
    ):
        check_same_on_nodes(nodes, NAMES)
    nodes = {name: {**nodes[name], "campaign_precision": ["fp32"]} for name in nodes}
    check_same_on_nodes(nodes, ["precision"])


def test_an_option_that_differs_between_nodes_is_refused_with_the_way_out():
    nodes = {"node1": {"data": "a"}, "node2": {"data": "b"}}
    with pytest.raises(ValueError, match=r"or with -e \(where .* campaign_data: '' keeps it out\)"):
        check_same_on_nodes(nodes, ["data"])
    kept_out = {name: {**nodes[name], "campaign_data": ""} for name in nodes}
    check_same_on_nodes(kept_out, ["data"])
    with pytest.raises(ValueError, match="data is a factor of benchmark mine; where"):
        check_same_on_nodes(nodes, ["data"], {"data": ["mine"]})


def test_a_message_about_a_benchmarks_own_factor_names_the_benchmark():
    message = "-e sequence_length=abc: 'abc' is not a whole number"
    declared = {"sequence_length": ["toy", "mine"]}
    assert with_sources(message, ["sequence_length"], declared) == (
        "variable sequence_length=abc: 'abc' is not a whole number (sequence_length is a variable"
        " of the inventory or the play; sequence_length is a factor of benchmark toy and mine;"
        " where it is meant for something else, campaign_sequence_length: '' keeps it out)"
    )


def test_a_message_names_a_variable_as_such():
    message = "-e mode=0644: there is no mode '0644'; the choices are train"
    assert with_sources(message, []) == message
    other = "campaign x was made with another plan. Give the options it was made with (-e mode=x)"
    assert with_sources(other, ["mode"]) == other
    assert with_sources(message, ["mode"]) == (
        "variable mode=0644: there is no mode '0644'; the choices are train (mode is a variable of"
        " the inventory or the play; where it is meant for something else, campaign_mode: '' keeps"
        " it out)"
    )


def test_every_option_is_a_variable_of_role_campaign():
    specs = yaml.safe_load((ROOT / "roles/campaign/meta/argument_specs.yml").read_text())
    options = specs["argument_specs"]["main"]["options"]
    given_empty = {
        name.removeprefix("campaign_"): option["default"]
        for name, option in options.items()
        if option["type"] == "raw"
    }
    wanted = {name: f"{{{{ {name} | default('') }}}}" for name in OPTIONS}
    differing = {name for name, _ in given_empty.items() ^ wanted.items()}
    assert not differing, (
        "each option is campaign_NAME in roles/campaign/defaults/main.yml and in"
        " roles/campaign/meta/argument_specs.yml, with type raw and this default:"
        f" {[wanted.get(name) for name in sorted(differing)]}"
    )


def test_no_variable_that_the_docs_list_is_taken_for_misspelt():
    known = yaml.safe_load((ROOT / "roles/campaign/vars/main.yml").read_text())["__campaign_known"]
    listed = re.findall(r"^\| `(\w+)`", (ROOT / "docs/variables.md").read_text(), re.M)
    assert {"scalebench_proxy", "diagnosis_fail", "campaign_retry"} <= {*listed}
    of_options = [f"campaign_{name}" for name in OPTIONS]
    assert misspelt(listed, [*known, *of_options]) == []
    assert misspelt(listed, []) == [
        f"-e {name}: only playbooks that run role campaign read {name}; what several playbooks"
        " share can be in the inventory, as in group_vars/all"
        for name in sorted({*listed} & {*of_options})
    ]
    assert not {*known} & role_variables()


def test_a_misspelt_variable_of_a_role_is_told_with_the_one_meant():
    assert misspelt(["diagnosis_fial"], ["diagnosis"]) == [
        "-e diagnosis_fial: there is no option 'diagnosis_fial'; did you mean 'diagnosis_fail'?"
    ]
    for wrong, meant in (("campaign_retri", "campaign_retry"), ("campaign_nam", "campaign_name")):
        assert f"did you mean {meant!r}?" in misspelt([wrong], ["campaign"])[0]
    assert misspelt(["my_cuda_version", "site_nccl"], ["diagnosis"]) == []


def test_a_factor_of_a_benchmark_is_an_option_where_its_folder_is_named(tmp_path):
    given = ["campaign", "sequence_length"]
    (said,) = misspelt(given, ["campaign"], str(ROOT / "benchmarks"))
    assert said.startswith("-e sequence_length: only playbooks that run a campaign read it")
    (tmp_path / "broken.yml").write_text("{")
    closed = tmp_path / "closed"
    closed.mkdir(0)
    for folder in (tmp_path, tmp_path / "none", "", "~nobody-of-this-name/b", closed / "b"):
        assert misspelt(given, ["campaign"], str(folder)) == []


@pytest.mark.parametrize(
    ("playbook", "roles"),
    [
        ("bench", ["campaign", "comparison", "preflight", "cell", "report", "gate"]),
        ("report", ["report", "gate", "acceptance_verdict"]),
        ("history", ["history"]),
        ("archive", ["archive"]),
    ],
)
def test_every_word_of_e_that_a_role_reads_is_known_to_its_playbook(playbook, roles):
    if playbook == "bench":
        known = yaml.safe_load((ROOT / "roles/campaign/vars/main.yml").read_text())
        # What only a report without a campaign of its own is told.
        of_reports = {"allowed_signers", "archive", "log_dir", "signer"}
        known = {*known["__campaign_known"], *OPTIONS, *of_reports}
    else:
        (play,) = yaml.safe_load((ROOT / f"playbooks/{playbook}.yml").read_text())
        known = {name for role in play["roles"] for name in role.get("extra_variables_known", [])}
    read = {
        word
        for role in roles
        for path in (ROOT / f"roles/{role}/defaults").glob("*.yml")
        for word in re.findall(
            r"\b([a-z]\w*) (?:\| default\(|if '\w+' in lookup\('extra_variables'\))",
            path.read_text(),
        )
        if not word.startswith("scalebench_")
    }
    assert read and read - role_variables() <= known
    for word in read - role_variables():
        wrong = word[:-1] + word[-1] * 2
        assert misspelt([wrong], known), wrong


def test_every_option_has_its_row_in_the_readme():
    text = (ROOT / "README.md").read_text().partition("## Choose what to run")[2]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", text.partition("\n## ")[0], re.M)
    listed = {name for row in rows for name in re.findall(r"\w+", row)}
    assert {*OPTIONS} - {factor.name for factor in FACTORS if not factor.listed} <= listed
