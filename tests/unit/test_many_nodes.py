"""A page of 256 nodes stays small and readable, and nothing grows faster than the nodes."""

import json
from functools import cache
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import launch_job
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan_text import plan_text
from ansible_collections.scalebench.core.plugins.module_utils.report.text import terminal_table
from ansible_collections.scalebench.core.plugins.plugin_utils.report_files import report_files
from large_campaign import measured, planned

TEMPLATES = [Path(__file__).resolve().parents[2] / "roles/report/templates"]


@cache
def files(count):
    """Return the files of the report on a campaign of so many nodes, and its terminal table."""
    campaign = measured(count)
    made = report_files(campaign, TEMPLATES, plots=True, png=False)
    return {**made, "terminal": terminal_table(campaign.results).encode()}


def test_a_page_of_256_nodes_is_small():
    made = files(256)
    assert len(made["report.html"]) < 150_000
    assert len(made["report.md"]) < 30_000
    assert len(made["terminal"].splitlines()) < 40


@pytest.mark.parametrize("name", ["report.html", "report.md", "terminal"])
def test_a_page_grows_less_than_the_nodes(name):
    assert len(files(256)[name]) < 1.5 * len(files(128)[name])


@pytest.mark.parametrize("name", ["results.json", "results.csv", "junit.xml", "scalebench.prom"])
def test_files_grow_with_the_nodes_at_most(name):
    assert len(files(256)[name]) < 2.2 * len(files(128)[name])


def test_many_disturbed_nodes_are_counted():
    made = files(256)
    assert b"were disturbed: other process on 128 nodes" in made["terminal"]
    assert b"| other process (128)" in made["report.md"]


def test_every_node_is_on_the_page():
    page = files(256)["report.html"].decode()
    for words in ("256 nodes on 256 machines", "node[2,4,6", "node[1-256]", "host["):
        assert words in page
    assert "node200" not in page


@pytest.mark.parametrize("name", ["pytorch", "tensorflow_ngc", "mxnet_ngc", "paddle", "oneflow"])
def test_a_plan_grows_with_the_nodes(name):
    sizes = [
        len(json.dumps(planned(count, benchmark=name, topology=f"{count}n8g")["cells"]))
        for count in (128, 256)
    ]
    assert sizes[1] < 2.2 * sizes[0]


def test_gpus_are_assigned_once_for_all_nodes_of_a_cell(monkeypatch):
    assign, calls = launch_job.assign_gpus, []
    monkeypatch.setattr(launch_job, "assign_gpus", lambda *args: calls.append(1) or assign(*args))
    assert len(planned(16, topology="16n8g")["cells"]) == len(calls) == 1


def test_the_plan_in_words_has_two_lines_of_commands_for_all_nodes():
    made = planned(256, topology="256n8g")
    more = {"repeats": 0, "missing": 0, "measured": 0, "seconds": 0, "waves": [], "not_run": []}
    text = plan_text({**made, **more, "packing": "none"})
    (command,) = [line for line in text.splitlines() if "--node-rank" in line]
    assert command.startswith("  node[1-256]: ")
    assert "--node-rank=[0-255]" in command
