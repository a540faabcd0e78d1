"""A benchmark with a factor and a unit of its own, from its file to results."""

import copy
import json
import re
import subprocess
from typing import Any

import pytest
import yaml
from ansible.vars.reserved import get_reserved_names
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.comparison.across_frameworks import (
    across_frameworks,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.cell_pairs import (
    cell_pairs,
)
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.module_utils.history.trends import entry, gather
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.benchmark_file import (
    check_benchmark,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import (
    declared_factors,
    unused_factors,
)
from ansible_collections.scalebench.core.plugins.module_utils.published.against_published import (
    against_published,
)
from ansible_collections.scalebench.core.plugins.module_utils.published.conditions import judge
from ansible_collections.scalebench.core.plugins.module_utils.report.exports import csv_text
from ansible_collections.scalebench.core.plugins.module_utils.report.text import terminal_table
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.running.record import record
from ansible_collections.scalebench.core.plugins.module_utils.running.search import skipped
from campaign_data import ROOT, benchmarks, cluster
from published_data import rows

KNOWN = "__campaign_known"
FOLDER = ROOT / "tests/integration/workloads"
TOY = yaml.safe_load((FOLDER / "toy_sequences.yml").read_text())


def all_benchmarks() -> dict[str, Any]:
    return {**benchmarks(), "toy_sequences": check_benchmark(copy.deepcopy(TOY), "toy.yml")}


def planned(**given: Any) -> dict[str, Any]:
    """Return the plan of a campaign of the toy on two nodes."""
    known = all_benchmarks()
    options = parse_options({"benchmark": "toy_sequences", **given}, own=declared_factors(known))
    nodes = cluster(2, workload_dir=str(FOLDER), pythons={"none": "python3"})
    return plan.build(known, options, nodes)


def measured(made: dict[str, Any], name: str = "toy") -> dict[str, Any]:
    """Run every repeat's command on the leading node and return the results."""
    runs = []
    for repeat in plan.repeats(made["cells"]):
        cell = next(one for one in made["cells"] if one["directory"] == repeat["cell"]["directory"])
        command = cell["commands"][cell["node_names"][0]]
        text = subprocess.run(command["argv"], check=True, capture_output=True).stdout
        reading = logs.read([text], cell["reading"]["reader"])
        facts = log_facts(
            reading, cell["reading"]["strategy"], cell["reading"]["parameters"], repeat["expect"]
        )
        told = {node: {"ending": "ok", "seconds": 1.0} for node in cell["node_names"]}
        head = {"campaign": name, "session": "s", "recorded": "2026-11-22T00:00:00+00:00"}
        cell = {**repeat["cell"], "oversubscribed": False}
        runs.append(record(head, {**repeat, "machines": {}, "cell": cell}, told, facts))
    return build_results({**made, "campaign": name, "created": "2026-11-22T00:00:00Z"}, runs)


def test_the_factor_is_an_option_a_part_of_the_path_and_an_argument():
    made = planned(sequence_length="128,512", packed="true", topology="1n1g")
    assert [cell["directory"] for cell in made["cells"]] == [
        "toy_sequences/bz4-packed/1n1g",
        "toy_sequences/bz4-s512-packed/1n1g",
    ]
    long = made["cells"][1]
    assert long["own_factors"] == {"sequence_length": 512, "packed": True}
    argv = long["commands"]["node1"]["argv"]
    assert "--sequence-length=512" in argv and argv[-1] == "--packed"
    assert "--packed" not in made["cells"][0]["commands"]["node1"]["argv"]


def plan_without_its_words(kept: Any = None, **given: Any) -> Any:
    """Return the plan of the toy when its command names no sequence length."""
    toy = copy.deepcopy(TOY)
    recipe = toy["recipes"]["portable"]
    recipe["arguments"] = [word for word in recipe["arguments"] if "sequence_length" not in word]
    known = {"toy_sequences": check_benchmark(toy, "toy.yml")}
    given = {"benchmark": "toy_sequences", "topology": "1n1g", **given}
    options = parse_options(given, own=declared_factors(known))
    nodes = cluster(2, workload_dir=str(FOLDER), pythons={"none": "python3"})
    return plan.build(known, options, nodes, kept)


def test_a_factor_of_which_no_command_tells_has_one_value():
    """Else two cells would be the same run under two names."""
    assert len(plan_without_its_words(sequence_length="128")["cells"]) == 1
    said = (
        "toy_sequences/bz4/1n1g/toy_b4_fp32 and toy_sequences/bz4-s512/1n1g/toy_b4_fp32 would run"
        " the same command: nothing in recipe portable of toy_sequences uses sequence_length. Name"
        " it in arguments, environment or additions, or ask for one value"
    )
    with pytest.raises(ValueError, match=re.escape(said)):
        plan_without_its_words(sequence_length="128,512")


def test_a_campaign_that_was_planned_so_goes_on():
    kept = planned(sequence_length="128,512", topology="1n1g")
    assert len(plan_without_its_words(kept, sequence_length="128,512")["cells"]) == 2


@pytest.mark.parametrize(
    ("given", "count"),
    [
        # Of one device, a batch is that of both.
        ({"scaling": "weak,strong", "global_batch_size": 4, "batch_size_per_device": 4}, 2),
        # A variant beside itself shows the noise.
        ({"treatment": "usual,again"}, 2),
    ],
)
def test_cells_may_run_the_same_command_on_purpose(given, count):
    toy = copy.deepcopy(TOY)
    if "treatment" in given:
        toy["variants"] = {"usual": {}, "again": {}}
    known = {"toy_sequences": check_benchmark(toy, "toy.yml")}
    options = parse_options(
        {"benchmark": "toy_sequences", "topology": "1n1g", **given}, own=declared_factors(known)
    )
    nodes = cluster(2, workload_dir=str(FOLDER), pythons={"none": "python3"})
    cells = plan.build(known, options, nodes)["cells"]
    assert len(cells) == count
    assert len({str(cell["commands"]) for cell in cells}) == 1


def names_read_elsewhere():
    """Return the variables that playbooks know beside the options, and what Ansible reserves."""
    names = set(get_reserved_names())
    names.update(yaml.safe_load((ROOT / "roles/campaign/vars/main.yml").read_text())[KNOWN])
    for path in (ROOT / "playbooks").glob("*.yml"):
        for play in yaml.safe_load(path.read_text()):
            for role in play.get("roles") or ():
                names.update(role.get("extra_variables_known") or ())
    names.update(name[len("campaign_") :] for name in [*names] if name.startswith("campaign_"))
    return {name for name in names if not name.startswith("_")}


def test_a_factor_has_no_name_that_something_else_reads():
    names = names_read_elsewhere()
    assert {"log_dir", "sign_key", "claims", "older_than", "environment"} < names
    taken = []
    names |= {"tags", "port", "groups", "ansible_user", "scalebench_x", "campaign_x", "gate"}
    # Of the roles those that a campaign is often given.
    names |= {"cell_timeout", "history_plots", "archive_path", "framework_python", "slurm_nodes"}
    names |= {"cluster_ssh_port", "preflight_accepted", "report_plots", "report_published_dir"}
    # Of the headers of logs, beside the factors of the table.
    names |= {"nccl", "backend", "parameters", "threads_per_rank", "ranks_seen", "steps_per_line"}
    for name in names:
        toy = copy.deepcopy(TOY)
        toy["factors"][name] = {"type": "flag", "token": "zz"}
        try:
            check_benchmark(toy, "toy.yml")
        except ValueError as error:
            assert str(error) == f"toy.yml: factors: {name} is the name of something else"
        else:
            taken.append(name)
    assert taken == []


def test_two_factors_of_a_benchmark_have_different_tokens():
    twice = copy.deepcopy(TOY)
    twice["factors"]["heads"] = dict(twice["factors"]["sequence_length"])
    with pytest.raises(ValueError, match=r"heads.token .* a value of sequence_length"):
        check_benchmark(twice, "toy.yml")


def test_it_is_unused_unless_its_benchmark_is_asked_for():
    of_pytorch, both = ["image_size"], ["sequence_length", "packed"]
    known = {name: all_benchmarks()[name] for name in ("pytorch", "toy_sequences")}
    assert unused_factors(known, {}) == both
    assert unused_factors(known, {"benchmark": ["nowhere"]}) == of_pytorch + both
    assert unused_factors(known, {"benchmark": ["pytorch", "toy_sequences"]}) == []
    assert unused_factors(known, {"benchmark": ["all"]}) == []
    with pytest.raises(ValueError, match="it is a factor of benchmark toy_sequences"):
        planned(benchmark="pytorch", packed=True)


def test_the_results_have_its_unit_and_factor():
    results = measured(planned(sequence_length="128,512"))
    assert results["failures"] == []
    assert [
        (cell["variant"], cell["topology"], cell["median_speed"], cell["unit"])
        for cell in results["cells"]
    ] == [
        ("bz4", "1n1g", 4000.0, "sequences/s"),
        ("bz4", "2n1g", 8000.0, "sequences/s"),
        ("bz4-s512", "1n1g", 1000.0, "sequences/s"),
        ("bz4-s512", "2n1g", 2000.0, "sequences/s"),
    ]
    assert results["cells"][2]["own_factors"] == {"sequence_length": 512, "packed": False}
    assert results["units"]["median_speed"] == "sequences/s"
    for text in (terminal_table(results), csv_text(results)):
        assert "sequences/s" in text and "images" not in text


def test_a_log_of_another_length_is_refused():
    made = planned(topology="1n1g", repeats=1)
    argv = made["cells"][0]["commands"]["node1"]["argv"]
    argv[argv.index("--sequence-length=128")] = "--sequence-length=256"
    (failure,) = measured(made)["failures"]
    assert failure["reason"] == "the log says sequence_length 256, expected 128"


def test_cells_that_differ_in_it_are_not_compared():
    one = measured(planned(topology="1n1g"))
    changed = copy.deepcopy(one)
    changed["cells"][0]["own_factors"]["sequence_length"] = 256
    pairs, apart = cell_pairs(one["cells"], [changed])
    assert pairs == []
    assert apart[0]["reason"] == "sequence_length 256 in the baseline, 128 here"
    assert len(gather([entry(one, "a"), {**entry(changed, "b"), "campaign": "b"}])[0]) == 2
    smaller = {**changed["cells"][0], "batch_size_per_device": 2}
    assert skipped(one["cells"][0], [smaller]) is None
    assert skipped(one["cells"][0], [{**one["cells"][0], "batch_size_per_device": 2}])
    other = copy.deepcopy(one)
    other["cells"][0].update(benchmark="other")
    assert len(across_frameworks([one, other])) == 1
    other["cells"][0]["own_factors"]["sequence_length"] = 256
    assert across_frameworks([one, other]) == []


def test_a_published_figure_that_does_not_state_it_is_not_known_to_be_comparable():
    cell = {"own_factors": {"sequence_length": 128}}
    assert "sequence_length: not stated" in judge(cell, {})["why"]
    assert (
        "sequence_length: 128 measured, 512 published"
        in (judge(cell, {"own_factors": {"sequence_length": 512}})["why"])
    )


def test_no_published_figure_is_compared_with_a_cell_that_has_one():
    found = against_published(measured(planned(topology="1n1g")), rows("reference_004_paddle"))
    assert found["compared"] == found["not_compared"] == []
    assert [cell["topology"] for cell in found["other_units"]] == ["1n1g"]


def test_other_benchmarks_do_not_run_where_it_is_asked_for():
    made = planned(benchmark="toy_sequences,pytorch", sequence_length=256)
    assert {cell["benchmark"] for cell in made["cells"]} == {"toy_sequences"}
    with pytest.raises(ValueError, match="-e sequence_length=256: there is no sequence_length"):
        planned(benchmark="pytorch", sequence_length=256)


@pytest.mark.parametrize(
    ("name", "recipe"),
    [(name, recipe) for name, one in benchmarks().items() for recipe in one["recipes"]],
)
def test_a_factor_that_no_command_of_a_recipe_has_takes_one_value(name, recipe):
    definition = benchmarks()[name]
    made = definition["recipes"][recipe]
    told = {key: made[key] for key in made.keys() - {"choices", "defaults", "unavailable"}}
    text = json.dumps(told)
    for factor in definition.get("factors", {}):
        if f"{{{factor}" not in text and f'"{factor}":' not in text:
            assert len(made["choices"].get(factor, [])) == 1, factor


def test_bert_without_clipping_is_planned_for_the_program_that_has_it_only():
    asked = {"benchmark": ["bert"], "without_clip": [True]}
    with pytest.raises(ValueError, match="there is no without_clip True; the choices are false"):
        plan.build(all_benchmarks(), asked, cluster(2))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d, r: d.update(unit="1/s"), "toy.yml: unit: '1/s': must name what is counted"),
        (lambda d, r: d.update(factors={"topology": {}}), "toy.yml: factors: topology is the name"),
        (lambda d, r: d.update(factors={"world_size": {}}), "world_size is the name"),
        (lambda d, r: d.pop("factors"), "choices.packed: no such key"),
        (
            lambda d, r: r["defaults"]["cpu"].pop("sequence_length"),
            "defaults.cpu.sequence_length is missing",
        ),
        (
            lambda d, r: r["defaults"]["cpu"].update(sequence_length=["x"]),
            "defaults.cpu sequence_length=x: 'x' is not a whole number",
        ),
        (lambda d, r: r["arguments"].append("{learning_rate}"), "needs learning_rate of the"),
        (
            lambda d, r: r.update(learning_rate={"per_sample": 0.1, "of": "nodes"}),
            "recipes.portable.learning_rate: per_sample must be above 0, and of one of batch_size",
        ),
        (
            lambda d, r: r.update(learning_rate={"per_sample": 0.0, "of": "global_batch_size"}),
            "recipes.portable.learning_rate: per_sample must be above 0",
        ),
        (lambda d, r: r["choices"].pop("precision"), "choices.precision is missing"),
    ],
)
def test_a_file_that_is_wrong_is_refused(change, said):
    definition = copy.deepcopy(TOY)
    change(definition, definition["recipes"]["portable"])
    with pytest.raises(ValueError) as error:
        check_benchmark(definition, "toy.yml")
    assert said in str(error.value)


def test_benchmarks_that_declare_a_factor_with_two_types_are_refused():
    other = copy.deepcopy(TOY)
    other["factors"]["sequence_length"]["type"] = "text"
    with pytest.raises(ValueError, match=r"benchmark b: factors.sequence_length: another"):
        declared_factors({"a": TOY, "b": other})


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"type": [], "token": "x{}"}, r"heads.type: \[\] is not one of count, flag, text"),
        ({"type": "flag", "token": ""}, "heads.token: is empty"),
        ({"type": "flag", "token": "1n1g"}, "heads.token '1n1g' reads like a topology"),
        ({"type": "count", "token": "{}n8g"}, "reads like a topology"),
    ],
)
def test_a_factor_that_a_path_cannot_name_is_refused(declared, said):
    toy = copy.deepcopy(TOY)
    toy["factors"]["heads"] = declared
    with pytest.raises(ValueError, match=rf"toy.yml: factors: .*{said}"):
        check_benchmark(toy, "toy.yml")
