"""Files of acceptances: what they may say, and the errors that name what is wrong."""

import json
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.acceptance.promises import (
    LINES,
    check_acceptance,
    line_text,
)

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "acceptance").glob("*.yml"))
GOOD = {"about": "x", "campaign": {"repeats": 3}, "lines": [{"min_throughput": 5}]}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_that_is_here_is_right(path):
    content = yaml.safe_load(path.read_text())
    # In a campaign's folder it is kept as JSON.
    assert check_acceptance(json.loads(json.dumps(content))) == check_acceptance(content)


def test_the_figures_of_v100_are_those_published():
    promised = check_acceptance(yaml.safe_load((ROOT / "acceptance/v100.yml").read_text()))
    published = yaml.safe_load((ROOT / "published/dlperf_mxnet_ngc.yml").read_text())
    (series,) = [one for one in published["series"] if one["id"] == "fp32_b128_dali"]
    least = {
        line["where"]["topology"]: line["value"]
        for line in promised["lines"]
        if line["metric"] == "min_throughput"
    }
    assert least == {name: series["results"][name]["throughput"] for name in least}
    assert set(least) == set(promised["campaign"]["topology"])


def test_the_campaign_of_v100_runs_and_reads_what_was_published():
    promised = check_acceptance(yaml.safe_load((ROOT / "acceptance/v100.yml").read_text()))
    published = yaml.safe_load((ROOT / "published/dlperf_mxnet_ngc.yml").read_text())
    name = promised["campaign"]["recipe"]
    recipe = yaml.safe_load((ROOT / "benchmarks/mxnet_ngc.yml").read_text())["recipes"][name]
    assert recipe["container"]["image"] == published["common"]["container"]
    assert recipe["strategy"]["name"] == published["method"]["strategy"]


def test_the_driver_of_v100_is_that_of_a_stack():
    promised = check_acceptance(yaml.safe_load((ROOT / "acceptance/v100.yml").read_text()))
    (driver,) = [one["value"]["driver"] for one in promised["lines"] if one["metric"] == "stack"]
    stacks = [yaml.safe_load(path.read_text()) for path in (ROOT / "stacks").glob("v100-*.yml")]
    assert any(fnmatch(str(stack["driver"]["version"]), driver) for stack in stacks)


def test_that_no_repeat_may_fail_is_always_promised():
    assert [line_text(line) for line in check_acceptance(GOOD)["lines"]] == [
        "min_throughput: 5",
        "no_faults",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lines": []}, "at least one line"),
        ({"lines": [{"max_throughput": 5}]}, "line 1: one promise a line, not max_throughput"),
        ({"lines": [{"min_throughput": 5, "min_speedup": 2}]}, "line 1: one promise a line"),
        ({"lines": ["x" * 5000]}, "line 1: 'x{79} is not a mapping"),
        ({"lines": [{"no_faults": "x" * 5000}]}, "line 1: no_faults: 'x{79} .{0,200}$"),
        ({"lines": [{"min_throughput": "x" * 5000}]}, "line 1: min_throughput: 'x{79} is not a"),
        ({"lines": [{"min_throughput": "fast"}]}, "line 1: .*'fast' is not a number"),
        ({"lines": [{"min_throughput": 0}]}, "line 1: .*not above 0"),
        ({"lines": [{"min_efficiency": 80}]}, "line 1: .*not a share"),
        (
            {"lines": [{"min_speedup": 1, "day_sd": 0.1}]},
            "line 1: day_sd: only min_throughput takes",
        ),
        ({"lines": [{"min_throughput": 1, "day_sd": 2}]}, "line 1: day_sd: 2 is not a share below"),
        ({"lines": [{"max_drift": 2}]}, "line 1: .*not a share"),
        ({"lines": [{"min_throughput": 5, "where": {"gpu": "x"}}]}, "line 1: .*no 'gpu'"),
        ({"lines": [{"preflight": "pass", "where": {}}]}, "not about cells"),
        ({"lines": [{"preflight": "ok"}]}, "preflight: 'ok'"),
        ({"lines": [{"no_faults": 8}]}, "no_faults: 8 is not a duration"),
        (
            {"lines": [{"min_busbw": 10}]},
            "line 1: min_busbw: 10 is not a table of floors in MB/s, as {NET/IB",
        ),
        (
            {"lines": [{"min_speedup": 1, "day_sd": 0.1}]},
            "line 1: day_sd: only min_throughput takes",
        ),
        ({"lines": [{"min_throughput": 1, "day_sd": 2}]}, "line 1: day_sd: 2 is not a share below"),
        ({"lines": [{"max_drift": 2}]}, "line 1: max_drift: 2 is not a share: the largest loss of"),
        ({"lines": [{"max_drift": "x"}]}, "line 1: max_drift: 'x' is not a number of 0 or more"),
        ({"lines": [{"min_speedup": 0}]}, "line 1: min_speedup: 0 is not above 0: a ratio to 1n1g"),
        ({"lines": [{"stack": {"cuda": "12"}}]}, "stack: no 'cuda'; the choices are driver"),
        ({"lines": [{"stack": {"nccl": None}}]}, "put it in quotes"),
        ({"campaign": {"precison": "fp32"}}, "campaign: .*did you mean 'precision'"),
        ({"campaign": {"topology": "4x8"}}, "campaign: topology=4x8"),
        ({"campaign": {"half_width": 0.1}}, "half_width cannot be set here"),
        ({"about": ""}, "about: a sentence"),
        ({"more": 1}, "keys about, campaign, lines"),
    ],
)
def test_what_is_wrong_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        check_acceptance({**GOOD, **change})


def test_every_line_is_documented():
    text = (ROOT / "docs/acceptance.md").read_text()
    assert [name for name in LINES if f"| `{name}`" not in text] == []
