"""The input of the fingerprint: files and tools."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.evidence.fingerprint import (
    fingerprint,
)
from ansible_collections.scalebench.core.plugins.module_utils.node import machine


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Return a function that puts a stand-in for a tool on the path, and only that."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")

    def put(name, script):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    return put


def test_the_facts_of_this_machine():
    facts = fingerprint(machine.texts())
    assert facts["memory_mib"] > 100
    assert facts["tcp_congestion_control"]
    assert machine.devices()["interfaces"]["lo"]["mtu"] > 1000


def test_tools_are_read_whatever_their_exit_code(tool):
    tool("systemd-detect-virt", "echo none; exit 1")
    tool("ofed_info", "echo MLNX_OFED_LINUX-5.8-1.1.2.1:")
    facts = fingerprint(machine.texts())
    assert (facts["virtualisation"], facts["ofed"]) == ("none", "MLNX_OFED_LINUX-5.8-1.1.2.1")


def test_a_tool_that_hangs_gives_an_empty_text(tool, monkeypatch):
    monkeypatch.setattr(machine, "PATIENCE_SECONDS", 0.1)
    tool("ofed_info", "exec sleep 60")
    assert machine.texts()["ofed"] == ""


def test_each_file_has_a_digest_and_caches_have_none(tmp_path):
    (tmp_path / "common/__pycache__").mkdir(parents=True)
    (tmp_path / "common/__pycache__/job.cpython-311.pyc").write_bytes(b"\0")
    (tmp_path / "common/job.py").write_text("")
    (tmp_path / "train.py").write_text("first")
    (tmp_path / "dangling.py").symlink_to("nowhere")
    before = machine.digests(str(tmp_path))
    # The beginning of `sha256sum /dev/null`.
    assert before["common/job.py"] == "e3b0c44298fc1c14"
    assert [*before] == ["common/job.py", "train.py"]
    (tmp_path / "train.py").write_text("second")
    after = machine.digests(str(tmp_path))
    assert [path for path in after if after[path] != before[path]] == ["train.py"]
    assert machine.digests(str(tmp_path / "nowhere")) == {}
