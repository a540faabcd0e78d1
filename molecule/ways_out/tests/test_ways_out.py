"""What nodes without a way out of their own got through a proxy, from mirrors and from files."""

import json
import re

import pytest
import testinfra
from testbed_nodes import HOSTS, PREFIX, STATE

testinfra_hosts = HOSTS
MIRROR = (f"{PREFIX}.5", 8000)
PROXY = (f"{PREFIX}.254", 3128)
OPEN = {"node1": [PROXY], "node2": [MIRROR], "node3": []}
CONNECT = "import socket; socket.create_connection(({!r}, {}), timeout=5)"


@pytest.fixture(scope="module")
def of_mirror():
    """Return what the mirror was asked for, by the address of who asked."""
    log = testinfra.get_host(HOSTS[3]).file("/var/log/mirror.log").content_string
    asked = {}
    for client, path in re.findall(r'(?m)^(\S+) .*"GET (\S+)', log):
        asked.setdefault(client, []).append(path)
    return asked


@pytest.fixture(scope="module")
def of_debian():
    """Return the hosts from which node1 takes the packages of the distribution."""
    sources = testinfra.get_host(HOSTS[0]).file("/etc/apt/sources.list").content_string
    hosts = set(re.findall(r"(?m)^deb\b.*? https?://([^/ ]+)", sources))
    assert hosts
    return hosts


@pytest.fixture(scope="module")
def of_proxy():
    """Return the hosts that the proxy was asked for, by the address of who asked."""
    clients, asked = {}, {}
    line = r"(Connect|Request) \(file descriptor (\d+)\): (?:\w+ (?:http://)?([^/ ]+)|(\S+)$)"
    log = (STATE / "tinyproxy.log").read_text()
    for kind, descriptor, host, client in re.findall(line, log, re.MULTILINE):
        if kind == "Connect":
            clients[descriptor] = client
        else:
            asked.setdefault(clients[descriptor], set()).add(host)
    return asked


def test_packages_of_the_distribution_are_installed(host):
    for package in ("python3-packaging", "chrony", "git"):
        assert host.package(package).is_installed


def test_the_framework_is_installed_by_pip(host):
    python = "/opt/scalebench/venvs/pytorch/bin/python"
    assert host.run(f"{python} -c 'import torch, numpy, PIL; torch.ones(2).sum()'").rc == 0


def test_the_published_program_is_cloned(host):
    path = "/opt/scalebench/sources/published_program-upstream/program"
    assert host.file(f"{path}/resnet50/train_pytorch.py").exists
    # The address of the recipe, which names the source in every report.
    assert "git.example.org/published/program" in host.file(f"{path}/.git/config").content_string


@pytest.mark.parametrize(("name", "address"), [("node1", "254"), ("node2", "3")])
def test_the_mirror_was_asked_by_the_proxy_and_by_the_node_without_one(of_mirror, name, address):
    asked = of_mirror[f"{PREFIX}.{address}"]
    assert any(path.startswith("/simple/torch/torch-") for path in asked), name
    assert any(path.startswith("/git/git.example.org/published/program/") for path in asked), name


def test_the_mirror_was_asked_by_nobody_else(of_mirror):
    assert set(of_mirror) == {f"{PREFIX}.254", f"{PREFIX}.3"}


def test_the_proxy_was_asked_by_its_node_alone_for_debian_and_the_mirror(of_proxy, of_debian):
    # What node4 fetched for the site's folder, before its ways were closed.
    assert of_proxy.pop(f"{PREFIX}.5") == of_debian
    assert of_proxy == {f"{PREFIX}.2": {*of_debian, "{}:{}".format(*MIRROR)}}


def test_a_node_has_its_way_out_and_no_other(host):
    name = host.backend.hostname
    # node4 is the mirror's own.
    doors = [PROXY] if name == "node4" else [PROXY, MIRROR]
    for address, port in doors:
        tried = host.run(f'python3 -c "{CONNECT.format(address, port)}"')
        if (address, port) in OPEN.get(name, ()):
            assert tried.rc == 0
        else:
            assert "Network is unreachable" in tried.stderr


def test_without_it_no_name_and_no_network_is_known(host, of_debian):
    for name in of_debian:
        named = host.run(f'python3 -c "{CONNECT.format(name, 80)}"')
        assert "gaierror" in named.stderr
    outside = host.run(f'python3 -c "{CONNECT.format("192.0.2.1", 80)}"')
    assert "Network is unreachable" in outside.stderr


def test_no_setting_of_the_way_out_stays_on_the_node(host):
    settings = "/etc/environment /etc/pip.conf /etc/gitconfig /root/.gitconfig /root/.config/pip"
    assert host.run(f"grep -rEi 'proxy|{PREFIX}' {settings} /etc/apt/apt.conf.d").stdout == ""


@pytest.mark.parametrize(
    ("campaign", "nodes"),
    [("proxy_and_mirrors", ["node1", "node2"]), ("files", ["node3", "node4"])],
)
def test_what_came_trains(campaign, nodes):
    found = json.loads((STATE / f"ways_out/results/{campaign}/results.json").read_text())
    assert (found["counts"]["planned"], found["counts"]["ok"]) == (4, 4)
    assert {(cell["benchmark"], cell["topology"]) for cell in found["cells"]} == {
        (benchmark, topology)
        for benchmark in ("pytorch", "published_program")
        for topology in ("1n1g", "2n1g")
    }
    assert sorted(found["provenance"]["nodes"]) == nodes
