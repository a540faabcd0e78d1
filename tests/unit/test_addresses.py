"""By which addresses the nodes reach each other; nothing is dialled."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from inventories import said, written

from lookup_plugins import node_address

ROOT = Path(__file__).resolve().parents[2]


def test_a_node_without_an_address_stops_no_other(tmp_path):
    hosts = {"node1": {"ansible_host": "192.0.2.1"}, "node2": {"ansible_host": "2001:db8::2"}}
    inventory = written(tmp_path, hosts)
    template = ROOT / "roles/cluster_ssh/templates/ssh_config_hosts.j2"
    shown = ["host_baseline_hosts", f"lookup('ansible.builtin.template', '{template}')"]
    roles = ["host_baseline", "cluster_ssh"]
    told = said(tmp_path, inventory, "--limit", "node1", roles=roles, shown=shown)
    assert told["node1"][shown[0]] == {"node1": "192.0.2.1"}
    assert told["node1"][shown[1]] == "Host node1\n    HostName 192.0.2.1\n"
    with pytest.raises(AssertionError, match="Set scalebench_address of node2"):
        said(tmp_path, inventory, "--limit", "node2", roles=roles, shown=shown)


def test_a_part_of_the_nodes_knows_the_whole_group(tmp_path):
    hosts = {
        "node1": {"ansible_host": "192.0.2.1"},
        "node2": {"ansible_host": "198.51.100.7", "scalebench_address": "10.0.0.2"},
        # Its name alone, as an address: a test must not ask a name server.
        "192.0.2.3": None,
    }
    shown = ("host_baseline_hosts", "host_baseline_port_sources", "cluster_ssh_members",
             "cluster_ssh_listen_address", "campaign_address")  # fmt: skip
    told = said(
        tmp_path, written(tmp_path, hosts), "--limit", "node1:node2",
        roles=["host_baseline", "cluster_ssh", "campaign"], shown=shown,
    )  # fmt: skip
    assert set(told) == {"node1", "node2"}
    addresses = {"node1": "192.0.2.1", "node2": "10.0.0.2", "192.0.2.3": "192.0.2.3"}
    for name, values in told.items():
        assert values["host_baseline_hosts"] == addresses
        assert set(values["host_baseline_port_sources"]) == {*addresses.values()}
        assert set(values["cluster_ssh_members"]) == {*hosts}
        assert values["cluster_ssh_listen_address"] == addresses[name]
        assert values["campaign_address"] == addresses[name]


@pytest.fixture
def address_of(monkeypatch):
    """Return the function of the lookup, with name servers that know three names."""
    known = {"gpu01": "10.0.0.1", "gpu02": "127.0.1.1", "localhost": "127.0.0.1"}

    def resolve(name, port, family, kind):
        if name not in known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        assert family == socket.AF_INET
        return [(family, kind, 6, "", (known[name], 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return node_address.address_of


@pytest.mark.parametrize(
    ("hostvars", "address"),
    [
        ({}, "10.0.0.1"),
        ({"ansible_host": "192.0.2.9"}, "192.0.2.9"),
        ({"ansible_host": "gpu.example", "scalebench_address": "10.0.0.7"}, "10.0.0.7"),
        ({"ansible_host": "localhost"}, "127.0.0.1"),
    ],
)
def test_nodes_reach_each_other_by_addresses(address_of, hostvars, address):
    assert address_of("gpu01", hostvars) == address


def test_nodes_that_are_all_this_machine_need_no_address(address_of):
    assert address_of("unknown", {}, alone=True) == "127.0.0.1"


@pytest.mark.parametrize(
    ("connections", "address"), [(("local", "local"), "127.0.0.1"), (("local", "ssh"), "")]
)
def test_one_node_of_this_machine_among_others_needs_an_address(
    address_of, monkeypatch, connections, address
):
    hostvars = {
        name: {"ansible_connection": connection}
        for name, connection in zip(("unknown", "gpu01"), connections, strict=True)
    }
    variables = {
        "hostvars": hostvars, "groups": {"nodes": [*hostvars]}, "inventory_hostname": "gpu01"
    }  # fmt: skip
    looked_up = node_address.LookupModule()
    monkeypatch.setattr(looked_up, "set_options", lambda **_options: None)
    monkeypatch.setattr(looked_up, "get_option", {"lenient": True}.get)
    assert looked_up.run(["unknown", "gpu01"], variables) == [address, "10.0.0.1"]
    variables["inventory_hostname"] = "unknown"
    if not address:
        with pytest.raises(Exception, match="Set scalebench_address of unknown"):
            looked_up.run(["unknown"], variables)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("2001:db8::1", "an IPv6 address"),
        ("gpu02", "gpu02 has 127.0.1.1, is an address of this machine"),
        ("gpu03", "no address"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused_with_the_remedy(address_of, name, reason):
    with pytest.raises(Exception, match=f"{reason}.*Set scalebench_address of {name}"):
        address_of(name, {})


def test_an_ipv6_address_is_refused_with_the_remedy():
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible", "localhost", "-c", "local",
         "-e", f"ansible_python_interpreter={sys.executable}",
         "-m", "listener_info", "-a", "address=::1 port=10000"],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert "::1 is no IPv4 address: set scalebench_address" in done.stdout, done.stdout
