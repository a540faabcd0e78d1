"""The parts of a step, from steps, waits and an all-reduce whose durations are known."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.report.markdown import (
    report_markdown,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.step_text import step_sections
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.results.step_parts import step_parts
from collective_data import LATENCY, PER_BYTE
from collective_data import results_of as messages_of
from report_data import campaign

PARAMETERS = 1_000_000
MODEL = {"name": "r50", "parameters": {"figure": PARAMETERS, "source": "counted"}}
# s of a step: one device, exposed exchange, imbalance, and what nothing explains.
ALONE, EXCHANGE, IMBALANCE, REST = 0.1, 0.03, 0.02, 0.01
STEP = ALONE + EXCHANGE + IMBALANCE + REST
BATCH = 4


def waits(late=IMBALANCE, ranks=4):
    """Return waits of ranks of which the last but one is late in every interval."""
    return [
        {
            "rank": rank,
            "node": f"node{rank + 1}",
            "every": 2,
            "step_seconds": STEP,
            "wait_seconds": [EXCHANGE if rank == ranks - 2 else EXCHANGE + late] * 3,
        }
        for rank in range(ranks)
    ]


def results(alone=False, measured=True, **changes):
    """Return results of one device and of four, with all-reduces of two and four if asked for."""
    changes = {"model_data": MODEL, **changes}
    speeds = {"1n1g": [BATCH / ALONE] * 3, "4n1g": [4 * BATCH / STEP] * 3}
    plan, runs = campaign(speeds, **changes)
    for run in runs:
        if run["cell"]["topology"] == "4n1g" and measured:
            run["facts"]["waits"] = waits()
    made = build_results(plan, runs)
    if alone:
        parts = step_parts([*made["cells"], *messages_of()["cells"]])
        if parts:
            made["step_parts"] = parts
    return made


def only_cell(made):
    ((cell,),) = [group["cells"] for group in made["step_parts"]["groups"]]
    return cell


def test_the_parts_are_drawn_where_they_were_measured():
    assert "](step_parts.svg)" in report_markdown(page(results()))
    assert "step_parts" not in page(results(measured=False))["plots"]


def test_a_step_is_the_sum_of_its_parts():
    cell = only_cell(results())
    assert (cell["topology"], cell["devices"]) == ("4n1g", 4)
    found = [cell[f"{part}_seconds"] for part in ("one_device", "exchange", "imbalance")]
    assert found == pytest.approx([ALONE, EXCHANGE, IMBALANCE])
    assert cell["unexplained_seconds"] == pytest.approx(REST)
    assert cell["step_seconds"] == pytest.approx(STEP)
    assert (cell["all_reduce_seconds"], cell["hidden_seconds"]) == (None, None)


@pytest.mark.parametrize(("precision", "each"), [("fp32", 4), ("amp", 4), ("bf16", 2)])
def test_an_all_reduce_alone_says_what_is_hidden(precision, each):
    cell = only_cell(results(alone=True, precision=precision))
    taken = LATENCY + each * PARAMETERS * PER_BYTE
    assert cell["all_reduce_seconds"] == pytest.approx(taken, rel=1e-3)
    assert 0 < cell["all_reduce_error"] < 0.03 * taken
    assert cell["hidden_seconds"] == pytest.approx(taken - EXCHANGE, rel=1e-2)


def test_gradients_that_are_shared_out_are_not_reduced():
    made = results(alone=True, own_factors={"sharding": "fsdp"})
    assert made["step_parts"]["groups"][0]["gradient_bytes"] is None
    assert only_cell(made)["all_reduce_seconds"] is None
    stated = {**MODEL, "gradient_bytes": {"figure": 5e6, "source": "counted"}}
    made = results(alone=True, model_data=stated, own_factors={"sharding": "ddp"})
    assert made["step_parts"]["groups"][0]["gradient_bytes"] == 5_000_000


def test_without_waits_no_part_is_known():
    assert "step_parts" not in results(measured=False)
    cell = only_cell(results(alone=True, measured=False))
    assert cell["all_reduce_seconds"] is not None
    assert {cell["exchange_seconds"], cell["unexplained_seconds"], cell["hidden_seconds"]} == {None}


@pytest.mark.parametrize(
    "known", [waits(ranks=2)[:1], [{**one, "wait_seconds": []} for one in waits()]]
)
def test_waits_of_one_rank_or_of_no_step_say_nothing(known):
    plan, runs = campaign({"1n1g": [BATCH / ALONE], "4n1g": [4 * BATCH / STEP]}, model_data=MODEL)
    runs[1]["facts"]["waits"] = known
    assert "step_parts" not in build_results(plan, runs)


def test_the_time_without_a_core_is_a_part():
    plan, runs = campaign({"1n1g": [BATCH / ALONE], "4n1g": [4 * BATCH / STEP]}, model_data=MODEL)
    times = (0.001, REST, 0.02, REST)
    runs[1]["facts"]["waits"] = [
        {**one, "core_wait_seconds": time + 0.1} for one, time in zip(waits(), times, strict=True)
    ]
    assert only_cell(build_results(plan, runs))["core_wait_seconds"] is None
    (alone,) = waits(ranks=2)[:1]
    runs[0]["facts"]["waits"] = [{**alone, "wait_seconds": [], "core_wait_seconds": 0.1}]
    made = build_results(plan, runs)
    cell = only_cell(made)
    assert cell["core_wait_seconds"] == pytest.approx(REST)
    assert cell["unexplained_seconds"] == pytest.approx(0, abs=1e-9)
    made["step_parts"]["groups"][0]["cells"][0]["oversubscribed"] = True
    said = report_markdown(page(made))
    assert "ranks 20.0 ms, no free core (the ranks share cores) 10.0 ms, and 0.0 ms are" in said
    assert only_cell(results())["core_wait_seconds"] is None


def test_strong_scaling_and_groups_without_one_device_have_none():
    assert "step_parts" not in results(scaling="strong", global_batch_size=16)
    plan, runs = campaign({"2n1g": [40.0], "4n1g": [80.0]})
    for run in runs:
        run["facts"]["waits"] = waits()
    assert "step_parts" not in build_results(plan, runs)


def test_the_report_says_it_in_words():
    made = results(alone=True)
    (section,) = step_sections(made)
    assert [len(one["rows"]) for one in section["tables"]] == [1]
    text = report_markdown(page(made))
    assert "speed-up is 2.50 of 4; a step takes 160.0 ms, 60.0 ms more than on one device." in text
    assert "exchange is 30.0 ms, the imbalance of the ranks 20.0 ms, and 10.0 ms are unexp" in text
    assert "; an all-reduce of 4.0 MB takes 8.3 ms" in text
    assert "benchmark all_reduce on 4n1g" in report_markdown(page(results()))
    assert "did not measure the waits" in report_markdown(page(results(alone=True, measured=False)))
    made["step_parts"]["groups"][0]["cells"][0]["oversubscribed"] = True
    assert "(the ranks share cores)" in report_markdown(page(made))
    assert step_sections(results(measured=False)) == []
