"""Docker, Podman, and what lets containers have GPUs."""

import json

import pytest
from testbed_nodes import HOSTS

testinfra_hosts = HOSTS
PARTS = (
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container-tools",
    "libnvidia-container1",
)


@pytest.fixture
def name(host):
    """Return the node's name."""
    return host.backend.get_hostname()


@pytest.fixture
def docker_node(name):
    """Return the node's name, for tests of nodes with Docker."""
    if name not in ("node1", "node2"):
        pytest.skip("this node has no Docker")
    return name


def test_docker_runs_and_starts_at_boot_with_the_settings(host, docker_node):
    assert host.service("docker").is_running and host.service("docker").is_enabled
    settings = json.loads(host.file("/etc/docker/daemon.json").content_string)
    assert settings["default-ulimits"]["memlock"] == {"Name": "memlock", "Hard": -1, "Soft": -1}
    assert settings["log-opts"] == {"max-size": "100m", "max-file": "3"}
    assert ("features" in settings) == (docker_node == "node2")
    # What was restarted reads them: the daemon that runs is younger than the file.
    began = int(host.check_output("stat -c %Y /proc/$(cat /run/docker.pid)"))
    assert began >= int(host.check_output("stat -c %Y /etc/docker/daemon.json"))


def test_what_was_in_dockers_settings_before_stays(host, name):
    if name != "node1":
        pytest.skip("about node1")
    settings = json.loads(host.file("/etc/docker/daemon.json").content_string)
    assert settings["max-concurrent-downloads"] == 2


def test_only_the_named_account_may_use_docker(host, docker_node):
    members = host.check_output("getent group docker").split(":")[3]
    assert members == ("trainer" if docker_node == "node1" else "")


def test_podman_listens_where_it_was_asked_for(host, name):
    if name != "node3":
        pytest.skip("about node3")
    assert host.service("podman.socket").is_running and host.service("podman.socket").is_enabled
    assert not host.package("docker.io").is_installed


def test_the_toolkit_is_held_in_its_version_with_all_its_parts(host, name):
    held = host.check_output("apt-mark showhold").split()
    for part in PARTS:
        assert host.package(part).is_installed == (name == "node2")
        if name == "node2":
            assert host.package(part).version == "1.18.2-1" and part in held


def test_containers_get_gpus_by_cdi_where_there_are_some(host, name):
    described = host.file("/etc/cdi/nvidia.yaml")
    assert described.exists == (name == "node2")
    if name == "node2":
        assert "kind: nvidia.com/gpu" in described.content_string
        assert "libcuda.so.580.159.04\n" in described.content_string
        settings = json.loads(host.file("/etc/docker/daemon.json").content_string)
        assert settings["features"] == {"cdi": True}
