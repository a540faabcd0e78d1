"""What nodes without a way out of their own got through a proxy, from mirrors and from files."""

import pytest
import testinfra
from testbed_nodes import HOSTS, PREFIX

testinfra_hosts = HOSTS[:3]


@pytest.fixture(scope="module")
def requests():
    """Return what the mirror was asked for, by the address of who asked."""
    log = testinfra.get_host(HOSTS[3]).file("/var/log/mirror.log").content_string
    asked = {}
    for line in log.splitlines():
        if '"GET ' in line:
            asked.setdefault(line.split()[0], []).append(line.split('"')[1].split()[1])
    return asked


def test_packages_of_the_distribution_are_installed(host):
    for package in ("python3-packaging", "chrony", "git"):
        assert host.package(package).is_installed


def test_the_framework_is_installed_by_pip(host):
    python = "/opt/scalebench/venvs/pytorch/bin/python"
    assert host.run(f"{python} -c 'import torch, numpy, PIL'").rc == 0


def test_the_published_program_is_cloned(host):
    path = "/opt/scalebench/sources/published_program-upstream/program"
    assert host.file(f"{path}/train.py").content_string == 'print("published")\n'
    # The address of the recipe, which names the source in every report.
    assert "git.example.org/published/program" in host.file(f"{path}/.git/config").content_string


@pytest.mark.parametrize(("node", "address"), [("node1", "254"), ("node2", "3")])
def test_the_mirror_was_asked_by_the_proxy_and_by_the_node_without_one(requests, node, address):
    asked = requests[f"{PREFIX}.{address}"]
    assert any(path.startswith("/wheels/torch-") for path in asked), node
    assert any(path.startswith("/git/git.example.org/published/program/") for path in asked), node


def test_the_mirror_was_asked_by_nobody_else(requests):
    assert set(requests) == {f"{PREFIX}.254", f"{PREFIX}.3"}


def test_no_setting_of_the_way_out_stays_on_the_node(host):
    assert (
        host.check_output("cat /etc/environment; grep -ri proxy /etc/apt/apt.conf.d || true") == ""
    )
