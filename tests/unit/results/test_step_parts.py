"""The parts of a step, from steps, waits and an all-reduce whose durations are known."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.step_text import (
    step_lines,
    step_sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.text import (
    report_markdown,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.results.step_parts import step_parts
from collective_data import LATENCY, PER_BYTE
from collective_data import results_of as messages_of
from report_data import campaign, waits_of

PARAMETERS = 1_000_000
MODEL = {"name": "r50", "parameters": {"figure": PARAMETERS, "source": "counted"}}
# s of a step: one device, exposed exchange, imbalance, and what nothing explains.
ALONE, EXCHANGE, IMBALANCE, REST = 0.1, 0.03, 0.02, 0.01
STEP = ALONE + EXCHANGE + IMBALANCE + REST
BATCH = 4


def waits(late=IMBALANCE, ranks=4):
    """Return waits of ranks of which the last but one is late in every interval."""
    return waits_of(
        STEP, ([EXCHANGE if rank == ranks - 2 else EXCHANGE + late] * 3 for rank in range(ranks))
    )


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


@pytest.mark.parametrize(
    ("precision", "each"), [("fp32", 4), ("tf32", 4), ("amp", 4), ("bf16", 4), ("fp16", 2)]
)
def test_an_all_reduce_alone_says_what_is_hidden(precision, each):
    cell = only_cell(results(alone=True, precision=precision))
    taken = LATENCY + each * PARAMETERS * PER_BYTE
    assert cell["all_reduce_seconds"] == pytest.approx(taken, rel=1e-3)
    assert 0 < cell["all_reduce_error"] < 0.03 * taken
    assert cell["hidden_seconds"] == pytest.approx(taken - EXCHANGE, rel=1e-2)


def test_each_of_several_devices_a_node_counts():
    plan, runs = campaign({"1n1g": [40.0], "2n2g": [100.0]}, model_data=MODEL)
    runs[1]["facts"]["waits"] = waits()
    cell = only_cell(build_results(plan, runs))
    assert (cell["speedup"], cell["devices"]) == (pytest.approx(2.5), 4)


def test_the_middle_rank_and_the_middle_repeat_count():
    plan, runs = campaign({"1n1g": [40.0] * 3, "4n1g": [100.0] * 3}, model_data=MODEL)
    for made, late in zip(runs[3:], (0.9, 0.02, 0.01), strict=True):
        made["facts"]["waits"] = waits(late)
    assert only_cell(build_results(plan, runs))["imbalance_seconds"] == pytest.approx(0.02)
    for made in runs[3:]:
        each = ([one] * 3 for one in (0.03, 0.04, 0.05, 0.09))
        made["facts"]["waits"] = waits_of(STEP, each)
    cell = only_cell(build_results(plan, runs))
    assert (cell["exchange_seconds"], cell["imbalance_seconds"]) == (
        pytest.approx(0.03),
        pytest.approx(0.015),
    )


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
    assert "100%): no free core for 10.0 ms (6%) longer than one device alone; 30." in words(made)
    cell["oversubscribed"] = True
    assert "100%): 4 ranks share too few cores, with no free core for 10.0 ms (6%) longer" in words(
        made
    )
    assert only_cell(results())["core_wait_seconds"] is None


def words(made):
    (said,) = step_lines(made)
    return said


@pytest.mark.parametrize(
    ("machines", "cores", "said"),
    [
        ("aaaa", 2, "4 ranks share 2 cores, what that costs was not measured; "),
        ("aabb", 4, "4 ranks have more threads than their 4 cores, what that costs was not"),
    ],
)
def test_the_cores_are_those_of_the_machines(machines, cores, said):
    names = [f"node{index}" for index in range(1, 5)]
    plan, runs = campaign({"1n1g": [BATCH / ALONE], "4n1g": [4 * BATCH / STEP]}, node_names=names)
    runs[1]["facts"]["waits"] = waits()
    for run_ in runs:
        run_["oversubscribed"] = True
    nodes = {name: {"boot_id": one, "cores": 2} for name, one in zip(names, machines, strict=True)}
    made = build_results({**plan, "nodes": nodes}, runs)
    assert only_cell(made)["cores"] == cores
    assert said in words(made)
    for number, name in enumerate(nodes):
        quota = {"cgroup": number, "allowed": 7}
        nodes[name] = {"boot_id": "a", "cores": 2, "cpu_quota": quota}
    made = build_results({**plan, "nodes": nodes}, runs)
    assert only_cell(made)["cores"] == 7
    nodes["node1"] = {"boot_id": "c"}
    assert only_cell(build_results({**plan, "nodes": nodes}, runs))["cores"] is None
    assert only_cell(build_results(plan, runs))["cores"] is None


# s of a step that one device and the middle one of four wait for their batch.
OWN_INPUT, INPUT = 0.03, 0.05


def with_input(runs, ranks=4):
    """Have the ranks state their input, of which one is late and one early."""
    times = (0.0, INPUT, INPUT, 0.3)
    runs[0]["facts"]["waits"] = [
        {**waits(ranks=2)[0], "wait_seconds": [], "input_seconds": OWN_INPUT}
    ]
    runs[1]["facts"]["waits"] = [
        {**one, "input_seconds": time} for one, time in zip(waits(), times, strict=True)
    ]


def test_input_is_a_part_of_its_own():
    plan, runs = campaign({"1n1g": [BATCH / ALONE], "4n1g": [4 * BATCH / STEP]}, model_data=MODEL)
    with_input(runs)
    cell = only_cell(build_results(plan, runs))
    assert cell["input_seconds"] == pytest.approx(INPUT)
    assert cell["compute_seconds"] == pytest.approx(ALONE - OWN_INPUT)
    assert cell["one_device_seconds"] == pytest.approx(ALONE)
    assert cell["unexplained_seconds"] == pytest.approx(REST + OWN_INPUT - INPUT)
    assert "; input takes 50.0 ms (31%); " in words(build_results(plan, runs))
    # Without that of one device it is in the computation, and not counted twice.
    del runs[0]["facts"]["waits"]
    cell = only_cell(build_results(plan, runs))
    assert (cell["input_seconds"], cell["compute_seconds"]) == (None, pytest.approx(ALONE))
    assert cell["unexplained_seconds"] == pytest.approx(REST)
    assert "; input was not measured; " in words(build_results(plan, runs))


# s of the step of one device with the batch of all four, and with its part of that.
WHOLE, PART = 0.4, 0.13


def strong(same=True, inputs=False, cores=False):
    """Return results of strong scaling, and of one device with the batch of each of four.

    ``cores``: one device is 40 ms without a core, 15 ms with the smaller batch, each of four 50 ms.
    """
    of = {"scaling": "strong", "global_batch_size": 4 * BATCH, "variant": "gb16-strong"}
    speeds = {"1n1g": [4 * BATCH / WHOLE] * 3, "4n1g": [4 * BATCH / STEP] * 3}
    plan, runs = campaign(speeds, model_data=MODEL, **of)
    plan["cells"][0]["batch_size_per_device"] = 4 * BATCH
    runs[3]["facts"]["waits"] = waits()
    if inputs:
        with_input([runs[0], runs[3]])
    if same:
        other, more = campaign({"1n1g": [BATCH / PART]}, model_data=MODEL)
        more[0]["log"] = "logs/weak.log"
        if inputs:
            more[0]["facts"]["waits"] = [
                {**waits(ranks=2)[0], "wait_seconds": [], "input_seconds": 0.04}
            ]
        plan["cells"] += other["cells"]
        runs += more
    if cores:
        for run_, seconds in zip((runs[0], runs[3], *runs[6:7]), (0.04, 0.05, 0.015)):
            known = run_["facts"].get("waits") or [{**waits(ranks=2)[0], "wait_seconds": []}]
            run_["facts"]["waits"] = [{**one, "core_wait_seconds": seconds} for one in known]
    return build_results(plan, runs)


def test_a_step_of_strong_scaling_is_the_sum_of_its_parts():
    made = strong()
    cell = only_cell(made)
    assert cell["speedup"] == pytest.approx(WHOLE / STEP)
    assert cell["compute_seconds"] == pytest.approx(WHOLE / 4)
    assert cell["one_device_seconds"] == pytest.approx(PART)
    assert cell["small_batch_seconds"] == pytest.approx(PART - WHOLE / 4)
    rest = STEP - PART - EXCHANGE - IMBALANCE
    assert cell["unexplained_seconds"] == pytest.approx(rest)
    said = words(made)
    assert "gb16-strong 4n1g: 2.50 of 4 (efficiency 62%) by the time of the steps, 160.0" in said
    assert "; batches of 4 instead of 16 cost 30.0 ms (19%); " in said
    assert said.endswith("; -12% unexplained.")


def test_what_smaller_batches_cost_is_unexplained_where_nothing_tells_it():
    made = strong(same=False)
    cell = only_cell(made)
    assert (cell["one_device_seconds"], cell["small_batch_seconds"]) == (None, None)
    assert cell["unexplained_seconds"] == pytest.approx(STEP - WHOLE / 4 - EXCHANGE - IMBALANCE)
    assert words(made).endswith("; 6% unexplained, with what batches of 4 cost in it.")


def test_input_of_strong_scaling_is_no_computation():
    cell = only_cell(strong(inputs=True))
    assert cell["compute_seconds"] == pytest.approx((WHOLE - OWN_INPUT) / 4)
    assert cell["small_batch_seconds"] == pytest.approx(PART - 0.04 - (WHOLE - OWN_INPUT) / 4)
    assert cell["input_seconds"] == pytest.approx(INPUT)
    cell = only_cell(strong(inputs=True, same=False))
    assert cell["compute_seconds"] == pytest.approx((WHOLE - OWN_INPUT) / 4)


@pytest.mark.parametrize(("same", "one_device"), [(True, 0.015), (False, 0.04 / 4)])
def test_the_time_without_a_core_of_strong_scaling_is_that_beyond_one_device(same, one_device):
    cell = only_cell(strong(same, cores=True))
    assert cell["core_wait_seconds"] == pytest.approx(0.05 - one_device)


def test_one_device_that_trains_otherwise_is_none_of_the_same_batch():
    made = strong()
    (one,) = [cell for cell in made["cells"] if cell["variant"] == "bz4"]
    for change in ({"precision": "amp"}, {"model": "x"}, {"own_factors": {"image_size": 64}}):
        others = [cell if cell is not one else {**cell, **change} for cell in made["cells"]]
        found = step_parts(others)
        (cell,) = [cell for group in found["groups"] for cell in group["cells"]]
        assert cell["one_device_seconds"] is None, change


def test_groups_without_one_device_have_none():
    for changes in ({}, {"scaling": "strong", "global_batch_size": 16}):
        plan, runs = campaign({"2n1g": [40.0], "4n1g": [80.0]}, **changes)
        for run in runs:
            run["facts"]["waits"] = waits()
        assert "step_parts" not in build_results(plan, runs)


def test_the_report_says_it_in_words():
    made = results(alone=True)
    (section,) = step_sections(made)
    assert [len(one["rows"]) for one in section["tables"]] == [1]
    text = report_markdown(page(made))
    start = "4n1g: 2.50 of 4 (efficiency 62%) by the time of the steps, 160.0 ms (100%): "
    assert start in text
    assert (
        " the exchange of 4.0 MB at 0.482 GB/s takes 8.3 ms +- 0.1 ms alone and 30.0 ms (19%)"
        in text
    )
    assert " in the step, nothing of it hidden; the middle rank waits 20.0 ms (13%) for" in text
    assert "; 6% unexplained." in text
    assert "exposed (how much is hidden, benchmark all_reduce on 4n1g" in words(results())
    assert "did not measure the waits" in report_markdown(page(results(alone=True, measured=False)))
    assert step_sections(results(measured=False)) == []
    cell = only_cell(made)
    cell.update(all_reduce_seconds=0.04, all_reduce_error=None, hidden_seconds=0.01)
    assert "the exchange of 4.0 MB at 0.1 GB/s takes 40.0 ms, of which 10.0 ms are hid" in words(
        made
    )
    assert "hidden and 30.0 ms (19%) exposed; " in words(made)
    shared = results(own_factors={"sharding": "fsdp"})
    assert "30.0 ms (19%) of the exchange of gradients are exposed; " in words(shared)
