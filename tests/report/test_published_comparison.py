"""Comparisons with published results and across frameworks, from public logs and a campaign."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.comparison import across_text
from ansible_collections.scalebench.core.plugins.module_utils.layout.sections import markdown
from ansible_collections.scalebench.core.plugins.module_utils.published import (
    text as published_text,
)
from local_nodes import ROOT, failures
from playbook_runs import run_playbook
from written_campaigns import write_campaign

LOGS = Path(os.environ.get("SCALEBENCH_PUBLIC_LOGS", ROOT.parent / "shared/logs"))
TF2 = "Oneflow-Inc+DLPerf@e36df2e/Tensorflow/resnet50v1.5/logs/tensorflow/resnet50"
FOUR_FRAMEWORKS = "PaddlePaddle+Perf@6f36264/ResNet50V1.5"
needs_logs = pytest.mark.skipif(
    not LOGS.is_dir(), reason=f"no public logs at {LOGS} (SCALEBENCH_PUBLIC_LOGS)"
)
OF_DLPERF = "gpu=V100-SXM2-16GB,data=real,data_backend=native,image_size=224"


@pytest.fixture
def report(tmp_path):
    """Return a function that runs report.yml into tmp_path."""

    def run(**variables: Any) -> Any:
        given = {"report_output_dir": str(tmp_path), "report_plots": False, **variables}
        return run_playbook(tmp_path, "playbooks/report.yml", **given)

    return run


def read(runner: Any, folder: Path) -> dict[str, Any]:
    assert runner.rc == 0, failures(runner)
    results: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return results


def series(document: str, name: str) -> dict[str, Any]:
    published = yaml.safe_load((ROOT / "published" / f"{document}.yml").read_text())
    (results,) = (entry["results"] for entry in published["series"] if entry["id"] == name)
    return results


@needs_logs
def test_the_logs_of_dlperf_give_what_dlperf_published(report, tmp_path):
    results = read(report(log_dir=str(LOGS / TF2), conditions=OF_DLPERF), tmp_path)
    published = results["published"]
    assert published["not_compared"] == []
    assert published["stated"]["image_size"] == 224
    printed = series("dlperf_tensorflow2", "fp32_b128")
    own = [r for r in published["compared"] if r["source"]["document"] == "dlperf_tensorflow2"]
    assert [row["cell"]["topology"] for row in own] == list(printed)
    for row in own:
        figures = printed[row["cell"]["topology"]]
        for side in ("measured", "theirs"):
            assert row[side]["throughput"] == figures["throughput"]
            assert row[side]["speedup"] == figures["speedup"]
        assert (row["ratio"], row["beyond_repeats"]) == (1.0, False)
        # Where DLPerf's repeats scatter too much, they do not show 2 %.
        narrow = row["high"] - row["low"] < 0.04
        assert row["finding"] in (("equivalent",) if narrow else ("equivalent", "undecided"))
        assert row["low"] < 1 < row["high"]
    assert {row["finding"] for row in own} == {"equivalent", "undecided"}
    # NVIDIA's own figures for TensorFlow 1 on the same GPU are about a seventh higher.
    others = [row for row in published["compared"] if row not in own]
    assert {row["source"]["document"] for row in others} == {"nvidia_tensorflow"}
    assert {row["finding"] for row in others} == {"slower"}
    text = markdown(*published_text.sections(results))
    assert "6 cell(s) have the conditions of a published result" in text
    assert "The result file in git comes from the" in text
    assert text in (tmp_path / "report.md").read_text()


@needs_logs
def test_without_a_gpu_nothing_is_compared(report, tmp_path):
    results = read(report(log_dir=str(LOGS / TF2)), tmp_path)
    (group,) = results["published"]["not_compared"]
    assert results["published"]["compared"] == []
    assert len(group["cells"]) == 6
    # Data and image size stand in the logs.
    assert [unknown["condition"] for unknown in group["unknown"]] == ["gpu", "data_backend"]


@needs_logs
def test_four_frameworks_stand_side_by_side(report, tmp_path):
    results = read(report(log_dir=str(LOGS / FOUR_FRAMEWORKS), conditions="model=r50"), tmp_path)
    text = markdown(*across_text.sections(results))
    assert text in (tmp_path / "report.md").read_text()
    assert "| topology |   mxnet | pytorch | tensorflow |  paddle | fastest" in text
    # The source's figures for AMP, batch size 128, eight GPUs, which it computed by other rules.
    row = next(line for line in text.splitlines() if line.startswith("| 1n8g"))
    speeds = [float(part) for part in row.split("|")[2:5]]
    assert speeds == pytest.approx([9449.3, 5587.31, 8434.95], rel=0.02)
    assert "not decided (one repeat)" in row
    assert "r50 fp32, batch size 128: mxnet was run only with batch size 96" in text


def test_a_campaign_on_the_cpu_gets_reasons_and_no_ratio(report, tmp_path):
    folder = write_campaign(tmp_path / "results/mine", {"1n1g": 24.0, "2n1g": 40.0}, repeats=3)
    results = read(report(report_campaign_dir=str(folder)), folder)
    (group,) = results["published"]["not_compared"]
    assert results["published"]["compared"] == []
    assert group["never"][0] == {"condition": "gpu", "measured": "none (CPU)"}
    (section,) = published_text.sections(results)
    (line,) = section["paragraphs"]
    assert line.startswith(
        "Nothing published is comparable with these cells (pytorch fp32 bz4 1n1g"
    )
    assert across_text.sections(results) == []


def test_published_rows_can_be_left_out(report, tmp_path):
    folder = write_campaign(tmp_path / "results/mine", {"1n1g": 24.0}, repeats=1)
    assert "published" not in read(
        report(report_campaign_dir=str(folder), report_published_dir=""), folder
    )


def test_an_unknown_condition_is_refused(report, tmp_path):
    (tmp_path / "logs").mkdir()
    runner = report(log_dir=str(tmp_path / "logs"), conditions="driver=450")
    assert runner.rc == 2
    assert "'driver' cannot be stated: use one of model, framework" in str(failures(runner))
