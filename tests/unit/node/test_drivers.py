"""PCI devices, the driver and NCCL of a node, on folders that look like those of a node."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.drivers import (
    cuda_state,
    driver,
    gpu_direct,
    pci_devices,
    version_code,
)

V100 = {"vendor": "0x10de", "device": "0x1db1", "class": "0x030200"}
HCA = {"vendor": "0x15b3", "device": "0x1017", "class": "0x020700"}


def sysfs(folder, devices):
    """Write devices as sysfs shows them."""
    for slot, files in devices.items():
        path = folder / "bus/pci/devices" / slot
        path.mkdir(parents=True)
        for name, text in files.items():
            if name == "driver":
                target = folder / "bus/pci/drivers" / text
                target.mkdir(parents=True, exist_ok=True)
                os.symlink(target, path / "driver")
            else:
                (path / name).write_text(text + "\n")
    return str(folder)


def test_devices_of_a_vendor_come_in_the_order_of_the_bus(tmp_path):
    root = sysfs(
        tmp_path,
        {
            "0000:b1:00.0": V100,
            "0000:3b:00.0": {**V100, "driver": "nvidia"},
            "0000:5e:00.0": {**HCA, "driver": "mlx5_core"},
        },
    )
    assert pci_devices("10DE", root) == [
        {
            "slot": "0000:3b:00.0",
            "vendor": "10de",
            "device": "1db1",
            "device_class": "030200",
            "driver": "nvidia",
        },
        {
            "slot": "0000:b1:00.0",
            "vendor": "10de",
            "device": "1db1",
            "device_class": "030200",
            "driver": None,
        },
    ]
    assert [device["driver"] for device in pci_devices(sysfs=root)] == ["nvidia", "mlx5_core", None]


# First lines of /proc/driver/nvidia/version, of open and of proprietary modules.
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025\n"


@pytest.mark.parametrize(
    ("modules", "version", "kernel", "means"),
    [
        (["nvidia", "nvidia_peermem"], CLOSED, "6.1.0-40-amd64", "nvidia_peermem"),
        (["nvidia", "nv_peer_mem"], CLOSED, "5.4.0-216-generic", "nv_peer_mem"),
        (["nvidia"], OPEN, "6.1.0-40-amd64", "DMA-BUF"),
        (["nvidia"], OPEN, "5.12.0", "DMA-BUF"),
        # Debian 11 and Ubuntu 20.04: too old for DMA-BUF.
        (["nvidia"], OPEN, "5.10.0-36-amd64", ""),
        (["nvidia"], OPEN, "5.4.0-216-generic", ""),
        (["nvidia"], CLOSED, "6.1.0-40-amd64", ""),
        ([], "", "6.1.0-40-amd64", ""),
    ],
)
def test_adapters_read_gpu_memory_by_a_module_or_by_the_open_driver(
    tmp_path, modules, version, kernel, means
):
    for module in modules:
        (tmp_path / "module" / module).mkdir(parents=True)
    (tmp_path / "driver/nvidia").mkdir(parents=True)
    (tmp_path / "driver/nvidia/version").write_text(version)
    (tmp_path / "sys/kernel").mkdir(parents=True)
    (tmp_path / "sys/kernel/osrelease").write_text(f"{kernel}\n")
    assert gpu_direct(str(tmp_path), str(tmp_path)) == means
    assert gpu_direct("/nonesuch", "/nonesuch") == ""


def test_a_node_without_a_pci_bus_has_no_devices(tmp_path):
    assert pci_devices("10de", str(tmp_path)) == []


@pytest.fixture
def node(tmp_path):
    """Return a function that looks at the folders, after it put files there."""

    def look(libraries=(), loaded=None, nouveau=False):
        folder, sysfs = tmp_path / "lib", tmp_path / "sys"
        folder.mkdir(exist_ok=True)
        for name in libraries:
            (folder / name).touch()
        if loaded:
            (sysfs / "module/nvidia").mkdir(parents=True)
            (sysfs / "module/nvidia/version").write_text(f"{loaded}\n")
        if nouveau:
            (sysfs / "module/nouveau").mkdir(parents=True)
        folders = [str(tmp_path / "none"), str(folder)]
        return driver(str(sysfs), folders, str(tmp_path / "nvidia-uninstall"))

    return look


def test_a_node_without_a_driver_has_none(node):
    nothing = {"driver_installed": None, "driver_loaded": None, "nouveau_loaded": False}
    assert node() == {**nothing, "driver_runfile": False}


def test_the_uninstaller_tells_a_driver_of_a_run_file(node, tmp_path):
    (tmp_path / "nvidia-uninstall").symlink_to("nvidia-installer")
    assert node(["libnvidia-ml.so.580.159.04"])["driver_runfile"] is True


def test_installed_and_loaded_version_are_separate(node):
    found = node(["libnvidia-ml.so.1", "libnvidia-ml.so.580.159.04"], loaded="570.133.20")
    assert found["driver_installed"] == "580.159.04"
    assert found["driver_loaded"] == "570.133.20"


def test_a_link_alone_does_not_count_as_a_driver(node):
    assert node(["libnvidia-ml.so.1"])["driver_installed"] is None


def test_the_library_of_debians_own_package_is_found_through_its_links(node, tmp_path):
    """libnvidia-ml1 of non-free: the links are those of update-alternatives."""
    folder, alternatives = tmp_path / "lib/nvidia/current", tmp_path / "alternatives"
    folder.mkdir(parents=True)
    alternatives.mkdir()
    (folder / "libnvidia-ml.so.535.247.01").touch()
    (folder / "libnvidia-ml.so.1").symlink_to("libnvidia-ml.so.535.247.01")
    (alternatives / "nvidia--libnvidia-ml.so.1").symlink_to(folder / "libnvidia-ml.so.1")
    (tmp_path / "lib/libnvidia-ml.so.1").symlink_to(alternatives / "nvidia--libnvidia-ml.so.1")
    assert node()["driver_installed"] == "535.247.01"


def test_a_link_to_a_library_that_is_gone_is_no_driver(node, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libnvidia-ml.so.1").symlink_to("libnvidia-ml.so.535.247.01")
    assert node()["driver_installed"] is None


def test_nouveau_is_reported(node):
    assert node(nouveau=True)["nouveau_loaded"] is True


CC = shutil.which("cc")
CUDA = Path(__file__).resolve().parents[3] / "molecule/shared/stand_ins/libcuda.c"


@pytest.fixture
def library(tmp_path):
    """Return a function that compiles a library and gives its path."""
    if CC is None:
        pytest.skip("no C compiler here")

    def compiled(source):
        path = tmp_path / "library.so"
        command = [CC, "-shared", "-fPIC", "-nostdlib", "-x", "c", "-", "-o", str(path)]
        subprocess.run(command, input=source, text=True, check=True)
        return str(path)

    return compiled


def test_the_version_is_that_of_the_library(library):
    path = library("int ncclGetVersion(int *version) { *version = 22203; return 0; }")
    assert version_code(path) == 22203


def test_a_call_that_fails_is_an_error(library):
    with pytest.raises(ValueError, match="failed with ncclResult_t 3"):
        version_code(library("int ncclGetVersion(int *version) { return 3; }"))


def test_another_library_is_not_nccl(library):
    with pytest.raises(ValueError, match="it is not NCCL"):
        version_code(library("int other(void) { return 0; }"))


def test_a_missing_library_is_named():
    with pytest.raises(OSError, match=r"libnothing\.so\.9"):
        version_code("libnothing.so.9")


@pytest.fixture
def node_with_cuda(tmp_path, monkeypatch):
    """Return the folder of the stand-in for libcuda, which takes the place of the real one."""
    if CC is None:
        pytest.skip("no C compiler here")
    (tmp_path / "lib").mkdir()
    where = [f'-DFOLDER="{tmp_path}/"', str(CUDA), "-o", str(tmp_path / "lib/libcuda.so.1")]
    subprocess.run([CC, "-shared", "-fPIC", *where], check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "lib"))
    return tmp_path


def test_cuda_is_initialised_and_asked_for_all_gpus(node_with_cuda, monkeypatch):
    (node_with_cuda / "cuda").write_text("0 4\n")
    assert cuda_state() == {"code": 0, "devices": 4, "error": ""}
    # As in a shell of somebody who hid the GPUs from other programs.
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert cuda_state() == {"code": 0, "devices": 4, "error": ""}


def test_the_code_of_cuinit_is_returned(node_with_cuda):
    assert cuda_state()["code"] == 100
    (node_with_cuda / "cuda").write_text("802 0\n")
    assert cuda_state() == {"code": 802, "devices": 0, "error": ""}
