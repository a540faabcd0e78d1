"""Who uses the GPUs before a repeat; nvidia-smi is a stand-in here, and no driver is asked."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.device_users import device_users


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    """Return a function that puts a stand-in in front of PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def write(script):
        path = tmp_path / "nvidia-smi"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return write


def test_without_gpus_nobody_is_asked(nvidia_smi):
    assert device_users({}) == []


def test_every_process_on_the_repeats_gpus_is_told(nvidia_smi):
    nvidia_smi('[ "$1" = --id=2,3 ] && echo "4242, python" && echo "4243, /usr/bin/Xorg"')
    assert device_users({"CUDA_VISIBLE_DEVICES": "2,3"}) == ["4242, python", "4243, /usr/bin/Xorg"]


def test_gpus_that_nobody_uses_have_no_users(nvidia_smi):
    nvidia_smi("exit 0")
    assert device_users({"CUDA_VISIBLE_DEVICES": "0"}) == []


def test_a_driver_that_fails_is_told(nvidia_smi):
    nvidia_smi("echo Driver/library version mismatch; exit 18")
    with pytest.raises(ValueError, match="exit code 18: Driver/library version mismatch"):
        device_users({"CUDA_VISIBLE_DEVICES": "0"})


def test_gpus_without_nvidia_smi_are_an_error(nvidia_smi):
    with pytest.raises(ValueError, match="there is no nvidia-smi"):
        device_users({"CUDA_VISIBLE_DEVICES": "0"})
