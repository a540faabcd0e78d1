"""playbooks/diagnose.yml on local nodes, and real deficits on four namespaces with shaped links."""

import json
import os
import shutil
import subprocess

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.measurement import (
    measurement,
)
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.suspects import judge
from diagnosis_data import named
from local_nodes import ROOT, failures

NAMESPACES = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
PYTHON = ROOT / ".state/venvs/pytorch/bin/python"


@pytest.mark.parametrize(
    ("deficits", "expected"),
    [
        (["2-4=80mbit"], {("link", "node2 - node4")}),
        (["STOPPED=3"], {("node", "node3")}),
    ],
)
def test_a_real_deficit_is_named(tmp_path, deficits, expected):
    if os.geteuid() != 0 or not all(map(shutil.which, ("tc", "nsenter", "pgrep"))):
        pytest.skip("needs root for network namespaces, and tc, nsenter and pgrep")
    script = ROOT / "tests/support/shaped_nodes.sh"
    done = subprocess.run(
        [*NAMESPACES, "bash", script, tmp_path, PYTHON, ROOT / "workloads", *deficits],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    log = (tmp_path / "1.log").read_text() if (tmp_path / "1.log").is_file() else ""
    assert done.returncode == 0, done.stderr + log

    verdict = judge(measurement([log]), {})
    # Alone they share the cores of this machine, and with them its other work.
    if expected != {("node", "node3")}:
        verdict["suspects"] = [one for one in verdict["suspects"] if one["kind"] != "node"]
    assert named(verdict) == expected, log


def test_the_playbook_measures_judges_and_reports(cluster):
    done = cluster.run("diagnose.yml", campaign="slow", message_bytes=65536)

    # Local nodes share cores, so that their noise may hide anything or make a suspect.
    folder = cluster.results / "slow"
    assert (folder / "diagnosis.json").is_file(), failures(done)
    diagnosis = json.loads((folder / "diagnosis.json").read_text())
    assert done.rc == (2 if diagnosis["suspects"] else 0), failures(done)
    assert diagnosis["nodes"] == ["node1", "node2", "node3", "node4"]
    assert len(diagnosis["pairs"]) == 6
    assert {len(row["rates"]) for row in diagnosis["pairs"]} == {5}
    assert set(diagnosis["seen"]) == {"node", "network", "link"}
    assert "What is slow: slow" in (folder / "diagnosis.html").read_text()
    assert json.loads((folder / "results.json").read_text())["failures"] == []
    assert not cluster.running()


def test_check_says_what_would_be_measured(cluster):
    done = cluster.run("diagnose.yml", "--check", campaign="unmeasured")

    assert done.rc == 0, failures(done)
    said = done.stdout.read()
    assert "All 6 pairs of nodes, in 3 rounds of disjoint pairs." in said
    assert not (cluster.results / "unmeasured").exists()
