"""The texts of a report: terminal, the reference output, CSV, Markdown, plots in words."""

import csv
import io
import re

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.layout.groups import labels
from ansible_collections.scalebench.core.plugins.module_utils.logs import scalebench
from ansible_collections.scalebench.core.plugins.module_utils.report.exports import csv_text
from ansible_collections.scalebench.core.plugins.module_utils.report.headline import trust
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.plots import (
    describe,
    plot_series,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.provenance import (
    method,
    origin,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.remarks import remarks
from ansible_collections.scalebench.core.plugins.module_utils.report.text import (
    reference_output,
    report_markdown,
    terminal_table,
)
from ansible_collections.scalebench.core.plugins.module_utils.results import versions
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from page_data import HOSTILE, hostile_results
from report_data import REFERENCE_004, campaign, run

SHAPELESS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")


def results_of(speeds, **changes):
    return build_results(*campaign(speeds, **changes))


def markdown_of(results):
    return report_markdown(page(results))


def row_of(text, *cells):
    """Return the one row of a Markdown table that starts with these cells."""
    rows = [[one.strip() for one in line.strip("| ").split(" | ")] for line in text.splitlines()]
    (found,) = [row for row in rows if row[: len(cells)] == list(cells)]
    return found


def two_groups():
    plan, runs = campaign({"1n1g": [10.0, 10.2], "2n1g": [19.0, 19.4]})
    other, more = campaign({"1n1g": [40.0, 41.0], "2n1g": [70.0, 71.0]}, precision="amp")
    return {**plan, "cells": plan["cells"] + other["cells"]}, runs + more


def test_terminal_table_fits_and_is_aligned():
    plan, runs = campaign({"1n1g": [12345.67] * 3, "100n8g": [9876543.21] * 3})
    runs[-1] = run(runs[-1]["cell"], 3, None, ending="stalled", reason="no output")
    for record in runs[3:]:
        record["oversubscribed"] = True
    table = terminal_table(build_results(plan, runs))
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len({len(line) for line in rows}) == 1
    assert all(len(line) <= 100 for line in table.splitlines())
    assert "2 of 3" in rows[-1]
    assert "oversubscribed" in rows[-1]
    assert "logs/100n8g/3.log: stalled: no output" in table


def test_terminal_names_the_first_failures_and_counts_the_rest():
    plan, runs = campaign({"1n1g": [10.0] * 9})
    failed = [run(record["cell"], record["repeat"], None, ending="crashed") for record in runs[:8]]
    table = terminal_table(build_results(plan, failed + runs[8:]))
    assert table.count("crashed: no reason given") == 5
    assert table.endswith("3 more repeats failed; the report names them")


def test_terminal_table_has_a_block_a_group():
    table = terminal_table(build_results(*two_groups()))
    assert "pytorch fp32 bz4: r50, batch size 4 per device" in table
    assert "pytorch amp bz4: r50, batch size 4 per device" in table
    assert table.count("| node_num |") == 2


def test_terminal_table_of_nothing():
    assert terminal_table(build_results({"campaign": "x"}, [])) == "no cell was measured"


def test_nothing_that_is_hostile_reaches_the_terminal():
    results, _, _ = hostile_results()
    table = terminal_table(results)
    assert "<script>window.hostile" in table, "shown as it is"
    printed = reference_output(results, f"d{HOSTILE}", "r.json")
    for text in (table, printed):
        assert not SHAPELESS.search(text)
        assert "[31m" not in text.replace("\\x1b[31m", "")
    assert all(len(line) <= 100 for line in table.splitlines())


def test_reference_output_is_what_they_printed():
    results = results_of({"1n1g": [354.32, 352.08]}, batch_size_per_device=128)
    for index, repeat in enumerate(results["cells"][0]["repeats"], 1):
        repeat["log"] = f"1n1g/r50_b128_fp32_{index}.log"
    assert reference_output(results, "logs/bz128/", "./result/bz128_result.json") == "\n".join(
        [
            "logs/bz128/1n1g/r50_b128_fp32_1.log {1: 354.32}",
            "logs/bz128/1n1g/r50_b128_fp32_2.log {1: 354.32, 2: 352.08}",
            "{'r50': {'1n1g': {'average_speed': 353.2,",
            "                  'batch_size_per_device': 128,",
            "                  'median_speed': 353.2,",
            "                  'speedup': 1.0}}}",
            "Saving result to ./result/bz128_result.json",
        ]
    )


def test_reference_output_names_what_gave_no_speed():
    plan, runs = campaign({"1n1g": [10.0, 11.0]})
    runs[0] = run(runs[0]["cell"], 1, None, ending="crashed", reason="KeyError")
    unmatched = [{"path": "notes", "reason": "no log"}]
    text = reference_output(build_results(plan, runs, unmatched), "d", "r.json")
    assert text.splitlines()[:3] == [
        "d/logs/1n1g/1.log crashed: KeyError",
        "d/logs/1n1g/2.log {2: 11.0}",
        "notes left out: no log",
    ]


def test_no_text_of_a_campaign_is_a_formula_in_csv():
    plan, runs = campaign({"1n1g": [10.0, 12.0]}, benchmark="=1+1")
    (row,) = csv.DictReader(io.StringIO(csv_text(build_results(plan, runs))))
    assert row["benchmark"] == "'=1+1"


def test_csv_has_a_row_a_cell_and_empty_for_nothing():
    plan, runs = campaign({"1n1g": [10.0, 12.0], "2n1g": [20.0, 21.0]})
    runs[3] = run(runs[3]["cell"], 2, None, ending="timeout", reason="600 s")
    rows = list(csv.DictReader(io.StringIO(csv_text(build_results(plan, runs)))))
    assert [row["topology"] for row in rows] == ["1n1g", "2n1g"]
    assert rows[0]["median_speed"] == "11.0"
    assert (rows[1]["repeat_1"], rows[1]["repeat_2"]) == ("20.0", "")
    assert (rows[1]["repeats_ok"], rows[1]["state"]) == ("1", "partial")
    assert (rows[1]["node_num"], rows[1]["gpu_num"], rows[1]["speedup"]) == ("2", "2", "1.82")


def test_each_reason_for_no_speed_up_has_its_cells():
    plan, runs = campaign({"2n1g": [10.0, 10.1]})
    other, more = campaign({"1n1g": [5.0, 5.1]}, benchmark="sums", no_speedup="sums have none")
    plan["cells"] += other["cells"]
    said = remarks(build_results(plan, runs + more))
    assert "sums 1n1g: no speed-up, because sums have none." in said
    assert any(one.startswith("pytorch 2n1g: no speed-up, because no b") for one in said)


def test_machines_of_one_image_are_not_one_machine():
    plan, runs = campaign({"1n1g": [10.0, 11.0]})
    nodes = {name: {"machine_id": "m", "boot_id": name} for name in ("a", "b")}
    assert "one machine" not in " ".join(remarks(build_results({**plan, "nodes": nodes}, runs)))


@pytest.mark.parametrize(
    ("plan_changes", "run_changes", "sentence"),
    [
        ({}, {"oversubscribed": True}, "say nothing about scaling"),
        (
            {"nodes": {"a": {"machine_id": "m"}, "b": {"machine_id": "m"}}},
            {},
            "a, b are one machine",
        ),
    ],
)
def test_remarks_on_machines(plan_changes, run_changes, sentence):
    plan, runs = campaign({"1n1g": [10.0, 11.0], "2n1g": [10.0, 11.0]})
    runs = [{**record, **run_changes} for record in runs]
    said = " ".join(remarks(build_results({**plan, **plan_changes}, runs)))
    assert sentence in said


def test_remarks_are_silent_where_all_is_well():
    assert remarks(results_of({"1n1g": [10.0, 10.1], "2n1g": [19.0, 19.1]})) == []


def test_remarks_name_only_what_differs():
    plan, runs = two_groups()
    for record in runs:
        if record["cell"]["precision"] == "amp" and record["cell"]["topology"] == "2n1g":
            record["oversubscribed"] = True
    assert remarks(build_results(plan, runs))[0].startswith("amp 2n1g: oversubscribed")


def test_only_cells_with_a_speed_are_oversubscribed():
    plan, runs = campaign({"1n1g": [10.0], "2n1g": [19.0]})
    runs[1] = run(runs[1]["cell"], 1, None, ending="unavailable", reason="TF32 is of GPUs")
    results = build_results(plan, [{**record, "oversubscribed": True} for record in runs])
    rows = [line for line in terminal_table(results).splitlines() if line.startswith("|")]
    states = [row.split("|")[-2].strip() for row in rows[-2:]]
    assert states == ["oversubscribed", "unavailable"]
    assert remarks(results)[0].startswith("1n1g: oversubscribed")
    assert "oversubscribed" not in str(trust(results)), "that of several devices did not run"


def test_what_bisecting_did_not_need_is_no_failure():
    plan, runs = campaign({"1n1g": [10.0], "2n1g": []})
    for repeats, said in ((3, 1), (0, 0)):
        plan["cells"][1]["repeats"] = repeats
        told = " ".join(remarks(build_results(plan, runs)))
        assert told.count("2n1g: no repeat succeeded") == said


def test_remarks_on_the_repeats():
    plan, runs = campaign({"1n1g": [10.0, 11.0]})
    facts = runs[1]["facts"]
    facts["ending"] = {"kind": "traceback", "detail": "KeyError: 'step'"}
    facts["steady_state"] = {"reached": False, "drift": -0.2}
    facts["wall_clock_throughput"] = 5.0
    said = " ".join(remarks(build_results(plan, runs)))
    assert "1 of 2 repeats reached no steady state" in said
    assert "1 of 2 logs have their data but did not end normally" in said
    assert "the printed rates and the wall clock differ" in said


@pytest.mark.parametrize(("by", "said"), [(0.015, 0), (0.025, 1), (-0.025, 1)])
def test_two_percent_of_drift_or_between_rates_and_clock_are_told(by, said):
    plan, runs = campaign({"1n1g": [10.0]})
    runs[0]["facts"]["steady_state"] = {"reached": False, "drift": by}
    runs[0]["facts"]["wall_clock_throughput"] = 10.0 * (1 + by)
    told = " ".join(remarks(build_results(plan, runs)))
    assert told.count("kept changing by more than 2%") == said
    assert told.count("the wall clock differ by more than 2%") == said


@pytest.mark.parametrize(("ending", "said"), [("crashed", 1), ("skipped", 0)])
def test_a_cell_of_which_something_was_started_had_no_success(ending, said):
    plan, runs = campaign({"1n1g": [10.0], "2n1g": [1.0, 1.0]})
    for at, how in ((1, ending), (2, "skipped")):
        runs[at] = run(runs[at]["cell"], at, None, ending=how, reason="x")
    told = " ".join(remarks(build_results(plan, runs)))
    assert told.count("no repeat succeeded") == said


def test_markdown_quotes_what_comes_from_logs():
    plan, runs = campaign({"1n1g": [10.0, 11.0]})
    reason = "x | `code` <script>\n# heading"
    runs[1] = run(runs[1]["cell"], 2, None, ending="crashed", reason=reason)
    text = markdown_of(build_results(plan, runs, [{"path": "a\nb", "reason": "<b>"}]))
    assert "## Failed and missing repeats" in text
    shown = (r"x \| \`code\` \<script\> # heading", "logs/1n1g/2.log")
    assert row_of(text, "pytorch fp32 1n1g") == ["pytorch fp32 1n1g", "2", "crashed", *shown]
    assert "- `a b`: `<b>`" in text
    assert "1 of 2 repeats succeeded, in 1 cell; 1 failed. Throughput is in images/s." in text
    assert "crashed" in row_of(text, "1n1g", "2", "-")


def test_markdown_has_the_reference_columns_and_the_method():
    results = results_of(REFERENCE_004)
    text = markdown_of(results)
    heading = row_of(text, "topology", "node_num")
    row = dict(zip(heading, row_of(text, "4n8g", "4", "32"), strict=True))
    columns = ("node_num", "gpu_num", "samples/s", "speedup")
    assert [row[name] for name in columns] == ["4", "32", "9348.17", "26.50"]
    assert [name for name in heading if name in columns] == list(columns)
    assert method(results)[0].startswith("throughput of one repeat: `mean_after_warmup`")
    assert "- throughput of one repeat: `mean_after_warmup`" in text


HEADER = (
    '[scalebench] header {"format":1,"framework":"pytorch","framework_version":"2.13.0+cu126",'
    '"device":"gpu","device_name":"Tesla V100-SXM2-16GB","cuda":"12.6","cudnn":"9.10.2",'
    '"nccl":"2.29.7","capability":"7.0","architectures":"sm_50 sm_70"}\n'
)


def test_what_the_header_states_of_the_gpu_software_reaches_the_report():
    plan, runs = campaign({"1n1g": [10.0, 11.0], "2n1g": [20.0]})
    for record in runs:
        record["facts"]["identity"] = scalebench.identify(HEADER)
    results = build_results(plan, runs)
    (trainer,) = results["provenance"]["trainers"]
    assert (trainer["cudnn"], trainer["capability"]) == ("9.10.2", "7.0")
    assert origin(versions.read(results))[-1] == (
        "Trainer on GPUs: pytorch 2.13.0+cu126, CUDA 12.6, cuDNN 9.10.2, NCCL 2.29.7, on "
        "Tesla V100-SXM2-16GB (capability 7.0), built for sm_50 sm_70"
    )
    # A log from a CPU states none, and older results have none.
    runs[0]["facts"]["identity"] = {"framework": "pytorch", "device": "cpu"}
    assert build_results(plan, runs[:1])["provenance"]["trainers"] == []
    del results["provenance"]["trainers"]
    assert versions.read(results)["provenance"]["trainers"] == []


def test_markdown_origin_tells_code_and_plan():
    plan, runs = campaign({"1n1g": [10.0]})
    controller = {"ansible_core": "2.19.14", "python": "3.11.7", "commit": "abc", "dirty": True}
    plan.update(controller=controller, sha256="d1")
    lines = origin(build_results(plan, runs))
    (made,) = [line for line in lines if line.startswith("Produced by: ")]
    assert "commit `abc`, with uncommitted changes" in made
    assert made.endswith(", ansible-core 2.19.14, Python 3.11.7")
    assert "Checksum of the plan: `d1`" in lines
    plan.update(controller={"ansible_core": "2.19.14"})
    text = markdown_of(build_results(plan, runs))
    assert "- Produced by: commit unknown, ansible-core 2.19.14" in text


def test_markdown_machines():
    plan, runs = campaign({"1n1g": [10.0]})
    node = {
        "hostname": "h",
        "machine_id": "m",
        "os": "Debian",
        "kernel": "6.1",
        "cpu_model": "CPU",
        "cores": 40,
        "memory_mib": 385024,
        "load": 0.1,
        "gpus": [{"index": i, "name": "V100", "driver": "440.33.01"} for i in range(8)],
    }
    plan["nodes"] = {
        **{f"node{n}": {**node, "machine_id": f"m{n}", "hostname": f"h{n}"} for n in (1, 2, 3)},
        "node4": {**node, "machine_id": "m4", "hostname": "h4", "gpus": node["gpus"][:7]},
    }
    plan["nodes"]["node2"]["load"] = 7.5
    text = markdown_of(build_results(plan, runs))
    assert "4 nodes on 4 machines: CPU, 40 cores, 8 V100, CPU, 40 cores, 7 V100." in text
    alike = row_of(text, "node\\[1-3\\]", "h\\[1-3\\]")
    assert {"8 V100", "376.00", "0.10, at most 7.50 on h2"} <= {*alike}
    assert "0.10" in row_of(text, "node4", "h4")
    assert row_of(text, "node\\[1-4\\]")


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([("a/x", "fp32", "bz4", "r50")], ["x fp32"]),
        ([("x", "fp32", "bz4", "r50"), ("x", "amp", "bz4", "r50")], ["fp32", "amp"]),
        # The benchmark tells the models apart.
        ([("p/x", "fp32", "bz4", "r50"), ("p/y", "fp32", "bz4", "vgg")], ["x", "y"]),
        # Two folders of one name keep their whole path.
        ([("p/x", "fp32", "bz4", "r50"), ("q/x", "fp32", "bz4", "r50")], ["p/x", "q/x"]),
    ],
)
def test_labels_say_what_differs(groups, expected):
    names = ("benchmark", "precision", "variant", "model")
    assert labels([[dict(zip(names, group, strict=True))] for group in groups]) == expected


def test_plot_series_and_words():
    series = plot_series(build_results(*two_groups()))
    assert [one["label"] for one in series] == ["fp32", "amp"]
    assert series[1]["base"] == 40.5
    assert [point["devices"] for point in series[1]["points"]] == [1, 2]
    assert describe(series, "throughput") == (
        "Median throughput by topology. fp32, images/s: 1n1g 10.10, 2n1g 19.20;"
        " amp, images/s: 1n1g 40.50, 2n1g 70.50."
    )
    assert "times 1n1g: 1n1g 1.00, 2n1g 1.90" in describe(series, "speedup")


def test_a_point_has_an_interval_where_its_repeats_give_one():
    speeds = {"1n1g": [float(speed) for speed in range(10, 20)], "2n1g": [19.0]}
    results = build_results(*campaign(speeds))
    ((first, second),) = [one["points"] for one in plot_series(results)]
    interval = results["cells"][0]["interval"]
    assert first["interval"] == [interval["low"], interval["high"]]
    assert second["interval"] is None


def test_a_plot_without_a_unit_is_of_samples():
    results = build_results(*campaign({"1n1g": [10.0]}))
    results["cells"][0]["unit"] = None
    (series,) = plot_series(results)
    assert series["unit"] == "samples/s"


def test_plots_of_nothing_are_said_to_be_empty():
    nothing = plot_series(build_results({"campaign": "x"}, []))
    assert nothing == []
    assert "Nothing was measured" in describe(nothing, "throughput")


def test_markdown_shows_names_and_hosts_as_they_are():
    hostile = "<script>x</script>\x1b[31m\n# heading"
    plan, runs = campaign({"1n1g": [10.0, 11.0]}, benchmark=hostile)
    plan.update(campaign=hostile, nodes={"a": {"hostname": hostile, "machine_id": "m"}})
    text = markdown_of(build_results(plan, runs))
    shown = r"\<script\>x\</script\> # heading"
    assert text.startswith(f"# Scaling of {shown}\n")
    assert f"\n### {shown} fp32" in text
    hardware = text.partition("Hardware and system:")[2].partition("Software")[0]
    assert row_of(hardware, "a")[1] == shown


def test_nothing_that_is_hostile_is_markup_in_markdown():
    results, _, _ = hostile_results()
    results["searches"] = [
        {
            **{"benchmark": HOSTILE, "precision": HOSTILE, "topologies": [HOSTILE]},
            **{"largest": None, "reason": HOSTILE, "memory_mib": None, "tried_on": "1n1g"},
            "tried": [{"batch_size_per_device": 4, "ending": HOSTILE, "reason": HOSTILE}],
        }
    ]
    results["packing"] = {
        **{"packing": "nodes", "beside_others": 2, "repeats": 4, "on_one_machine": 0}
    }
    results["interference"] = {
        "failures": [{"log": HOSTILE, "ending": HOSTILE, "reason": HOSTILE}],
        **{"n": 0, "cells": [], "reason": HOSTILE},
    }
    results["provenance"].update(created=HOSTILE, controller={"python": HOSTILE})
    shown = markdown_of(results).splitlines()
    assert sum("script" in text for text in shown) > 20
    for text in shown:
        assert not SHAPELESS.search(text)
        assert "[31m" not in text
        # What stands in backticks is no markup, and a backslash takes it from the rest.
        assert not re.search(r"(?<!\\)[<>]", re.sub(r"`[^`]*`", "", text)), text


def test_a_line_that_is_cut_within_a_quote_ends_its_quote():
    results, _, _ = hostile_results()
    results["cells"][0]["repeats"][0]["disturbances"] = [
        {"node": "a", "kind": "x", "detail": "<i>" * 900} for _ in range(2)
    ]
    text = markdown_of(results)
    line = text.split("Disturbed:\n\n", 1)[1].splitlines()[0]
    assert "<i><i>" in line
    assert re.sub(r"\\`", "", line).count("`") % 2 == 0


def test_throughputs_of_minutes_a_sample_are_figures_everywhere():
    plan, runs = campaign({"1n1g": [0.001234, 0.00125, 0.00126], "2n1g": [0.0023, 0.0024, 0.0025]})
    results = build_results(plan, runs)
    assert [cell["median_speed"] for cell in results["cells"]] == [0.00125, 0.0024]
    assert [cell["speedup"] for cell in results["cells"]] == [1.0, 1.92]
    texts = [terminal_table(results), report_markdown(page(results))]
    texts.append(describe(plot_series(results), "throughput"))
    for text in texts:
        assert "0.0013" in text and "0.0024" in text and " 0.00 " not in text


def test_a_plot_without_a_base_does_not_say_that_nothing_was_measured():
    series = plot_series(build_results(*campaign({"2n8g": [4800.0], "4n8g": [9000.0]})))
    assert describe(series, "speedup") == "Speed-up by topology. There is no speed-up."
    assert "2n8g 4800.00" in describe(series, "throughput")
