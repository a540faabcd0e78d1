"""The types of a plan, and a plan that is read from a file."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.records import plans
from ansible_collections.scalebench.core.plugins.module_utils.records.factors import factor_names
from campaign_data import benchmarks, cluster


def planned():
    return plan.build(benchmarks(), parse_options({"topology": "1n1g"}), cluster(2))


def test_a_cell_has_every_factor():
    assert {*factor_names()} < {*plans.Cell.__annotations__}


def test_a_plan_has_the_keys_of_its_types():
    made = planned()
    (cell,) = made["cells"]
    assert {*cell} <= {*plans.Cell.__annotations__}
    assert {*cell["commands"]["node1"]} == {*plans.Command.__annotations__}
    assert {*cell["reading"]} == {*plans.Reading.__annotations__}
    assert {*plan.repeats(made["cells"])[0]} <= {*plans.PlannedRepeat.__annotations__}
    assert {*made} <= {*plans.Plan.__annotations__}
    assert {*cluster(1)["node1"]} <= {*plans.Node.__annotations__}


def test_a_plan_is_read_as_it_was_written():
    assert plans.check_plan(planned()) == planned()
    large = planned()
    large["cells"] = [{**large["cells"][0], "repeats": 10_000}] * 5
    assert plans.check_plan(large) == large


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda made: made.pop("cells"), "plan has no cells"),
        (lambda made: made.update(nodes=[]), r"plan.nodes is \[\], not a mapping"),
        (lambda made: made.pop("nodes"), "plan has no nodes"),
        (lambda made: made.update(nodes=[1]), r"nodes is \[1\], not a mapping"),
        (lambda made: made.update(nodes={"node1": None}), "nodes.node1 is None, not a mapping"),
        (lambda made: made.update(options=None), "options is None, not a mapping"),
        (lambda made: made["cells"][0].pop("commands"), r"cells\[0\] has no commands"),
        (lambda made: made["cells"][0].update(commands=[]), r"commands is \[\], not a mapping"),
        (
            lambda made: made["cells"][0].update(node_names="node1"),
            "node_names is 'node1', not a list",
        ),
        (lambda made: made["cells"][0].update(repeats="3"), "repeats is '3', not a whole"),
        (
            lambda made: made["cells"][0].update(repeats=10**6),
            "repeats is 1000000, not a number up",
        ),
        (
            lambda made: made.update(cells=[{**made["cells"][0], "repeats": 10_000}] * 6),
            "6 cells have 60000 repeats together, more than 50000",
        ),
        (lambda made: made["cells"][0].pop("oversubscribed"), "has no oversubscribed"),
        (
            lambda made: made["cells"][0]["commands"]["node1"].pop("env"),
            "commands.node1 has no env",
        ),
        (lambda made: made["cells"][0].update(model_data=[]), "model_data is"),
        (
            lambda made: made["cells"][0].update(model_data={"parameters": {"source": "a paper"}}),
            "model_data.parameters is .* no figure",
        ),
        (
            lambda made: made["cells"][0].update(model_data={"parameters": {"figure": 7}}),
            "model_data.parameters is .* with a source",
        ),
        *(
            (
                lambda made, figure=figure: made["cells"][0].update(
                    model_data={"parameters": {"figure": figure, "source": "a paper"}}
                ),
                "model_data.parameters is .* no figure",
            )
            for figure in (0, -1)
        ),
        (
            lambda made: made["cells"][0].update(
                model_data={"parameters": {"figure": 1e31, "source": "a paper"}}
            ),
            "holds 1e[+]31, which is no figure",
        ),
        *(
            (
                lambda made, units=units: made["cells"][0].update(units_per_sample=units),
                f"pytorch fp32 bz2 1n1g: units_per_sample is {units}, not above 0",
            )
            for units in (0, -1)
        ),
        (lambda made: made["cells"].append("r50"), r"cells\[1\] is 'r50', not a mapping"),
        (lambda made: made["cells"][0].update(nodes=2), "topology 1n1g does not fit nodes"),
        (lambda made: made["cells"][0].pop("name"), r"cells\[0\] has no name"),
        (lambda made: made["cells"][0].pop("variant"), r"cells\[0\] has no variant"),
    ],
)
def test_a_damaged_plan_is_refused(change, said):
    made = planned()
    change(made)
    with pytest.raises(ValueError, match=said):
        plans.check_plan(made)
    with pytest.raises(ValueError, match=r"plan is \[.*, not a mapping"):
        plans.check_plan([made])


def test_a_report_does_not_need_what_continuing_a_campaign_needs():
    made = planned()
    for key in ("commands", "name", "oversubscribed"):
        made["cells"][0].pop(key)
    assert plans.check_plan(made, to_continue=False) == made
    with pytest.raises(ValueError, match="options"):
        plans.check_plan({**made, "options": None}, to_continue=False)


def test_a_cell_whose_batch_size_is_searched_has_a_start():
    options = parse_options({"topology": "1n1g", "batch_size_per_device": "max"})
    made = plan.build(benchmarks(), options, cluster(1))
    assert plans.check_plan(made) == made
    for change in (
        {"search_from": -1},
        {"search_from": 0},
        {"search_from": 10**9},
        {"iterations": None},
        {"node_names": []},
    ):
        damaged = {**made, "cells": [{**made["cells"][0], **change}]}
        with pytest.raises(ValueError, match="a cell whose batch size is searched has no"):
            plans.check_plan(damaged, to_continue=False)
