"""GPUs sampled through a stand-in for NVML, and the processes that use them."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node import gpus
from ansible_collections.scalebench.core.plugins.module_utils.node.gpus import (
    GpuSampler,
    device_users,
    find_nvml,
    visible_gpus,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.nvml import Nvml
from stand_in_nvml import DRIVER_NOT_LOADED, StandInLibrary


def v100(**answers):
    return {
        "nvmlDeviceGetUUID": "GPU-1",
        "nvmlDeviceGetName": "Tesla V100-SXM2-16GB",
        "nvmlDeviceGetUtilizationRates": {"gpu": 97, "memory": 60},
        "nvmlDeviceGetMemoryInfo": {"used": 1536 * 2**20},
        ("nvmlDeviceGetClockInfo", 1): 1480,
        ("nvmlDeviceGetClockInfo", 2): 877,
        "nvmlDeviceGetPowerUsage": 291500,
        "nvmlDeviceGetEnforcedPowerLimit": 300000,
        ("nvmlDeviceGetTemperature", 0): 61,
        "nvmlDeviceGetCurrentClocksEventReasons": 0x44,
        ("nvmlDeviceGetTotalEccErrors", 1, 0): 0,
        "xid": [],
        **answers,
    }


def test_a_sample_has_the_units_of_its_names():
    library = StandInLibrary([v100()])
    sampler = GpuSampler(Nvml(library))
    assert sampler.sample() == {
        "gpus": [
            {
                "index": 0,
                "uuid": "GPU-1",
                "name": "Tesla V100-SXM2-16GB",
                "utilisation": 97,
                "memory_used_mib": 1536.0,
                "sm_clock_mhz": 1480,
                "memory_clock_mhz": 877,
                "power_w": 291.5,
                "power_limit_w": 300.0,
                "temperature_c": 61,
                "throttle": ["sw_power_cap", "hw_thermal_slowdown"],
                "ecc_uncorrected": 0,
                "xid": [],
            }
        ]
    }
    assert sampler.close() == ""
    assert (library.open, library.event_sets) == (0, {})


def test_only_the_gpus_of_the_repeat_are_sampled():
    sampler = GpuSampler(Nvml(StandInLibrary([v100(), v100(), v100()])), indices=[1, 2])
    assert [gpu["index"] for gpu in sampler.sample()["gpus"]] == [1, 2]


@pytest.mark.parametrize(("named", "indices"), [("2,3", [2, 3]), ("0", [0]), (None, None)])
def test_the_gpus_of_a_repeat_are_those_that_cuda_shows_it(named, indices):
    environment = {} if named is None else {"CUDA_VISIBLE_DEVICES": named}
    assert visible_gpus(environment) == indices


def test_xid_errors_are_reported_once_for_their_gpu():
    sampler = GpuSampler(Nvml(StandInLibrary([v100(), v100(xid=[63, 79])])))
    assert [gpu["xid"] for gpu in sampler.sample()["gpus"]] == [[], [63, 79]]
    assert [gpu["xid"] for gpu in sampler.sample()["gpus"]] == [[], []]


def test_what_a_gpu_does_not_support_is_absent():
    sampler = GpuSampler(Nvml(StandInLibrary([{"nvmlDeviceGetPowerUsage": 30000}])))
    assert sampler.sample() == {"gpus": [{"index": 0, "power_w": 30.0}]}


def test_an_older_driver_has_other_names():
    answers = {"nvmlDeviceGetCurrentClocksThrottleReasons": 0x1, "nvmlDeviceGetName": "Tesla K80"}
    old = StandInLibrary([answers], without=["nvmlDeviceGetCurrentClocksEventReasons"])
    gpu = GpuSampler(Nvml(old)).sample()["gpus"][0]
    assert (gpu["name"], gpu["throttle"]) == ("Tesla K80", ["gpu_idle"])


def test_a_lost_gpu_is_reported_and_the_others_are_sampled():
    sampler = GpuSampler(Nvml(StandInLibrary([v100(), None, v100()])))
    assert [gpu["index"] for gpu in sampler.sample()["gpus"]] == [0, 2]
    assert sampler.close() == "GPU 1: GPU is lost"


def test_nvml_that_does_not_start_is_a_reason():
    sampler = GpuSampler(Nvml(StandInLibrary([v100()], DRIVER_NOT_LOADED)))
    assert sampler.sample() == {}
    assert sampler.close() == "NVML: Driver Not Loaded"


def test_a_library_that_is_missing_is_a_reason(monkeypatch):
    monkeypatch.setattr(gpus.nvml, "LIBRARY", "libnvidia-none.so.1")
    nvml, reason = find_nvml()
    assert nvml is None
    assert "libnvidia-none.so" in reason
    assert GpuSampler(nvml, reason).close() == reason


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    """Return a function that puts a stand-in in front of PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gpus.nvidia_smi, "_FOLDERS", {})

    def write(script):
        path = tmp_path / "nvidia-smi"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return write


def test_without_gpus_there_are_no_users(nvidia_smi):
    assert device_users({}) == []


def test_every_process_on_the_repeats_gpus_is_returned(nvidia_smi):
    nvidia_smi('[ "$1" = --id=2,3 ] && echo "4242, python" && echo "4243, /usr/bin/Xorg"')
    assert device_users({"CUDA_VISIBLE_DEVICES": "2,3"}) == ["4242, python", "4243, /usr/bin/Xorg"]


def test_gpus_that_nobody_uses_have_no_users(nvidia_smi):
    nvidia_smi("exit 0")
    assert device_users({"CUDA_VISIBLE_DEVICES": "0"}) == []


def test_a_failing_driver_is_an_error(nvidia_smi):
    nvidia_smi("echo Driver/library version mismatch; exit 18")
    with pytest.raises(ValueError, match="exit code 18: Driver/library version mismatch"):
        device_users({"CUDA_VISIBLE_DEVICES": "0"})


def test_gpus_without_nvidia_smi_are_an_error(nvidia_smi):
    with pytest.raises(ValueError, match="GPUs 0 are requested, and nvidia-smi is missing"):
        device_users({"CUDA_VISIBLE_DEVICES": "0"})
