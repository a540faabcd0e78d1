"""Verdicts by intervals: rates of wrong ones, and every kind of line."""

import random

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.acceptance.acceptance_text import (
    acceptance_sections,
    acceptance_text,
    differences,
)
from ansible_collections.scalebench.core.plugins.module_utils.acceptance.judge import (
    judge_acceptance,
)
from ansible_collections.scalebench.core.plugins.module_utils.acceptance.promises import (
    check_acceptance,
)
from ansible_collections.scalebench.core.plugins.module_utils.acceptance.undecidable import (
    undecidable,
)
from comparison_data import NODE, results, speeds

DRAWS = 400


def judge(measured, *lines, campaign=None):
    content = {"about": "x", "campaign": campaign or {}, "lines": list(lines)}
    return judge_acceptance(measured, check_acceptance(content), "mine")


def verdicts(measured, *lines):
    return [row["verdict"] for row in judge(measured, *lines)["lines"]][: len(lines)]


def at(topology, **line):
    return {**line, "where": {"topology": topology}}


def simulated(true, promised, repeats=5, cv=0.003):
    """Return how often each verdict is given of a cell whose true throughput is known."""
    counts = {"accepted": 0, "not accepted": 0, "undecided": 0}
    for seed in range(DRAWS):
        draw = random.Random(seed)
        values = [round(true * (1 + draw.gauss(0, cv)), 2) for _ in range(repeats)]
        counts[judge(results({"1n1g": values}), {"min_throughput": promised})["verdict"]] += 1
    return {word: count / DRAWS for word, count in counts.items()}


def test_wrong_verdicts_are_as_rare_as_stated():
    # 2.5 % stated; 400 draws of 2.5 % have more than 4.5 % (18) in less than 1 of 100 series.
    exact = simulated(400, 400)
    assert exact["accepted"] <= 0.045
    assert exact["not accepted"] <= 0.045
    assert simulated(400, 396)["accepted"] >= 0.95
    assert simulated(400, 404)["not accepted"] >= 0.95


@pytest.mark.parametrize(("stated", "most"), [({}, 0.6), ({"day_sd": 0.005}, 0.045)])
def test_a_stated_spread_of_days_makes_the_verdict_hold_for_all_days(stated, most):
    """Without it the verdict is on the median of the day, which differs by 0.5 % from others."""
    counts = {"accepted": 0, "not accepted": 0, "undecided": 0}
    for seed in range(DRAWS):
        draw = random.Random(seed)
        level = 400 * (1 + draw.gauss(0, 0.005))
        values = [round(level * (1 + draw.gauss(0, 0.003)), 2) for _ in range(5)]
        found = judge(results({"1n1g": values}), {"min_throughput": 400, **stated})
        counts[found["verdict"]] += 1
    wrong = [counts[word] / DRAWS for word in ("accepted", "not accepted")]
    assert max(wrong) <= most
    assert stated or min(wrong) > 0.1
    line = judge(results({"1n1g": speeds(400, 1)}), {"min_throughput": 1, **stated})["lines"][0]
    assert line["line"] == "min_throughput: 1" + (", day_sd 0.005" if stated else "")


def test_many_kept_lines_are_rejected_as_rarely_as_one():
    topologies = ("1n1g", "1n2g", "2n1g", "2n2g", "1n4g", "4n1g")
    lines = [at(name, min_throughput=400) for name in topologies]
    wrong = 0
    for seed in range(DRAWS):
        measured = results({name: speeds(400, seed * 10 + k) for k, name in enumerate(topologies)})
        wrong += judge(measured, *lines)["verdict"] == "not accepted"
    assert wrong / DRAWS <= 0.045


def test_speedup_and_efficiency_are_tested_by_the_interval_of_the_ratio():
    measured = results({"1n1g": speeds(100, 1), "2n2g": speeds(360, 2)})
    assert verdicts(
        measured,
        at("2n2g", min_speedup=3.5),
        at("2n2g", min_speedup=3.7),
        at("2n2g", min_efficiency=0.88),
        at("2n2g", min_efficiency=0.92),
        at("1n1g", min_efficiency=0.99),
    ) == ["pass", "fail", "pass", "fail", "undecided"]
    found = judge(measured, {"min_efficiency": 0.8})["lines"]
    assert [row["of"].split()[-1] for row in found[:-1]] == ["2n2g"]
    row = judge(measured, at("2n2g", min_efficiency=0.88))["lines"][0]
    assert row["low"] < row["measured"] < row["high"]
    assert row["measured"] == pytest.approx(0.9, abs=0.01)


def test_without_enough_data_a_line_is_undecided():
    assert (
        verdicts(
            results({"1n1g": [100.0], "2n2g": speeds(360, 2)}),
            at("1n1g", min_throughput=1),
            at("4n8g", min_throughput=1),
            at("2n2g", min_efficiency=0.5),
            {"max_drift": 0.01, "where": {"topology": "2n2g"}},
            {"preflight": "pass"},
        )
        == ["undecided"] * 5
    )


def test_a_cell_that_was_only_partly_measured_is_still_judged_and_the_fault_counts():
    measured = results({"1n1g": [*speeds(400, 1), None]})
    found = judge(measured, {"min_throughput": 300})
    assert [row["verdict"] for row in found["lines"]] == ["pass", "fail"]
    assert found["verdict"] == "not accepted"
    assert "1 fault(s)" in found["lines"][1]["detail"]


def test_a_fault_that_a_second_attempt_made_up_for_counts():
    measured = results({"1n1g": speeds(400, 1)})
    repeat = measured["cells"][0]["repeats"][0]
    attempt = {"ending": "crashed", "reason": "exit code 1", "throughput": None, "disturbances": []}
    repeat["earlier"] = [attempt]
    assert verdicts(measured, {"no_faults": "1s"}) == ["fail"]
    repeat["earlier"] = [{**attempt, "ending": "interrupted"}]
    assert verdicts(measured, {"no_faults": "1s"}) == ["pass"]


def unrun(measured):
    cell = measured["cells"][0]
    cell["repeats"].pop()
    cell["not_run"] = [5]


def of_a_duration(measured):
    del measured["cells"][0]["repeats"][2]


def ended(ending):
    def change(measured):
        repeat = measured["cells"][0]["repeats"][2]
        repeat.update(ending=ending, throughput=None, reason="x")
        repeat.pop("elapsed_throughput", None)

    return change


def attempt_removed(measured):
    measured["cells"][0]["repeats"][2]["attempt"] = 2


@pytest.mark.parametrize(
    "change",
    [
        *(unrun, of_a_duration, attempt_removed),
        *(ended("interrupted"), ended("unavailable"), ended("skipped")),
    ],
)
def test_repeats_that_are_not_there_show_nothing(change):
    """Else a fault would vanish with its files."""
    lines = [at("1n1g", min_throughput=300), at("2n1g", min_throughput=300), {"no_faults": "1s"}]
    measured = results({"1n1g": speeds(400, 1), "2n1g": speeds(400, 2)})
    assert verdicts(measured, *lines) == ["pass"] * 3
    change(measured)
    assert verdicts(measured, *lines) == ["undecided", "pass", "undecided"]
    measured["failures"] = [{"log": "x.log", "ending": "crashed", "reason": "exit code 1"}]
    assert verdicts(measured, *lines)[2] == "fail"


@pytest.mark.parametrize(
    ("campaign", "planned", "said"),
    [
        ({"repeats": 5}, {"repeats": 2}, "repeats: 5 is stated, the plan has 2"),
        ({"precision": "amp"}, {}, "precision: amp is stated, the plan has none"),
        ({"topology": "1n1g,4n8g"}, {"topology": ["1n1g", "4n8g"]}, "topology: no cell has 4n8g"),
        ({"duration": "8h"}, {"duration": "1h"}, "duration: 8h is stated, the plan has 1h"),
        ({"repeats": 9}, {"repeats": 9}, "repeats: 9 are stated, pytorch fp32 bz4 1n1g has 5"),
        ({}, {"half_width": 0.1}, "half_width: the plan has it"),
    ],
)
def test_another_campaign_than_the_stated_one_is_undecided(campaign, planned, said):
    measured = results({"1n1g": speeds(400, 1)}, options=planned)
    found = judge(measured, {"min_throughput": 300}, campaign=campaign)
    assert said in [row["detail"] for row in found["lines"] if row["line"] == "campaign"]
    assert found["verdict"] == "undecided"


def test_repeats_that_did_not_run_are_listed_in_order():
    measured = results({"1n1g": speeds(400, 1)})
    measured["cells"][0].update(repeats=[], not_run=[8, 1])
    found = str(judge(measured, at("1n1g", min_throughput=300))["lines"])
    assert found.index("repeat 1 ") < found.index("repeat 8 ")


def test_a_campaign_as_stated_is_accepted():
    stated = {"topology": "1n1g", "repeats": 5, "duration": "1h", "batch_size_per_device": 4}
    planned = {"topology": ["1n1g"], "repeats": 5, "duration": "2h", "batch_size_per_device": [4]}
    measured = results({"1n1g": speeds(400, 1)}, options=planned)
    assert judge(measured, {"min_throughput": 300}, campaign=stated)["verdict"] == "accepted"


def test_hours_without_faults_must_have_been_measured():
    measured = results({"1n1g": speeds(400, 1)})
    for number, repeat in enumerate(measured["cells"][0]["repeats"]):
        repeat["seconds"] = 600.0
        repeat["recorded"] = f"2026-11-22T10:{10 * number:02}:00+00:00"
    assert verdicts(measured, {"no_faults": "50min"}) == ["pass"]
    assert verdicts(measured, {"no_faults": "51min"}) == ["undecided"]


def test_a_drift_is_judged_by_its_interval():
    measured = results({"1n1g": [round(400 - 0.4 * k, 2) for k in range(30)]})
    for number, repeat in enumerate(measured["cells"][0]["repeats"]):
        repeat["recorded"] = f"2026-11-22T10:{number:02}:00+00:00"
    assert verdicts(measured, {"max_drift": 0.01}) == ["fail"]
    assert verdicts(measured, {"max_drift": 0.05}) == ["pass"]


def test_lines_that_test_a_drift_are_corrected_with_the_others():
    """Alone it fails; with forty lines more it could by chance."""
    measured = results({"1n1g": [400.0 - 3 * (k % 3) - k for k in range(12)]})
    for number, repeat in enumerate(measured["cells"][0]["repeats"]):
        repeat["recorded"] = f"2026-11-22T10:{number:02}:00+00:00"
    drift = {"max_drift": 0.0001}
    assert verdicts(measured, drift) == ["fail"]
    assert verdicts(measured, *[drift] * 40)[0] == "undecided"


def test_a_ratio_to_a_cell_with_missing_repeats_is_undecided():
    measured = results({"1n1g": speeds(100, 1), "2n2g": speeds(360, 2)})
    line = at("2n2g", min_efficiency=0.88)
    assert verdicts(measured, line) == ["pass"]
    unrun(measured)
    assert verdicts(measured, line) == ["undecided"]


@pytest.mark.parametrize(
    ("found", "promised", "verdict"),
    [
        ("pass", "pass", "pass"),
        ("warn", "pass", "fail"),
        ("warn", "warn", "pass"),
        ("fail", "warn", "fail"),
        ("skip", "warn", "undecided"),
    ],
)
def test_the_preflight(found, promised, verdict):
    measured = results({"1n1g": speeds(400, 1)})
    measured["preflight"] = {"verdict": found, "summary": "", "counts": {}, "rows": []}
    assert verdicts(measured, {"preflight": promised}) == [verdict]


def test_the_stack_of_every_node():
    nodes = {"node1": NODE, "node2": {**NODE, "gpus": [{"driver": "535.1", "name": "x"}]}}
    measured = results({"1n1g": speeds(400, 1)}, nodes=nodes)
    found = judge(measured, {"stack": {"driver": "440.*", "nccl": "2.*", "gpus": "[12]"}})
    assert [(row["line"], row["verdict"]) for row in found["lines"][:3]] == [
        ("stack: driver 440.*", "fail"),
        ("stack: nccl 2.*", "undecided"),
        ("stack: gpus [12]", "pass"),
    ]
    assert "node2 has 535.1" in found["lines"][0]["detail"]


def test_each_gpu_has_to_match_by_itself():
    gpus = [{"driver": "535.1", "name": "V100"}, {"driver": "440.33", "name": None}]
    measured = results({"1n1g": speeds(400, 1)}, nodes={"node1": {**NODE, "gpus": gpus}})
    found = judge(measured, {"stack": {"driver": "*.1", "gpu": "V100*"}})["lines"]
    assert [row["verdict"] for row in found[:2]] == ["fail", "undecided"]
    assert found[0]["detail"] == "node1 has 440.33"
    assert verdicts(measured, {"stack": {"gpu": "None*"}}) == ["fail"]


@pytest.mark.parametrize(
    ("facts", "promised"),
    [
        ({"gpus": []}, {"gpus": "0"}),
        ({"gpus": []}, {"gpus": 8}),
        ({"gpus": None}, {"gpus": "*"}),
        ({"os": "unknown"}, {"os": "*"}),
        ({"os": "unknown"}, {"os": "Debian*"}),
        ({"nccl": ""}, {"nccl": "*"}),
    ],
)
def test_what_no_node_told_is_no_value(facts, promised):
    """Without nvidia-smi no GPU is listed: that is not a count of none."""
    measured = results({"1n1g": speeds(400, 1)}, nodes={"node1": {**NODE, **facts}})
    row = judge(measured, {"stack": promised})["lines"][0]
    assert (row["verdict"], row["detail"]) == ("undecided", "not recorded of node1")


def test_the_report_has_a_row_for_each_line():
    measured = results({"1n1g": speeds(400, 1)})
    measured["acceptance"] = judge(measured, {"min_throughput": 300})
    (section,) = acceptance_sections(measured)
    assert len(section["tables"][0]["rows"]) == 2
    assert "accepted (2 pass, 0 fail, 0 undecided)" in acceptance_text(measured)
    assert acceptance_sections(results({"1n1g": [1.0]})) == []


def test_results_that_their_logs_do_not_give_are_named():
    measured = results({"1n1g": speeds(400, 1)})
    measured["acceptance"] = judge(measured, {"min_throughput": 401})
    assert differences(measured, measured) == []
    other = results({"1n1g": [*speeds(400, 1)[:4], 999.0]})
    other["acceptance"] = {**measured["acceptance"], "verdict": "accepted"}
    said = differences(other, measured)
    assert said[0].startswith("all lines: results.json has accepted, the logs give undecided")
    text = "\n".join(said)
    assert "cells 1 repeats logs/1n1g/5.log throughput: results.json has 999.0" in text
    assert "cells 1 median_speed" in text
    many = results({f"{n}n1g": [1.0, 2.0] for n in range(1, 9)})
    assert len(differences(many, measured)) == 21
    assert differences(many, measured)[-1].endswith(" more")
    names = [line.partition(": ")[0] for line in differences(many, measured)[1:-1]]
    names = names[names.index("cells 1 average_speed") :]
    assert names == sorted(names)
    assert len(names) > 10


def test_no_text_of_a_file_looks_like_a_verdict():
    evil = "mine: accepted\n\nAcceptance x: accepted \x1b[2J\u202e"
    content = {
        "about": evil, "campaign": {},
        "lines": [
            {"min_throughput": 500, "where": {"topology": f"1n1g{evil}*"}},
            {"stack": {"nccl": evil, "driver": "440.*"}},
        ],
    }  # fmt: skip
    node = {**NODE, "gpus": [{"driver": evil}]}
    measured = results({"1n1g": speeds(400, 1)}, nodes={"node1": node})
    promises = check_acceptance(content)
    measured["acceptance"] = found = judge_acceptance(measured, promises, evil)
    shown = [found["file"], found["about"], promises["about"]]
    shown += [row[key] for row in found["lines"] for key in ("line", "of", "detail")]
    assert [text for text in shown if not text.isprintable()] == []
    forged = {**measured, "acceptance": {**found, "verdict": evil}}
    shown = [acceptance_text(measured).replace("\n", ""), *differences(forged, measured)]
    assert [text for text in shown if not text.isprintable()] == []
    last = acceptance_text(measured).splitlines()[-1]
    assert last.endswith("not accepted (1 pass, 1 fail, 2 undecided)")


def test_what_a_plan_cannot_decide_is_told_before():
    content = {
        "about": "x",
        "campaign": {"repeats": 3},
        "lines": [
            at("1n1g", min_throughput=1),
            at("4n8g", min_throughput=1),
            at("2n1g", min_speedup=1),
            at("1n1g", max_drift=0.1),
            {"no_faults": "8h"},
            {"preflight": "pass"},
            {"stack": {"nccl": "*", "driver": "*"}},
        ],
    }
    cells = [dict(cell) for cell in results({"1n1g": [1.0], "2n1g": [1.0]})["cells"]]
    for cell in cells:
        cell["repeats"] = 3
    promises = check_acceptance(content)
    said = undecidable(promises, cells, {"node1": NODE}, 60.0, preflight=False)
    assert [one.split(":")[0] for one in said] == [
        "min_throughput", "max_drift", "no_faults", "preflight", "stack",
    ]  # fmt: skip
    assert "set duration: 8h" in said[2]
    assert "nccl of node1" in said[4]
    assert undecidable(promises, cells[1:], {}, 0.0, preflight=True)[2].startswith("min_speedup")
    itself = check_acceptance({**content, "lines": [at("1n1g", min_efficiency=0.9)]})
    said = undecidable(itself, cells, {}, 0.0, preflight=True)
    assert said == ["min_efficiency: 0.9 of topology 1n1g: 1n1g is compared with itself"]
