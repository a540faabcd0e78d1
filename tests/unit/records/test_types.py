"""The types of records and results name the keys that the code writes, no more and no fewer."""

import importlib
import pkgutil
import sys
from typing import get_type_hints, is_typeddict

import pytest
from ansible_collections.scalebench.core.plugins import module_utils
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import facts_of_text
from ansible_collections.scalebench.core.plugins.module_utils.records.endings import groups
from ansible_collections.scalebench.core.plugins.module_utils.records.factors import factor_names
from ansible_collections.scalebench.core.plugins.module_utils.records.results import (
    MeasuredCell,
    Repeat,
    Results,
)
from ansible_collections.scalebench.core.plugins.module_utils.records.runs import (
    LogFacts,
    RunRecord,
    check_run,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.running.record import not_run
from log_lines import lines
from report_data import campaign, recorded

# What is added to results only where it was asked for, or by what reads them.
ADDED = {
    *("published", "comparison", "treatments", "bisection", "preflight", "drift", "gate"),
    *("acceptance", "strong_scaling", "collectives", "step_parts", "predictions"),
}


def keys(of):
    """Return all keys of a type, with those of the types it extends."""
    return set(get_type_hints(of))


def test_what_a_type_inherits_is_known_where_it_stands():
    """Python 3.8 looks for the names of an inherited annotation there, later ones do not."""
    names = pkgutil.walk_packages(module_utils.__path__, f"{module_utils.__name__}.")
    modules = [importlib.import_module(module.name) for module in names]
    kinds = {kind for module in modules for kind in vars(module).values() if is_typeddict(kind)}
    assert Results in kinds
    for kind in kinds:
        for annotation in kind.__annotations__.values():
            eval(annotation.__forward_arg__, vars(sys.modules[kind.__module__]))


def test_results_cells_and_repeats_have_the_keys_of_their_types():
    stated = {
        "own_factors": {"sequence_length": 128},
        "units_per_sample": 128,
        "no_speedup": "why",
        "model_data": {"name": "toy"},
        "loss_scaling": "dynamic",
        "transport": "NET/IB",
    }
    plan, runs = campaign({"1n1g": [10.0], "2n1g": [20.0]}, **stated)
    results = build_results(plan, [recorded(run["cell"], 1, 10.0) for run in runs])
    assert keys(Results) - ADDED == set(results)
    for cell in results["cells"]:
        assert keys(MeasuredCell) | {*factor_names(), *groups()} == set(cell)
        for repeat in cell["repeats"]:
            assert set(repeat) <= keys(Repeat)


def test_facts_of_a_log_have_the_keys_of_their_type():
    facts = facts_of_text("".join(lines("scalebench")), name="a.log")
    assert set(facts) == keys(LogFacts) - {"observations", "waits", "message"}


def test_a_record_has_the_keys_of_its_type():
    plan, runs = campaign({"1n1g": [10.0]}, oversubscribed=False)
    of = {"cell": plan["cells"][0], "repeat": 1, "log": "a.log", "attempt": 1, "kind": "measured"}
    more = {"why": "", "packed_with": [], "shares_machine": False}
    known = {"campaign": "c", "session": "s", "recorded": "2026-01-01T00:00:20Z"}
    record = not_run(known, {**of, **more}, "skipped", "out of memory at 4")
    assert set(record) == keys(RunRecord) - {"log_is_gone", "warnings"}
    assert check_run(record, "a.log") == record
    assert set(check_run(runs[0], "a.log")) <= keys(RunRecord)


@pytest.mark.parametrize("damaged", [None, [], {}, {"cell": {}, "repeat": 1}])
def test_a_damaged_record_is_refused(damaged):
    with pytest.raises(ValueError, match=r"it has no repeat|record.cell has no"):
        check_run(damaged, "a.log")


CELL = campaign({"1n1g": [10.0]})[0]["cells"][0]
FACTS = {"throughput": 10.0}
TELEMETRY = {"seconds": 1.0, "cpu": {"own_seconds": 1.0, "cores": None}}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"nodes": ["node1"]}, "record.nodes is .*, not a mapping"),
        ({"nodes": {"node1": 1}}, "nodes.node1 is 1, not a mapping"),
        ({"nodes": {"node1": {"telemetry": 3}}}, "node1.telemetry is 3, not a mapping"),
        ({"disturbances": "busy"}, "disturbances is 'busy', not a list"),
        ({"disturbances": [None]}, r"disturbances\[0\] is None, not a mapping"),
        ({"packed_with": 7}, "packed_with is 7, not a list"),
        ({"facts": [1]}, r"facts is \[1\], not a mapping"),
        ({"facts": {"unit": "images"}}, "facts has no throughput"),
        ({"facts": {**FACTS, "strategy": "mean"}}, "facts.strategy is 'mean', not a mapping"),
        ({"facts": {**FACTS, "strategy": {"name": "mean"}}}, "strategy has no parameters"),
        ({"cell": {**CELL, "reading": {}}}, "reading has no parameters, reader, strategy"),
        ({"kind": "x"}, "its kind is 'x', not one of measured, search, alone"),
        ({"kind": "search", "cell": {**CELL, "batch_size_per_device": "max"}}, "a search without"),
        ({"cell": {**CELL, "batch_size_per_device": "x"}}, "batch_size_per_device is 'x', not"),
        ({"cell": {**CELL, "batch_size_per_device": -4}}, "batch_size_per_device is -4, not"),
        ({"nodes": None}, "record.nodes is None, not a mapping"),
        ({"nodes": {"node1": {"telemetry": {"cpu": {}}}}}, "telemetry has no seconds"),
        ({"nodes": {"node1": {"telemetry": TELEMETRY}}}, "cpu.cores is None, not a whole number"),
        ({"ending": ["ok"]}, "ending is .*, not a text"),
        ({"seconds": "9"}, "seconds is '9', not a number"),
        ({"facts": {**FACTS, "throughput": 1e31}}, "holds 1e[+]31, which is no figure"),
    ],
)
def test_a_record_with_a_value_of_another_kind_is_refused(damage, said):
    _, (run,) = campaign({"1n1g": [10.0]})
    without = {key: value for key, value in run.items() if key == "cell" or key not in damage}
    assert check_run(without, "a.log")["repeat"] == 1, "it may be absent"
    with pytest.raises(ValueError, match=said):
        check_run({**run, **damage}, "a.log")
