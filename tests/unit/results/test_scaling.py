"""Facts from the speeds of repeats: every figure that the reference efforts print, to the digit."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.results import scaling
from ansible_collections.scalebench.core.plugins.module_utils.stats import rounding, statistics
from published_data import by_series, rows

REFERENCES = [
    ("reference_000_tensorflow_ngc", "fp32_b128_dali"),
    ("reference_004_paddle", "fp32_b128"),
]
RUNS = {"1n1g": [100.0, 102.0, 101.0], "2n1g": [190.0, 200.0, 198.0]}


@pytest.mark.parametrize(("document", "series"), REFERENCES)
def test_runs_of_the_references_give_every_printed_figure(document, series):
    printed = by_series()[document, series]
    runs = {topology: row["runs"] for topology, row in printed.items()}
    facts = scaling.reference_facts(runs, "r50", 128)["r50"]
    assert len(runs) in (5, 6) and all(len(speeds) == 6 for speeds in runs.values())
    for topology, row in printed.items():
        assert facts[topology] == {
            "average_speed": row["average"],
            "batch_size_per_device": 128,
            "median_speed": row["throughput"],
            "speedup": row["speedup"],
        }


def printed_speedups():
    """Each (document, series, topology) that prints a speed-up, with its figures."""
    for (document, series), printed in by_series().items():
        speeds = {topology: row["throughput"] for topology, row in printed.items()}
        for topology, row in printed.items():
            if row["speedup"] is not None and "1n1g" in speeds:
                yield document, series, topology, row, scaling.speedups(speeds)[topology]


def test_every_printed_speedup_of_the_references_but_the_known_misprint():
    seen = wrong = 0
    for document, series, topology, row, computed in printed_speedups():
        if not document.startswith("reference_"):
            continue
        seen += 1
        if computed != row["speedup"]:
            wrong += 1
            assert (document, series, topology) == ("reference_004_paddle", "amp_b224", "4n8g")
            assert (row["speedup"], computed) == (10.2, 10.28)
    assert (seen, wrong) == (57, 1)


def test_every_other_printed_speedup_is_right_or_flagged():
    for document, series, topology, row, computed in printed_speedups():
        if computed != row["speedup"]:
            flagged = [e["correct"] for e in row["errata"] if e.get("correct")]
            assert f"{computed:.2f}" in flagged, (document, series, topology, computed)


def test_time_to_train_of_reference_001_is_consistent():
    row = rows("reference_001_tensorflow_time2train")[0]
    training = 120 * 1_281_167 / row["throughput"]
    assert training == pytest.approx(133_779, abs=1) and training < row["time_to_train_seconds"]
    assert 120 * 1_281_167 / row["time_to_train_seconds"] == pytest.approx(1033.8, abs=0.1)


def test_sample_log_of_reference_002_by_its_rule():
    printed = "288.088 385.628 386.264 385.723 384.622 385.367 384.704 384.927 384.109 384.517"
    mean = statistics.mean([float(speed) for speed in printed.split()[1:]])
    assert rounding.round_as(mean, "numpy_3") == 385.096


def test_topologies_are_ordered_by_number():
    facts = scaling.reference_facts({"16n8g": [9.0], "1n1g": [1.0], "2n10g": [3.0], "2n8g": [2.0]})
    assert list(facts["r50"]) == ["1n1g", "2n8g", "2n10g", "16n8g"]


def test_missing_baseline_gives_no_speedup_and_a_reason():
    facts = scaling.reference_facts({"1n8g": [10.0, 11.0]})["r50"]["1n8g"]
    assert facts["speedup"] is None
    assert facts["speedup_reason"] == "no baseline: no speed of 1n1g"
    assert facts["median_speed"] == 10.5
    assert scaling.speedups({"1n8g": 10.0}) == {"1n8g": None}


def test_failed_repeats_are_left_out_and_a_failed_topology_has_no_figure():
    facts = scaling.reference_facts({**RUNS, "1n1g": [None, 102.0, 101.0], "4n1g": [None, None]})[
        "r50"
    ]
    assert facts["1n1g"]["median_speed"] == 101.5
    assert facts["4n1g"]["median_speed"] is facts["4n1g"]["speedup"] is None
    assert facts["4n1g"]["speedup_reason"] == "no speed of 4n1g"
    facts = scaling.reference_facts({**RUNS, "1n1g": [None]})["r50"]
    assert facts["2n1g"]["speedup_reason"] == "no baseline: no speed of 1n1g"


def test_another_baseline_and_other_roundings():
    facts = scaling.reference_facts(
        RUNS, baseline="2n1g", rounding="none", speedup_rounding="numpy_4"
    )
    assert facts["r50"]["1n1g"]["speedup"] == 0.5101
    assert facts["r50"]["2n1g"]["average_speed"] == 196.0


@pytest.mark.parametrize("repeats", [1, 2, 3, 5, 6])
def test_any_number_of_repeats(repeats):
    facts = scaling.reference_facts({"1n1g": list(range(1, repeats + 1))})["r50"]["1n1g"]
    assert facts["median_speed"] == (repeats + 1) / 2 and facts["speedup"] == 1.0


def test_efficiency_is_the_share_of_ideal_scaling():
    assert scaling.efficiency(26.25, "4n8g") == pytest.approx(0.8203125)
    assert scaling.efficiency(2.0, "4n8g", "1n8g") == 0.5
    assert scaling.efficiency(None, "4n8g") is None


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ({"1g": [1.0]}, "'1g' is not a topology"),
        ({"0n1g": [1.0]}, "not a topology"),
        ({"1n1g": [0.0]}, "speed 0.0 is not above 0"),
        ({"1n1g": ["x"]}, r"speeds of 1n1g\[0\] is 'x'"),
        ({"1n1g": 12.0}, "not a list of speeds"),
        ([1.0], "a mapping from topology"),
    ],
)
def test_errors_name_the_topology(runs, message):
    with pytest.raises(ValueError, match=message):
        scaling.reference_facts(runs)
