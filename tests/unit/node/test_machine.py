"""The input of the fingerprint: files, tools, and stand-ins for nvidia-smi."""

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


def test_a_driver_that_does_not_know_a_setting_still_lists_its_gpus(tool):
    tool(
        "nvidia-smi",
        'case "$1" in *ecc*) echo \'Field "ecc" is not a valid field to query.\'; exit 2;; esac\n'
        "echo 0, Tesla V100, 16160, 440.33.01, GPU-1",
    )
    facts = fingerprint(machine.texts())
    assert facts["gpus"][0]["name"] == "Tesla V100"
    assert facts["gpu_settings"] == [{"index": 0}]


def test_a_machine_whose_gpus_are_gone_has_none_and_a_broken_driver_is_an_error(tool):
    tool("nvidia-smi", "echo No devices were found; exit 6")
    assert machine.texts()["gpus"] == ""
    tool("nvidia-smi", "echo Driver/library version mismatch; exit 18")
    with pytest.raises(ValueError, match="exit code 18: Driver/library version mismatch"):
        machine.texts()


def test_the_error_of_a_lost_gpu_is_returned_without_the_gpus_before_it(tool):
    tool("nvidia-smi", "echo 0, Tesla V100; echo GPU is lost.; exit 15")
    with pytest.raises(ValueError, match=r"^nvidia-smi: exit code 15: GPU is lost\.$"):
        machine.texts()
