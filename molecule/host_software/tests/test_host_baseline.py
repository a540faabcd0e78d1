"""The baseline on four nodes: one with every option, the others with the role's defaults."""

import pytest
from testbed_nodes import HOSTS, NODES

testinfra_hosts = HOSTS
# The nodes' own addresses, and those of the second network.
PEERS = {*NODES.values(), *(f"10.99.0.{name[-1]}" for name in NODES)}
RULE = 'rule family="ipv4" source address="{}" port port="{}" protocol="tcp" accept'


@pytest.fixture
def name(host):
    """Return the node's name."""
    return host.backend.get_hostname()


def only(name, *nodes):
    """Skip the nodes that a test is not about."""
    if name not in nodes:
        pytest.skip(f"about {', '.join(nodes)}")


def test_every_node_is_known_by_its_name(host):
    block = host.file("/etc/hosts").content_string.partition("# BEGIN Scalebench")[2]
    for node, address in NODES.items():
        said = host.check_output(f"getent ahostsv4 {node}")
        assert said.split()[0] == address
        # Docker's name server knows the nodes by itself.
        assert f"{address} {node}\n" not in block
    assert host.check_output("getent --service=files hosts localhost").split()[1] == "localhost"


def test_a_session_has_the_limits_that_were_given_and_larger_ones_stay(host, name):
    only(name, "node1")
    memlock, stack, files = host.check_output("ulimit -H -l; ulimit -H -s; ulimit -S -n").split()
    assert files == "8192"
    # What this machine gives its containers may be more.
    assert memlock == "unlimited" or int(memlock) >= 4096
    assert stack == "unlimited"


def test_services_get_the_same_limits(host, name):
    asked = ["DefaultLimitMEMLOCK", "DefaultLimitSTACK", "DefaultLimitNOFILE"]
    said = host.check_output("systemctl show " + " ".join(f"--property={key}" for key in asked))
    limits = dict(line.split("=") for line in said.splitlines())
    given = [str(4096 * 1024), str(16384 * 1024), "8192"]
    # systemd tells what the machine gives where that is less.
    machine = {
        line.split("  ")[0]: line.split()[-2]
        for line in host.file("/proc/1/limits").content_string.splitlines()
    }
    if name == "node1":
        assert [limits[key] for key in asked] == given
    else:
        assert limits["DefaultLimitMEMLOCK"] in ("infinity", machine["Max locked memory"])
        assert limits["DefaultLimitSTACK"] in ("infinity", machine["Max stack size"])


def test_the_defaults_raise_the_limits_of_sessions_and_of_no_service(host, name):
    only(name, "node2", "node3", "node4")
    sessions = host.file("/etc/security/limits.d/90-scalebench.conf").content_string
    lines = [line.split() for line in sessions.splitlines() if line and not line.startswith("#")]
    assert {(who, item, value) for who, _, item, value in lines} <= {
        (who, *limit)
        for who in ("*", "root")
        for limit in (("memlock", "unlimited"), ("nofile", "1048576"))
    }
    assert "nofile" in sessions
    assert not host.file("/etc/systemd/system.conf.d/90-scalebench.conf").exists


def test_kernel_parameters_hold_now_and_at_every_start(host, name):
    only(name, "node1")
    assert host.check_output("sysctl -n net.core.somaxconn") == "8190"
    assert host.check_output("sysctl -n net.ipv4.tcp_rmem").split() == ["4096", "131072", "6291457"]
    lines = host.file("/etc/sysctl.d/90-scalebench.conf").content_string.splitlines()
    assert [line for line in lines if line.startswith("-")] == [
        "-net.ipv4.neigh.default.gc_thresh1 = 4096",
        "-net.ipv4.neigh.default.gc_thresh2 = 8192",
        "-net.ipv4.neigh.default.gc_thresh3 = 16384",
        "-net.core.somaxconn = 8190",
        "-net.ipv4.tcp_rmem = 4096 131072 6291457",
        "-vm.zone_reclaim_mode = 1",
        "-vm.nr_hugepages = 8",
        "-kernel.numa_balancing = 0",
    ]


def test_options_that_nobody_asked_for_are_left_alone(host, name):
    only(name, "node4")
    parameters = host.file("/etc/sysctl.d/90-scalebench.conf").content_string
    assert "gc_thresh3 = 16384" in parameters
    for word in ("hugepages", "numa_balancing", "zone_reclaim_mode"):
        assert word not in parameters
    assert host.check_output("apt-mark showhold") == ""


def test_the_clock_has_its_sources_where_it_is_wanted(host, name):
    assert host.package("chrony").is_installed == (name != "node3")
    if name == "node1":
        sources = host.file("/etc/chrony/sources.d/scalebench.sources").content_string
        assert "server 10.0.0.1 iburst" in sources.splitlines()
        assert (
            "sourcedir /etc/chrony/sources.d" in host.file("/etc/chrony/chrony.conf").content_string
        )


def controller(host):
    """Return the address from which this machine reaches the node."""
    return host.check_output("echo $SSH_CONNECTION").split()[0]


def test_ufw_lets_the_nodes_and_nobody_else_reach_every_port(host, name):
    only(name, "node1")
    status = [line.split() for line in host.check_output("ufw status").splitlines()]
    open_to = {(line[0], line[2]) for line in status if line[1:2] == ["ALLOW"]}
    assert {who for what, who in open_to if what == "1:65535/tcp"} == PEERS
    mine = controller(host)
    assert {what for what, who in open_to if who == mine} == {"10000/tcp"}
    assert {what for what, who in open_to if who not in {*PEERS, mine}} == {"22/tcp"}


def test_firewalld_lets_the_nodes_reach_every_port(host, name):
    only(name, "node3")
    rules = {RULE.format(who, "1-65535") for who in PEERS}
    rules.add(RULE.format(controller(host), "10000"))
    for kind in ("", "--permanent"):
        assert (
            set(host.check_output(f"firewall-cmd {kind} --list-rich-rules").splitlines()) == rules
        )


def test_a_held_package_is_not_upgraded(host, name):
    only(name, "node1")
    assert host.check_output("apt-mark showhold") == "openssh-server"
