"""What the roles leave on four nodes: two V100 stacks, an H100 stack, and a node without GPUs."""

import pytest
from testbed_nodes import HOSTS

testinfra_hosts = HOSTS
GPUS = ("node1", "node2", "node3")
HELD = {
    "node1": {"cuda-drivers", "nvidia-persistenced", "cuda-toolkit-12-9", "libcudnn9-cuda-12"},
    "node2": {"nvidia-open", "nvidia-persistenced", "nvidia-fabricmanager", "cuda-toolkit-13-0"},
    "node3": {"cuda-toolkit-10-2", "libcudnn7"},
}
VERSIONS = {
    "node1": {
        "nvidia-driver": "580.159.04-1",
        "nvidia-kernel-dkms": "580.159.04-1",
        "libcuda1": "580.159.04-1",
        "cuda-toolkit-12-9": "12.9.1-1",
        "libcudnn9-cuda-12": "9.10.2.21-1",
        "libnccl2": "2.28.9-1+cuda12.9",
        "libnccl-dev": "2.28.9-1+cuda12.9",
    },
    "node2": {
        "nvidia-driver": "580.159.04-1",
        "nvidia-kernel-open-dkms": "580.159.04-1",
        "nvidia-fabricmanager": "580.159.04-1",
        "cuda-toolkit-13-0": "13.0.2-1",
        "libnccl2": "2.28.9-1+cuda13.0",
    },
    "node3": {"cuda-toolkit-10-2": "10.2.89-1", "libnccl2": "2.7.3-1+cuda10.2"},
}


@pytest.fixture
def name(host):
    """Return the node's name."""
    return host.backend.get_hostname()


@pytest.fixture
def gpu_node(name):
    """Return the node's name, for tests of nodes with GPUs."""
    if name not in GPUS:
        pytest.skip("this node has no GPUs")
    return name


def test_exactly_the_stacks_versions_are_installed(host, gpu_node):
    listed = host.check_output("dpkg-query -W -f '${Package} ${Version}\\n'").splitlines()
    installed = dict(line.split() for line in listed)
    assert {key: installed.get(key) for key in VERSIONS[gpu_node]} == VERSIONS[gpu_node]


def test_they_are_held_and_the_newest_is_not_the_candidate(host, gpu_node):
    held = set(host.check_output("apt-mark showhold").split())
    assert held >= HELD[gpu_node] | {"libnccl2", "libnccl-dev"}
    if gpu_node != "node3":
        policy = host.check_output("apt-cache policy nvidia-driver cuda-drivers nvidia-open")
        candidates = {line.split()[1] for line in policy.splitlines() if "Candidate:" in line}
        assert candidates == {"580.159.04-1"}
        assert "590.44.01-1" in policy


def test_an_upgrade_changes_nothing(host, gpu_node):
    upgrade = host.check_output("apt-get --simulate dist-upgrade")
    assert [line for line in upgrade.splitlines() if line.startswith(("Inst", "Remv"))] == []


def test_the_repository_is_trusted_with_its_own_key_alone(host, gpu_node):
    source = host.file("/etc/apt/sources.list.d/scalebench-nvidia.list").content_string
    keyring = "/usr/share/keyrings/scalebench-nvidia.gpg"
    address = "file:///opt/stand_ins/repository/debian12/x86_64"
    assert source == f"deb [signed-by={keyring}] {address} /\n"
    assert host.file(keyring).mode == 0o644
    assert host.run("grep -rqiE 'trusted[=:] *yes' /etc/apt").rc == 1


def test_nouveau_is_kept_away_whatever_the_driver_came_from(host, gpu_node):
    lines = host.file("/etc/modprobe.d/scalebench-nouveau.conf").content_string.splitlines()
    assert "blacklist nouveau" in lines
    assert "options nouveau modeset=0" in lines


def test_the_daemons_run_and_start_at_boot(host, gpu_node):
    daemons = ["nvidia-persistenced"] + ["nvidia-fabricmanager"] * (gpu_node == "node2")
    for daemon in daemons:
        assert host.service(daemon).is_running
        assert host.service(daemon).is_enabled


def test_the_driver_is_built_and_loaded_before_its_daemons_start(host, gpu_node):
    events = host.file("/opt/stand_ins/log").content_string.splitlines()
    steps = ["mlnxofedinstall"] * (gpu_node == "node1")
    installation = ["dkms install", "update-initramfs -u"]
    # NVIDIA's installer ends with an error beside nouveau, which the initial RAM disk loads.
    steps += installation[::-1] if gpu_node == "node3" else installation
    steps += ["modprobe nvidia", "modprobe nvidia_uvm"]
    steps += ["modprobe nvidia_peermem"] * (gpu_node == "node1")
    steps += ["nvidia-persistenced --persistence-mode"]
    steps += ["nv-fabricmanager"] * (gpu_node == "node2")
    found = [next(n for n, event in enumerate(events) if event.startswith(step)) for step in steps]
    assert found == sorted(found), events
    # Nothing was built twice, and nothing was tried before it could work.
    assert sum(event.startswith("dkms install") for event in events) == 1
    assert sum(event.startswith("nvidia-persistenced") for event in events) == 1


def test_adapters_read_gpu_memory_where_that_needs_nvidia_peermem(host, gpu_node):
    # The open modules of node2 share memory through DMA-BUF, and branch 440 (node3) is too old.
    wanted = gpu_node == "node1"
    assert host.file("/opt/stand_ins/sys/module/nvidia_peermem").exists == wanted
    at_boot = host.file("/etc/modules-load.d/scalebench-nvidia-peermem.conf")
    assert at_boot.exists == wanted
    if wanted:
        assert "nvidia-peermem" in at_boot.content_string.splitlines()


def test_the_driver_sees_all_gpus_in_the_stacks_version_and_keeps_them_initialised(host, gpu_node):
    query = "nvidia-smi --query-gpu=driver_version,persistence_mode --format=csv,noheader"
    version = "440.33.01" if gpu_node == "node3" else "580.159.04"
    assert host.check_output(query).splitlines() == [f"{version}, Enabled"] * 8


def test_nccl_tests_are_built_for_the_gpus_that_are_there_with_all_cores(host, name):
    if name != "node2":
        pytest.skip("about node2")
    build = "/opt/nccl-tests/nccl-tests-2.18.3/build"
    assert host.file(f"{build}/all_reduce.o").content_string == "architectures: 90\n"
    assert host.file(f"{build}/jobs").content_string == f"-j{host.check_output('nproc')}\n"


def test_the_compiler_and_nccl_are_the_stacks(host, gpu_node):
    release = {"node1": "12.9", "node2": "13.0", "node3": "10.2"}[gpu_node]
    assert f"release {release}," in host.check_output("/usr/local/cuda/bin/nvcc --version")
    code = {"node3": "2703"}.get(gpu_node, "22809")
    ask = (
        "import ctypes; v = ctypes.c_int();"
        " ctypes.CDLL('libnccl.so.2').ncclGetVersion(ctypes.byref(v)); print(v.value)"
    )
    assert host.check_output("python3 -c %s", ask).strip() == code


def test_a_node_without_gpus_is_left_alone(host, name):
    if name in GPUS:
        pytest.skip("this node has GPUs")
    for path in (
        "/etc/modprobe.d/scalebench-nouveau.conf",
        "/usr/share/keyrings/scalebench-nvidia.gpg",
    ):
        assert not host.file(path).exists
    assert host.run("dpkg -l | grep -qE 'nvidia|cuda|nccl'").rc == 1
