"""Predicted steps, from steps and all-reduces that follow a law with noise."""

import itertools
import math
import random
import statistics

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.step_text import (
    step_lines,
    step_sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.text import (
    report_markdown,
    terminal_table,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.collectives import (
    all_reduce_times,
    variant,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.prediction import (
    predictions,
    wanted_topologies,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.results.ring_law import ring_law
from ansible_collections.scalebench.core.plugins.module_utils.stats.distributions import t_quantile
from report_data import campaign, cell, run, waits_of

PARAMETERS = 1_000_000
GRADIENTS = 4 * PARAMETERS
MODEL = {"name": "r50", "parameters": {"figure": PARAMETERS, "source": "counted"}}
SIZES = (1 << 18, 1 << 20, 1 << 22, 1 << 24)
# s of two steps of a ring, and of two bytes on a link.
LATENCY, PER_BYTE = 1e-3, 1.6e-8
ALONE, BATCH = 0.2, 4


def all_reduce(devices, size=GRADIENTS):
    return (devices - 1) * LATENCY + (devices - 1) / devices * size * PER_BYTE


def measured(topologies=("2n1g", "4n1g"), network=None, noise=0.0, seed=0, **changes):
    """Return results of a training on one device and more, and of all-reduces on several."""
    draw = random.Random(seed)

    def noisy(seconds):
        return seconds * (1 + noise * draw.gauss(0, 1))

    speeds = {"1n1g": [BATCH / noisy(ALONE) for _ in range(5)]}
    for topology in topologies:
        devices = int(topology[0]) * int(topology[2])
        step = ALONE + all_reduce(devices)
        speeds[topology] = [devices * BATCH / noisy(step) for _ in range(5)]
    plan, runs = campaign(speeds, model_data=MODEL, **changes)
    for topology in topologies if network is None else network:
        devices = int(topology[0]) * int(topology[2])
        for size in SIZES:
            own = {"own_factors": {"collective": "all_reduce", "message_bytes": size}}
            of = cell(topology, benchmark="all_reduce", variant=f"bytes{size}", unit="MB/s", **own)
            plan["cells"].append(of)
            for repeat in range(1, 4):
                done = run(of, repeat, 1.0)
                done["log"] = f"logs/{size}/{topology}/{repeat}.log"
                done["facts"]["message"] = {
                    "collective": "all_reduce",
                    "bytes": size,
                    "seconds": noisy(all_reduce(devices, size)),
                    "busbw_factor": 2 * (devices - 1) / devices,
                }
                runs.append(done)
    return build_results(plan, runs)


def rows_of(results, asked=""):
    found = predictions(results["cells"], wanted_topologies(asked))
    (group,) = found["groups"]
    return {(row["kind"], row["topology"]): row for row in group["rows"]}


def test_what_follows_the_law_is_predicted_exactly():
    rows = rows_of(measured())
    assert set(rows) == {("parts", "2n1g"), ("parts", "4n1g"), ("left_out", "4n1g")}
    # The largest has no smaller one with as many devices a node.
    assert ("left_out", "4n1g") in rows_of(measured(("2n1g", "4n1g", "2n4g")))
    for (kind, topology), row in rows.items():
        devices = int(topology[0])
        assert row["step_seconds"] == pytest.approx(ALONE + all_reduce(devices)), kind
        assert row["speedup"] == pytest.approx(devices * ALONE / row["step_seconds"])
        assert row["error"] == pytest.approx(0, abs=1e-9)
    left_out, own = rows["left_out", "4n1g"], rows["parts", "4n1g"]
    assert (left_out["steps"], left_out["network"]) == (["2n1g"], ["2n1g"])
    assert (own["steps"], own["network"]) == (["1n1g"], ["4n1g"])
    assert own["samples"] == 4 * BATCH


def test_each_of_several_devices_a_node_is_a_device():
    rows = rows_of(measured(("2n4g", "4n4g")), "8n4g")
    for (kind, topology), row in rows.items():
        devices = int(topology[0]) * 4
        step = ALONE + all_reduce(devices)
        assert row["step_seconds"] == pytest.approx(step), kind
        assert row["samples"] == devices * BATCH
        assert row["speedup"] == pytest.approx(devices * ALONE / step)
    assert rows["asked", "8n4g"]["steps"] == ["4n4g"]


def test_topologies_with_other_devices_a_node_count_for_nothing():
    rows = rows_of(measured(("2n1g", "2n4g", "4n1g", "4n4g")), "8n1g")
    assert (rows["asked", "8n1g"]["steps"], rows["asked", "8n1g"]["network"]) == (
        ["4n1g"],
        ["2n1g", "4n1g"],
    )
    assert rows["left_out", "4n4g"]["network"] == ["2n4g"]


def test_predictions_of_and_from_oversubscribed_cells_are_marked():
    results = measured(("2n1g", "4n1g", "8n1g"))
    for one in results["cells"]:
        one["oversubscribed"] = one["topology"] == "4n1g"
    rows = rows_of(results, "16n1g,2n1g")
    marked = {key for key, row in rows.items() if row["oversubscribed"]}
    assert marked == {("parts", "4n1g"), ("left_out", "8n1g")}
    for one in results["cells"]:
        one["oversubscribed"] = one["topology"] == "1n1g"
    marked = {key for key, row in rows_of(results).items() if row["oversubscribed"]}
    assert marked == {("parts", name) for name in ("2n1g", "4n1g", "8n1g")}


def test_samples_are_in_what_the_throughput_counts():
    row = rows_of(measured(units_per_sample=128))["left_out", "4n1g"]
    assert row["samples"] == 4 * BATCH * 128


def test_a_log_states_the_parameters_where_the_benchmark_does_not():
    plan, runs = campaign({"1n1g": [BATCH / ALONE], "2n1g": [2 * BATCH / ALONE]})
    for run_ in runs:
        run_["facts"].setdefault("identity", {})["architecture"] = {"parameters": PARAMETERS}
    cells = build_results(plan, runs)["cells"] + measured(network=["2n1g"])["cells"][3:]
    rows = rows_of({"cells": cells})
    assert rows["parts", "2n1g"]["step_seconds"] == pytest.approx(ALONE + all_reduce(2))


def test_sizes_far_from_the_gradients_do_not_count():
    results = measured()
    for one in results["cells"]:
        for repeat in one["repeats"]:
            if repeat.get("message", {}).get("bytes") == SIZES[0]:
                repeat["message"].update(bytes=1024)
    rows = rows_of(results)
    assert rows["parts", "4n1g"]["step_seconds"] == pytest.approx(ALONE + all_reduce(4))


def test_a_latency_below_0_is_none():
    results = measured(noise=0.0)
    for one in results["cells"]:
        for repeat in one["repeats"]:
            if "message" in repeat:
                # More for large messages, as if a latency were below 0.
                size = repeat["message"]["bytes"]
                repeat["message"]["seconds"] = (size - 1000) * PER_BYTE * 3 / 4
    rows = rows_of(results, "8n1g")
    assert rows["parts", "4n1g"]["step_seconds"] == pytest.approx(
        ALONE + GRADIENTS * PER_BYTE * 3 / 4, rel=0.01
    )


def test_a_law_without_latency_knows_its_error():
    """By hand: t / v of each of two repeats of three sizes, 1 % around 5 and 7 s a byte."""
    own = {size: [5e-9 * size * 0.5 * 0.99, 5e-9 * size * 0.5 * 1.01] for size in (1e6, 2e6)}
    own[4e6] = [7e-9 * 4e6 * 0.5 * 0.99, 7e-9 * 4e6 * 0.5 * 1.01]
    law = ring_law({"2n1g": own}, ["2n1g"], 2e6)
    v = [0.5 * size / statistics.fmean(own[size]) for size in own for _ in range(2)]
    t = [value / statistics.fmean(own[size]) for size in own for value in own[size]]
    second = sum(a * b for a, b in zip(v, t, strict=True)) / sum(a * a for a in v)
    left = sum((b - second * a) ** 2 for a, b in zip(v, t, strict=True))
    assert (law.line.first, law.line.freedom) == (0.0, 5)
    assert law.seconds("4n1g") == pytest.approx(second * 0.75 * 2e6)
    error = math.sqrt(left / 5 / sum(a * a for a in v)) * 0.75 * 2e6
    assert math.sqrt(law.variance({"4n1g": 1.0})) == pytest.approx(error)


def test_sizes_that_take_no_longer_than_smaller_ones_say_nothing_of_the_gradients():
    results = measured(noise=0.0)
    for one in results["cells"]:
        for repeat in one["repeats"]:
            if "message" in repeat:
                repeat["message"]["seconds"] = 1e-3 / repeat["message"]["bytes"] ** 0.1
    assert ring_law({"2n1g": {1e3: [1.1e-3], 1e4: [1e-3], 1e5: [9e-4]}}, ["2n1g"], 1e6) is None
    results["predictions"] = predictions(results["cells"])
    assert "larger all-reduces took no longer on 2n1g" in report_markdown(page(results))


def waits(ranks, late, core, given):
    """Return waits of ranks of which the first is late, all without a core and without input."""
    seconds = ([0.01 + (late if rank else 0.0)] * 3 for rank in range(ranks))
    return waits_of(1.0, seconds, core_wait_seconds=core, input_seconds=given)


def with_waits(results, late, core, given, topology="4n1g"):
    """Add waits to the repeats of one device, 1 ms each, and of a topology."""
    for one in results["cells"]:
        for repeat in one["repeats"]:
            if one["topology"] == "1n1g":
                repeat["waits"] = waits(1, 0.0, 0.001, 0.001)
            elif one["topology"] == topology and "message" not in repeat:
                repeat["waits"] = waits(4, next(late), core, given)
    return results


def test_what_the_ranks_waited_for_is_added_to_the_parts_of_their_topology():
    rows = rows_of(with_waits(measured(), itertools.repeat(0.01), 0.02, 0.006))
    truth = ALONE + all_reduce(4) + 0.01 + 0.019 + 0.005
    assert rows["parts", "4n1g"]["step_seconds"] == pytest.approx(truth)
    assert rows["parts", "2n1g"]["step_seconds"] == pytest.approx(ALONE + all_reduce(2))
    assert rows["left_out", "4n1g"]["step_seconds"] == pytest.approx(ALONE + all_reduce(4))


@pytest.mark.parametrize("key", ["core_wait_seconds", "input_seconds"])
def test_a_wait_that_one_device_does_not_know_is_not_added(key):
    results = with_waits(measured(), itertools.repeat(0.0), 0.021, 0.021)
    for repeat in results["cells"][0]["repeats"]:
        del repeat["waits"][0][key]
    assert rows_of(results)["parts", "4n1g"]["step_seconds"] == pytest.approx(
        ALONE + all_reduce(4) + 0.02
    )


def test_waits_that_one_repeat_lacks_are_subtracted_all_the_same():
    results = with_waits(measured(), itertools.repeat(0.01), 0.02, 0.006)
    del results["cells"][0]["repeats"][4]["waits"]
    truth = ALONE + all_reduce(4) + 0.01 + 0.019 + 0.005
    assert rows_of(results)["parts", "4n1g"]["step_seconds"] == pytest.approx(truth)


def test_a_wait_that_only_one_repeat_knows_is_not_added():
    results = with_waits(measured(), itertools.repeat(0.0), 0.021, 0.021)
    cell_ = next(one for one in results["cells"] if one["topology"] == "4n1g")
    for repeat in cell_["repeats"][:4]:
        for rank in repeat["waits"]:
            del rank["core_wait_seconds"]
    step = rows_of(results)["parts", "4n1g"]["step_seconds"]
    assert step == pytest.approx(ALONE + all_reduce(4) + 0.02)


def test_one_slow_repeat_does_not_decide():
    results = measured()
    results["cells"][0]["repeats"][0]["throughput"] /= 10
    step = rows_of(results)["parts", "4n1g"]["step_seconds"]
    assert step == pytest.approx(ALONE + all_reduce(4))


def test_waits_that_a_step_on_one_device_has_in_it_vary_nothing():
    draw = random.Random(1)
    waited = [draw.uniform(0.0, 0.05) for _ in range(5)]
    results = with_waits(measured(), itertools.repeat(0.0), 0.001, 0.001)
    for repeat, wait in zip(results["cells"][0]["repeats"], waited, strict=True):
        repeat["throughput"] = BATCH / (ALONE + wait)
        repeat["waits"] = waits(1, 0.0, wait, 0.0)
    row = rows_of(results)["parts", "4n1g"]
    assert row["step_seconds"] == pytest.approx(ALONE + all_reduce(4) + 0.002)
    assert row["step_high"] - row["step_low"] < 1e-6


def test_an_interval_knows_how_the_waits_vary():
    """Waits that vary by more than the steps do: without them one in four would have the truth."""
    inside = 0
    for seed in range(200):
        draw = random.Random(seed)
        late = iter([draw.gauss(0.02, 0.004) for _ in range(5)])
        results = measured(noise=0.002, seed=seed)
        row = rows_of(with_waits(results, late, 0.001, 0.001))
        truth = ALONE + all_reduce(4) + 0.02
        inside += row["parts", "4n1g"]["step_low"] < truth < row["parts", "4n1g"]["step_high"]
    # 95 %, with a standard error of 1.5 %.
    assert 180 <= inside <= 200


def test_a_topology_that_was_not_measured_is_predicted_from_all_smaller_ones():
    results = measured(noise=0.001)
    row = rows_of(results, "64n1g")["asked", "64n1g"]
    truth = ALONE + all_reduce(64)
    assert row["step_seconds"] == pytest.approx(truth, rel=0.02)
    assert row["step_low"] < truth < row["step_high"]
    assert (row["steps"], row["network"]) == (["4n1g"], ["2n1g", "4n1g"])
    assert (row["measured_speedup"], row["error"]) == (None, None)


def test_an_interval_has_the_truth_as_often_as_it_says():
    inside = 0
    for seed in range(200):
        row = rows_of(measured(noise=0.02, seed=seed), "16n1g")["asked", "16n1g"]
        inside += row["step_low"] < ALONE + all_reduce(16) < row["step_high"]
    # 95 %, with a standard error of 1.5 %.
    assert 180 <= inside <= 200


def test_a_topology_that_is_twice_as_fast_as_predicted_is_an_error_of_half():
    results = measured()
    slow = next(one for one in results["cells"] if one["topology"] == "4n1g")
    for repeat in slow["repeats"]:
        repeat["throughput"] *= 2
    assert rows_of(results)["left_out", "4n1g"]["error"] == pytest.approx(-0.5)
    results["predictions"] = predictions(results["cells"])
    (part,) = step_sections(results | {"step_parts": None})
    assert part["tables"][0]["rows"][-1][-1]["text"] == "-50.00"


@pytest.mark.parametrize(
    ("results", "asked", "reason"),
    [
        (
            measured(network=()),
            "8n1g",
            "3 sizes of benchmark all_reduce on two or more nodes with 1",
        ),
        (
            measured(),
            "8n8g",
            "3 sizes of benchmark all_reduce on two or more nodes with 8 device(s)",
        ),
        (measured(["4n1g"]), "2n1g", "nothing smaller than 2n1g has several nodes: measure it"),
        (measured(), "1n8g", "nothing smaller than 1n8g has several nodes: measure it"),
        (measured(), "3n2g", "each, below 3n2g, are needed: -e benchmark=TRAINING,all_reduce"),
        (measured(), "1n1g", "one device has nothing to exchange"),
    ],
)
def test_what_cannot_be_predicted_says_why(results, asked, reason):
    row = rows_of(results, asked)["asked", asked]
    assert row["step_seconds"] is None
    assert reason in row["reason"]


def test_what_was_measured_is_not_to_be_measured():
    row = rows_of(measured(), "2n1g")["asked", "2n1g"]
    assert row["reason"] == "nothing smaller than 2n1g has several nodes"


def without_sizes(results, topology):
    """Return results with two sizes of all-reduces on a topology."""
    few = {1 << 18, 1 << 20}
    for one in results["cells"]:
        if one["topology"] == topology:
            one["repeats"] = [
                repeat
                for repeat in one["repeats"]
                if repeat.get("message", {"bytes": 1 << 18})["bytes"] in few
            ]
    return results


def test_what_its_own_all_reduces_do_not_tell_says_why():
    row = rows_of(without_sizes(measured(), "2n1g"))["parts", "2n1g"]
    assert row["reason"].startswith("3 sizes of benchmark all_reduce on 2n1g are needed: -e ")
    results = measured()
    for one in results["cells"]:
        for repeat in one["repeats"]:
            if "message" in repeat:
                repeat["message"]["seconds"] = 1e-3 / repeat["message"]["bytes"] ** 0.1
    rows = rows_of(results, "8n1g")
    assert rows["parts", "2n1g"]["reason"] == (
        "larger all-reduces took no longer on 2n1g, so they say nothing of 4.0 MB:"
        " measure larger ones with -e message_bytes="
    )
    assert "no longer on 2n1g, 4n1g, so" in rows["asked", "8n1g"]["reason"]


def test_other_training_has_no_prediction():
    assert "predictions" not in measured(network=())
    assert "predictions" not in measured(own_factors={"sharding": "fsdp"})


# s of a step of strong scaling that every device needs, and that they share out.
SERIAL, SHARED, GLOBAL = 0.05, 0.4, 16


def strong(topologies=("1n1g", "2n1g", "4n1g"), noise=0.0, seed=0, network_noise=None):
    """Return results of strong scaling, of all-reduces, and of one device with 4n1g's batch."""
    draw = random.Random(seed)

    def noisy(seconds):
        return seconds * (1 + noise * draw.gauss(0, 1))

    results = measured(noise=noise if network_noise is None else network_noise, seed=seed)
    cells = [one for one in results["cells"] if one["benchmark"] == "all_reduce"]
    steps = {name: SERIAL + SHARED / int(name[0]) for name in topologies}
    speeds = {
        name: [GLOBAL / noisy(step + all_reduce(int(name[0]))) for _ in range(5)]
        for name, step in steps.items()
    }
    of = {"scaling": "strong", "global_batch_size": GLOBAL, "variant": "gb16-strong"}
    plan, runs = campaign(speeds, model_data=MODEL, **of)
    for one in plan["cells"]:
        one["batch_size_per_device"] = GLOBAL // one["nodes"]
    cells += build_results(plan, runs)["cells"]
    speeds = {"1n1g": [BATCH / noisy(SERIAL + SHARED * BATCH / GLOBAL) for _ in range(5)]}
    cells += build_results(*campaign(speeds, model_data=MODEL))["cells"]
    return {"cells": cells}


def strong_rows(results, asked=""):
    found = predictions(results["cells"], wanted_topologies(asked))
    (group,) = [one for one in found["groups"] if one["scaling"] == "strong"]
    return {(row["kind"], row["topology"]): row for row in group["rows"]}


def test_steps_of_strong_scaling_are_predicted():
    rows = strong_rows(strong(), "8n1g")
    for (kind, topology), row in rows.items():
        if (kind, topology) == ("parts", "2n1g"):
            continue
        n = int(topology[0])
        step = SERIAL + SHARED / n + all_reduce(n)
        assert row["step_seconds"] == pytest.approx(step), kind
        assert row["speedup"] == pytest.approx((SERIAL + SHARED) / step)
        assert row["samples"] == GLOBAL
    left_out, asked = rows["left_out", "4n1g"], rows["asked", "8n1g"]
    assert (left_out["steps"], left_out["network"]) == (["1n1g", "2n1g"], ["2n1g"])
    assert left_out["error"] == pytest.approx(0, abs=1e-9)
    assert (asked["steps"], asked["network"]) == (["2n1g", "4n1g"], ["2n1g", "4n1g"])
    assert (rows["parts", "4n1g"]["steps"], rows["parts", "4n1g"]["error"]) == (
        ["1n1g"],
        pytest.approx(0, abs=1e-9),
    )
    # Batches of 8 were not measured on one device.
    none = rows["parts", "2n1g"]
    assert none["step_seconds"] is None
    assert "-e scaling=weak,strong -e batch_size_per_device=8" in none["reason"]


def test_an_interval_of_strong_scaling_has_the_truth_as_often_as_it_says():
    inside = 0
    truth = SERIAL + SHARED / 8 + all_reduce(8)
    for seed in range(200):
        row = strong_rows(strong(noise=0.02, seed=seed), "8n1g")["asked", "8n1g"]
        inside += row["step_low"] < truth < row["step_high"]
    # 95 %, with a standard error of 1.5 %.
    assert 180 <= inside <= 200


def test_a_step_that_counts_half_counts_a_quarter_of_its_variance():
    results = strong()
    scattered = next(
        one
        for one in results["cells"]
        if one["variant"] == "gb16-strong" and one["topology"] == "2n1g"
    )
    times = [0.28, 0.29, 0.3, 0.31, 0.32]
    for repeat, seconds in zip(scattered["repeats"], times, strict=True):
        repeat["throughput"] = GLOBAL / seconds
    # s + p / 8 of the steps on two and on four is 3/2 of the latter without 1/2 of the former.
    row = strong_rows(results, "8n1g")["asked", "8n1g"]
    # A median's is at most sqrt(pi / 2) of a mean's.
    error = 0.5 * statistics.stdev(times) / math.sqrt(len(times)) * math.sqrt(math.pi / 2)
    reach = t_quantile(0.975, len(times) - 1) * error
    assert (row["step_high"] - row["step_low"]) / 2 == pytest.approx(reach, rel=1e-3)


def test_the_median_of_two_steps_is_their_mean():
    results = measured()
    for one in results["cells"]:
        del one["repeats"][2:]
    times = (ALONE * 0.99, ALONE * 1.01)
    for repeat, seconds in zip(results["cells"][0]["repeats"], times, strict=True):
        repeat["throughput"] = BATCH / seconds
    row = rows_of(results)["parts", "4n1g"]
    reach = t_quantile(0.975, 1) * statistics.stdev(times) / math.sqrt(2)
    assert row["step_high"] - row["step_seconds"] == pytest.approx(reach, rel=1e-3)


def test_errors_of_all_reduces_that_cancel_do_not_count():
    results = strong(network_noise=0.02)
    row = strong_rows(results, "8n1g")["asked", "8n1g"]
    line = ring_law(
        all_reduce_times(results["cells"])[variant(results["cells"][0])],
        ["2n1g", "4n1g"],
        GRADIENTS,
    ).line
    # (n - 1) a: 7 - 3/2 of 3 + 1/2 of 1; (n - 1)/n S b: 7/8 - 3/2 of 3/4 + 1/2 of 1/2, so none.
    reach = t_quantile(0.975, line.freedom) * 3 * math.sqrt(line.of_first)
    assert (row["step_high"] - row["step_low"]) / 2 == pytest.approx(reach, rel=1e-3)


def test_a_speed_up_of_strong_scaling_is_that_over_the_smallest_topology():
    rows = strong_rows(strong(topologies=("2n1g", "4n1g")), "8n1g")
    one, step = (SERIAL + SHARED / n + all_reduce(n) for n in (2, 8))
    assert rows["asked", "8n1g"]["speedup"] == pytest.approx(one / step)
    left_out = rows["left_out", "4n1g"]
    assert left_out["reason"] == "steps on two topologies smaller than 4n1g are needed"


def test_a_batch_that_does_not_divide_is_not_predicted():
    row = strong_rows(strong(), "3n1g")["asked", "3n1g"]
    assert row["reason"] == "the global batch of 16 does not divide over 3 devices"


def test_a_law_that_gives_no_time_is_none():
    results = strong()
    (slow,) = [one for one in results["cells"] if one["batch_size_per_device"] == GLOBAL]
    for repeat in slow["repeats"]:
        repeat["throughput"] /= 10
    row = strong_rows(results)["left_out", "4n1g"]
    assert row["step_seconds"] is None
    assert "the steps on 1n1g and 2n1g do not follow s + p / N: 4n1g would take no" in row["reason"]


def test_one_repeat_gives_no_interval():
    results = measured()
    for one in results["cells"]:
        del one["repeats"][1:]
    row = rows_of(results, "8n1g")["asked", "8n1g"]
    assert row["step_seconds"]
    assert (row["step_low"], row["step_high"]) == (None, None)


def test_a_topology_that_is_left_out_and_asked_for_has_one_row_of_smaller_ones():
    found = predictions(measured()["cells"], wanted_topologies("2n1g,4n1g,8n1g"))
    kinds = [(row["kind"], row["topology"]) for row in found["groups"][0]["rows"]]
    assert kinds[-3:] == [("asked", "2n1g"), ("asked", "4n1g"), ("asked", "8n1g")]
    (none, beside, figure) = step_lines({"predictions": found, "step_parts": None})
    assert none.endswith("2n1g (prediction): none, nothing smaller than 2n1g has several nodes.")
    assert "4n1g (prediction from smaller topologies): 63.7 images/s" in beside
    assert ", a speed-up of 3.19 of 4 where 3.19 was measured, from the step on 2n1g" in beside
    assert "8n1g (prediction, not measured)" in figure


def test_wanted_topologies_are_a_list():
    assert wanted_topologies(" 16n8g,64n8g ,16n8g") == ["16n8g", "64n8g"]
    assert wanted_topologies("") == []
    with pytest.raises(ValueError, match="64x8"):
        wanted_topologies("64x8")


def test_the_table_tells_what_each_prediction_is_made_of():
    results = measured()
    results["predictions"] = predictions(results["cells"], ["64n1g", "8n8g"])
    (part,) = step_sections(results | {"step_parts": None})
    (table,) = part["tables"]
    rows = [[cell["text"] for cell in row] for row in table["rows"]]
    of_4n1g = ["251.00", "251.0 to 251.0", "63.75", "3.187", "3.187", "0.00"]
    assert [column["name"] for column in table["columns"]][:2] == ["topology", "prediction"]
    assert rows[1:] == [
        ["4n1g", "from one device and its own all-reduces", "1n1g", "4n1g", *of_4n1g],
        ["4n1g", "from smaller topologies", "2n1g", "2n1g", *of_4n1g],
        [
            *("64n1g", "from smaller topologies, as asked", "4n1g", "2n1g, 4n1g"),
            *("326.00", "326.0 to 326.0", "785.28", "39.264", "-", "-"),
        ],
        ["8n8g", "from smaller topologies, as asked", "1n1g", "", "-", "", *"----"],
    ]


def test_the_report_and_the_terminal_mark_predictions():
    results = measured()
    text = report_markdown(page(results))
    assert "predictions" in text
    assert "from smaller topologies" in text
    results["predictions"] = predictions(results["cells"], ["64n1g", "8n8g"])
    (figure, none) = [line for line in step_lines(results) if "prediction" in line]
    assert "64n1g (prediction, not measured): 785.3 images/s (785.3 to 785.3), a" in figure
    assert "from the step on 4n1g and the all-reduces on 2n1g, 4n1g." in figure
    row = next(one for one in results["predictions"]["groups"][0]["rows"] if one["step_seconds"])
    row.update(kind="asked", step_low=0.0, step_high=1.0)
    assert "images/s (8.0 or more), a speed-up" in step_lines(results)[-3]
    row.update(step_low=None, step_high=None)
    assert "images/s (no interval: too few repeats), a" in step_lines(results)[-3]
    row["kind"] = "parts"
    made = strong()
    made["step_parts"], made["predictions"] = None, predictions(made["cells"], ["8n1g"])
    (said,) = [line for line in step_lines(made) if "gb16-strong 8n1g" in line]
    assert "from the steps on 2n1g, 4n1g and the all-reduces on 2n1g, 4n1g." in said
    assert "8n8g (prediction): none, 3 sizes" in none
    assert "64n1g (prediction, not measured)" in report_markdown(page(results))
    terminal = terminal_table(results)
    assert "4n1g: 3.19 of 4" in terminal and "64n1g (prediction," in terminal
    assert max(map(len, terminal.splitlines())) <= 100
