"""The input of the fingerprint: files and tools."""

import os
from pathlib import Path

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


CPU = "/sys/fs/cgroup/cpu"


@pytest.mark.parametrize(
    ("groups", "files", "count"),
    [
        ("0::/\n", {}, 64),
        ("0::/\n", {"/sys/fs/cgroup/cpu.max": "400000 100000\n"}, 4),
        ("0::/a.slice/b.scope\n", {"/sys/fs/cgroup/a.slice/cpu.max": "250000 100000\n"}, 2),
        (
            "0::/a/b\n",
            {
                "/sys/fs/cgroup/a/cpu.max": "max 100000\n",
                "/sys/fs/cgroup/a/b/cpu.max": "50000 100000\n",
                "/sys/fs/cgroup/c/cpu.max": "1 100000\n",
            },
            1,
        ),
        ("0::/\n", {"/sys/fs/cgroup/cpu.max": "9900000 100000\n"}, 64),
        # A container of version 1, whose path is that of its host.
        (
            "3:cpuacct,cpu:/docker/4f\n1:cpuset:/x\n0::/y\n",
            {f"{CPU}/cpu.cfs_quota_us": "400000\n", f"{CPU}/cpu.cfs_period_us": "100000\n"},
            4,
        ),
        # One whose runtime made no link cpu; the order is that of the mount, or that of /proc.
        *(
            (
                "3:cpuacct,cpu:/docker/4f\n2:cpuset:/x\n",
                {
                    f"/sys/fs/cgroup/{folder}/cpu.cfs_quota_us": "400000\n",
                    f"/sys/fs/cgroup/{folder}/cpu.cfs_period_us": "100000\n",
                    "/sys/fs/cgroup/cpuset/cpu.cfs_quota_us": "1\n",
                },
                4,
            )
            for folder in ("cpu,cpuacct", "cpuacct,cpu")
        ),
        (
            "3:cpu:/batch/job\n",
            {
                f"{CPU}/cpu.cfs_quota_us": "-1\n",
                f"{CPU}/cpu.cfs_period_us": "100000\n",
                f"{CPU}/batch/cpu.cfs_quota_us": "800000\n",
                f"{CPU}/batch/cpu.cfs_period_us": "100000\n",
            },
            8,
        ),
    ],
)
def test_cores_are_those_that_affinity_and_quotas_leave(
    tmp_path, monkeypatch, groups, files, count
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(64)))
    for path, text in {"/proc/self/cgroup": groups, **files}.items():
        file = Path(f"{tmp_path}{path}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert machine.cores(str(tmp_path)) == count
    assert (machine.cpu_quota(str(tmp_path)) is None) is (count == 64)


def test_a_quota_is_told_by_its_cgroup(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(64)))
    pod = tmp_path / "sys/fs/cgroup/pod"
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/pod/a\n")
    for folder, quota in ((pod, 4), (pod / "a", 4), (pod / "b", 2)):
        folder.mkdir(parents=True)
        (folder / "cpu.max").write_text(f"{quota}00000 100000\n")
    # Of the same size the outer one, which the other container shares.
    shared = {"cgroup": pod.stat().st_ino, "allowed": 64}
    assert machine.cpu_quota(str(tmp_path)) == shared
    (tmp_path / "proc/self/cgroup").write_text("0::/pod/b\n")
    own = {"cgroup": (pod / "b").stat().st_ino, "allowed": 64}
    assert machine.cpu_quota(str(tmp_path)) == own
