"""InfiniBand from the distribution, from MLNX_OFED, from DOCA-OFED, and on a node that has none."""

import pytest
from testbed_nodes import HOSTS

testinfra_hosts = HOSTS
TOOLS = ("rdma-core", "ibverbs-providers", "ibverbs-utils", "infiniband-diags", "perftest")


@pytest.fixture
def name(host):
    """Return the node's name."""
    return host.backend.get_hostname()


def test_the_distributions_tools_are_there_and_run(host, name):
    if name != "node1":
        pytest.skip("about node1")
    assert all(host.package(tool).is_installed for tool in TOOLS)
    # Without the kernel's module there is no list of devices at all.
    said = host.check_output("ibv_devinfo --list 2>&1 || true")
    assert "0 HCAs found" in said or "Failed to get IB devices list" in said
    assert host.exists("ibstat") and host.exists("ib_write_bw")


def test_mlnx_ofed_is_installed_by_its_own_installer(host, name):
    if name != "node2":
        pytest.skip("about node2")
    assert host.check_output("ofed_info -s") == "MLNX_OFED_LINUX-24.10-4.1.4.0:"
    given = host.file("/var/log/stand_in_mlnxofedinstall").content_string.split()
    assert given == ["--distro", "debian12.5", "-q", "--without-fw-update"]
    assert not host.file("/var/cache/scalebench/ofed").exists


def test_openibd_was_restarted_where_that_is_allowed(host, name):
    if name not in ("node2", "node3"):
        pytest.skip("about MLNX_OFED and DOCA-OFED")
    assert host.service("openibd").is_running
    build = host.file("/opt/stand_ins/sys/module/ib_core/srcversion").content_string
    assert build == {"node2": "24.10-4.1.4.0\n", "node3": "doca-2.9.5-0.1.8\n"}[name]


def test_doca_ofed_is_held_at_its_version_and_trusted_by_its_key_alone(host, name):
    if name != "node3":
        pytest.skip("about node3")
    assert host.package("doca-ofed").version == "2.9.5-0.1.8"
    assert "doca-ofed" in host.check_output("apt-mark showhold").split()
    source = host.file("/etc/apt/sources.list.d/scalebench-doca.list").content_string
    assert source.startswith(
        "deb [signed-by=/etc/apt/keyrings/scalebench-doca.asc] file:///opt/stand_ins/"
    )
    assert "trusted=" not in source


def test_a_node_without_an_adapter_is_left_alone(host, name):
    if name != "node4":
        pytest.skip("about node4")
    assert not host.exists("ofed_info")
    assert not any(host.package(tool).is_installed for tool in ("rdma-core", "doca-ofed"))
