"""The example of docs/adding-a-benchmark.md, outside this tree, from provision.yml to a report."""

import json
import re
import sys

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from local_nodes import ROOT, Cluster, failures

DOCUMENT = ROOT / "docs/adding-a-benchmark.md"
FILE = re.compile(r"^New file `([^`]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INVENTORY = ("-i", "inventory/this_machine")


@pytest.fixture(scope="session")
def pytorch():
    """Install no framework: the example needs none."""


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """Write the files of the document into a folder of the user's, and return it."""
    folder = tmp_path_factory.mktemp("mine")
    files = FILE.findall(DOCUMENT.read_text())
    assert [path for path, _ in files] == ["benchmarks/line_fit.yml", "workloads/line_fit/train.py"]
    for path, text in files:
        assert not (ROOT / path).exists()
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture(scope="module")
def campaign(example, tmp_path_factory):
    """Return the folder of a campaign of the example on this machine."""
    nodes = Cluster(tmp_path_factory.mktemp("machine"), tmp_path_factory.mktemp("results"))
    given = {
        "benchmark": "line_fit",
        "campaign_benchmarks_dir": str(example / "benchmarks"),
        "workload_own_source": str(example / "workloads"),
    }
    done = nodes.run("provision.yml", *INVENTORY, **given)
    assert done.rc == 0, failures(done)
    done = nodes.run(
        *("bench.yml", *INVENTORY, "-e", "series_length=1000,2000"),
        **{**given, "campaign": "lines", "repeats": 2},
    )
    assert done.rc == 0, failures(done)
    return nodes.results / "lines"


def test_the_example_runs_to_a_report_in_its_own_unit(campaign):
    results = json.loads((campaign / "results.json").read_text())
    assert results["failures"] == []
    cells = results["cells"]
    assert [cell["units_per_sample"] for cell in cells] == [1000, 2000]
    assert [cell["variant"] for cell in cells] == ["bz8", "bz8-n2000"]
    for cell in cells:
        assert (cell["unit"], cell["model"], cell["state"]) == ("points/s", "line", "measured")
        assert cell["own_factors"] == {"series_length": cell["units_per_sample"]}
        # Nine FLOPs a point, by the time of the steps.
        for repeat in cell["repeats"]:
            ratio = repeat["figures"]["flops_per_second"] / repeat["elapsed_throughput"]
            assert ratio == pytest.approx(9)
            assert repeat["wall_clock_throughput"] == pytest.approx(
                repeat["elapsed_throughput"], rel=0.5
            )
    for name in ("report.html", "report.md", "results.csv", "scalebench.prom", "throughput.svg"):
        text = (campaign / name).read_text()
        assert "points/s" in text
        assert "images/s" not in text


def test_it_runs_in_the_python_of_the_nodes_modules(campaign):
    plan = json.loads((campaign / "plan.json").read_text())
    argv = plan["cells"][0]["commands"]["this_machine"]["argv"]
    assert argv[0] == sys.executable or argv[0].startswith("/usr/bin/python3")
    assert argv[1].endswith("/workloads/line_fit/train.py")


def test_the_log_is_the_fixture_that_the_document_describes(campaign):
    text = (campaign / "logs/line_fit/bz8/1n1g/line_b8_fp64_1.log").read_text()
    reading = logs.read(text)
    found = (reading["reader"], reading["unit"], len(reading["observations"]))
    assert found == ("scalebench", "points/s", 25)
    losses = [one["loss"] for one in reading["observations"]]
    assert losses[-1] < losses[0]
