"""The cluster's sshd on real nodes: who gets in, from where, and by which means."""

import subprocess
import sys
from pathlib import Path

import pytest
from testbed_nodes import HOSTS, NODES, STATE

testinfra_hosts = HOSTS
FOLDER = "/opt/scalebench/sshd"

SETTINGS = {
    "port": "10000",
    "authenticationmethods": "publickey",
    "passwordauthentication": "no",
    "kbdinteractiveauthentication": "no",
    "permitemptypasswords": "no",
    "permitrootlogin": "without-password",
    "allowusers": "root",
    "strictmodes": "yes",
    "usepam": "yes",
    "allowtcpforwarding": "no",
    "x11forwarding": "no",
    "clientaliveinterval": "15",
    "maxstartups": "100:30:100",
}


@pytest.fixture
def name(host):
    """Return the node's name."""
    return host.backend.hostname


def dial(address, *options):
    """Log in from this machine; of two contrary options the first counts."""
    known = ("-o", f"UserKnownHostsFile={STATE}/ssh/known_hosts", "-o", "StrictHostKeyChecking=yes")
    command = ["ssh", "-F", "none", *options, *known, "-p", "10000", f"root@{address}", "true"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_sshd_runs_below_systemd_now_and_after_a_boot(host):
    unit = host.service("scalebench-sshd")
    assert unit.is_running and unit.is_enabled


def test_it_listens_on_the_nodes_own_address_alone(host, name):
    said = host.check_output("ss --no-header --listening --tcp --numeric sport = :10000")
    assert [line.split()[3] for line in said.splitlines()] == [f"{NODES[name]}:10000"]


def test_sshd_takes_keys_of_the_cluster_and_nothing_else(host):
    said = host.check_output(f"/usr/sbin/sshd -T -f {FOLDER}/sshd_config -C user=root").splitlines()
    effective = dict(line.split(" ", 1) for line in said)
    assert {key: effective[key] for key in SETTINGS} == SETTINGS
    lines = host.file(f"{FOLDER}/authorized_keys").content_string.splitlines()
    owners = [line.split()[-1] for line in lines if not line.startswith("#")]
    assert owners.sort() is None and owners[1:] == [*NODES]
    assert owners[0].startswith("controller:")


def test_keys_and_configuration_are_private(host):
    files = ("", "id_ed25519", "authorized_keys", "known_hosts", "sshd_config")
    modes = host.check_output("stat -c %a " + " ".join(f"{FOLDER}/{name}" for name in files))
    assert modes.split() == ["700"] + ["600"] * 4
    # Apart from what containers get.
    assert "host_" not in host.check_output(f"ls {FOLDER}").replace("known_hosts", "")
    modes = host.check_output(f"stat -c %a {FOLDER}_host {FOLDER}_host/host_ed25519")
    assert modes.split() == ["700", "600"]
    assert (STATE / "ssh/id_ed25519").stat().st_mode & 0o777 == 0o600


def test_every_node_logs_in_on_every_node(host):
    for other in NODES:
        command = f"ssh -F {FOLDER}/ssh_config {other} 'hostname; echo $SCALEBENCH_NODE'"
        assert host.check_output(command).split() == [other, other]


def test_a_node_that_is_not_known_is_not_dialled(host):
    # The system's sshd answers on the same address with a key that the cluster did not make.
    said = host.check_output(f"ssh -F {FOLDER}/ssh_config -p 22 node1 true 2>&1 || echo refused")
    assert "Host key verification failed" in said and said.endswith("refused")


def test_locked_memory_and_open_files_are_as_many_as_the_machine_gives(host):
    capped = host.check_output("grep -E 'locked memory|open files' /proc/1/limits").splitlines()
    command = f"ssh -F {FOLDER}/ssh_config node1 'ulimit -H -l; ulimit -H -n'"
    memory, files = host.check_output(command).split()
    hard = [line.split()[4] for line in capped]
    assert files == hard[0] or int(files) >= 1048576
    assert memory == "unlimited" or int(memory) * 1024 == int(hard[1])


@pytest.mark.parametrize("address", NODES.values())
def test_the_controller_gets_in_and_knows_the_node(address):
    assert dial(address, "-i", STATE / "ssh/id_ed25519", "-o", "IdentitiesOnly=yes").returncode == 0


def test_a_password_is_refused():
    refused = dial(NODES["node1"], "-o", "PreferredAuthentications=password,keyboard-interactive")
    assert "Permission denied (publickey)" in refused.stderr


def test_an_unknown_key_is_refused(tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-f", tmp_path / "other"], check=True)
    refused = dial(NODES["node1"], "-i", tmp_path / "other", "-o", "IdentitiesOnly=yes")
    assert "Permission denied (publickey)" in refused.stderr


def test_the_testbeds_own_key_is_refused():
    refused = dial(NODES["node1"], "-i", STATE / "id_ed25519", "-o", "IdentitiesOnly=yes")
    assert "Permission denied (publickey)" in refused.stderr


def test_an_unknown_host_key_is_refused(tmp_path):
    (tmp_path / "none").write_text("")
    refused = dial(NODES["node1"], "-o", f"UserKnownHostsFile={tmp_path}/none")
    assert "Host key verification failed" in refused.stderr


def test_ssh_audit_finds_nothing_to_warn_of():
    audit = Path(sys.executable).with_name("ssh-audit")
    command = [audit, "--port=10000", "--level=warn", "--no-colors", NODES["node1"]]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert [line for line in said.stdout.splitlines() if "[warn]" in line or "[fail]" in line] == []
    assert said.returncode == 0, said.stdout + said.stderr


def test_mpirun_adds_up_across_all_nodes(host, name):
    ranks = "--map-by node -np 8 --oversubscribe --host " + ",".join(f"{node}:2" for node in NODES)
    # Two ranks of a node copy through memory; the other way needs ptrace across containers.
    transport = "--mca btl_tcp_if_include eth0 --mca btl_vader_single_copy_mechanism none"
    agent = f"--mca plm_rsh_args '-F {FOLDER}/ssh_config'"
    command = f"mpirun --allow-run-as-root {ranks} {transport} {agent} /shared/all_reduce"
    said = sorted(host.check_output(command).splitlines())
    # The ranks of the node where mpirun runs are the first.
    others = [node for node in NODES if node != name]
    assert said == [
        f"rank {rank} of 8 on {[name, *others][rank % 4]}: 0 wrong" for rank in range(8)
    ]
