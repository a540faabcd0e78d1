"""provision.yml and teardown.yml on local nodes."""

import json
import socket
import subprocess
import venv

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.processes import read_process
from local_nodes import ROOT, failures

NODES = {f"node{number}": f"127.0.0.{number + 1}" for number in range(1, 5)}
# What sshd itself says of its configuration.
EFFECTIVE = {
    "passwordauthentication": "no",
    "kbdinteractiveauthentication": "no",
    "permitemptypasswords": "no",
    "permitrootlogin": "without-password",
    "authenticationmethods": "publickey",
    "allowtcpforwarding": "no",
    "x11forwarding": "no",
    "clientaliveinterval": "15",
    "maxstartups": "100:30:100",
    "kexalgorithms": "curve25519-sha256,curve25519-sha256@libssh.org",
}


def ssh(cluster, address, *options, command="true"):
    """Log in and run the command; of two contradictory options ssh uses the first."""
    known = ("-o", f"UserKnownHostsFile={cluster.state}/ssh/known_hosts")
    batch = ("-F", "none", "-p", str(cluster.port("ssh")), "-o", "BatchMode=yes")
    return subprocess.run(
        ["ssh", *options, *batch, *known, address, command],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def key(cluster):
    return ("-i", f"{cluster.state}/ssh/id_ed25519", "-o", "IdentitiesOnly=yes")


def living(pid):
    """Return what identifies a process, also where its number was given again; None if it ended."""
    process = read_process(pid)
    return (pid, process.start) if process and process.alive else None


def test_a_second_run_changes_nothing(cluster):
    again = cluster.run("provision.yml")
    assert again.rc == 0, failures(again)
    assert sum(again.stats["changed"].values()) == 0
    assert set(again.stats["ok"]) >= set(NODES)
    # Each costs the controller some 0.03 s of CPU time a node, whatever it does.
    assert again.stats["ok"]["node4"] + again.stats["skipped"]["node4"] <= 4
    # What is compiled of templates is kept for the next run.
    compiled = [path.read_bytes() for path in ROOT.glob(".state/templates/*/compiled")]
    assert any(b"scalebench_work_dir" in templates for templates in compiled)


def test_a_terminal_that_the_users_ssh_forces_stops_no_module(cluster, tmp_path):
    config = tmp_path / "config"
    config.write_text("Host *\n    RequestTTY force\n")
    known = f"-o UserKnownHostsFile={cluster.state}/ssh/known_hosts -o ControlPath=none"
    given = {"ansible_ssh_common_args": f"-F {config} {' '.join(key(cluster))} {known}"}
    subprocess.run(
        ["ansible", "node1", "-m", "ping", "-e", json.dumps({**cluster.variables, **given})],
        cwd=ROOT,
        timeout=60,
        check=True,
        capture_output=True,
    )


def test_check_mode_on_provisioned_nodes_would_change_nothing(cluster):
    checked = cluster.run("provision.yml", "--check", "--diff")
    assert checked.rc == 0, failures(checked)
    assert sum(checked.stats["changed"].values()) == 0


def test_a_pytorch_that_cannot_use_the_gpus_is_found_before_a_campaign(cluster):
    # PyTorch is the real one, of PyPI for CUDA, of other indexes for CPUs; that the node has a GPU
    # with a driver is a stand-in.
    gpu = {"gpus": [{"architecture": "ampere"}], "driver_loaded": "580.65.06"}
    hardware = {"nvswitches": [], "hcas": [], "os_family": "Debian", "os_release": 12, **gpu}
    refused = cluster.run(
        "provision.yml", "-i inventory/this_machine --tags framework",
        stack_hardware=hardware, framework_device="gpu", framework_names=["pytorch"],
    )  # fmt: skip
    assert refused.rc != 0
    told = failures(refused)
    said = (
        ", cannot use the GPUs: " if "+cu" in told else " is built without CUDA, and the node has"
    )
    assert said in told
    assert "choose the stack_name" in told


def test_check_mode_passes_without_what_pips_module_imports(cluster, tmp_path):
    venv.create(tmp_path / "bare", with_pip=False)
    checked = cluster.run(
        "provision.yml", "-i inventory/this_machine --check --tags framework",
        ansible_python_interpreter=str(tmp_path / "bare/bin/python"),
        framework_dir=str(tmp_path / "venvs"), framework_names=["pytorch"],
    )  # fmt: skip
    assert checked.rc == 0, failures(checked)
    assert checked.stats["changed"]["this_machine"] == 1


def test_check_mode_on_a_clean_machine_tells_and_changes_nothing(cluster, tmp_path):
    clean = tmp_path / "state"
    checked = cluster.run(
        "provision.yml", "--check", "--tags", "local_cluster", scalebench_state_dir=str(clean)
    )
    assert checked.rc == 0, failures(checked)
    # The first node's tasks work for all.
    assert checked.stats["changed"]["node1"] >= 3
    assert not clean.exists()


@pytest.mark.parametrize(("name", "address"), NODES.items())
def test_each_node_knows_its_name_and_address_and_logs_in_on_every_other(cluster, name, address):
    folder = cluster.state / "nodes" / name / "sshd"
    command = (
        "echo $SCALEBENCH_NODE $SSH_CONNECTION && for other in node1 node2 node3 node4;"
        f" do ssh -n -F {folder}/ssh_config $other 'echo $SCALEBENCH_NODE' || exit; done"
    )
    done = ssh(cluster, address, *key(cluster), command=command)
    assert done.returncode == 0, done.stderr
    own, *others = done.stdout.splitlines()
    assert own.split()[0] == name
    assert own.split()[-2:] == [address, str(cluster.port("ssh"))]
    assert others == list(NODES)


def test_sshd_takes_the_clusters_keys_and_nothing_else(cluster):
    folder = cluster.state / "nodes/node1/sshd"
    said = subprocess.run(
        ["/usr/sbin/sshd", "-T", "-f", folder / "sshd_config"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    effective = dict(line.split(" ", 1) for line in said.splitlines())
    assert {key: effective[key] for key in EFFECTIVE} == EFFECTIVE
    assert effective["listenaddress"] == f"127.0.0.2:{cluster.port('ssh')}"
    authorized = (folder / "authorized_keys").read_text()
    owners = [line.split()[-1] for line in authorized.splitlines() if not line.startswith("#")]
    # A controller's key names its user, machine and folder: several controllers may share a node.
    controller, *nodes = sorted(owners)
    assert controller.startswith("controller:")
    assert controller.endswith(f":{cluster.state}")
    assert nodes == list(NODES)
    assert (cluster.state / "ssh/id_ed25519.pub").read_text().strip() in authorized


def test_password_and_unknown_key_are_refused(cluster, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-f", tmp_path / "other"], check=True)
    unknown = ssh(cluster, "127.0.0.2", "-i", tmp_path / "other", "-o", "IdentitiesOnly=yes")
    assert "Permission denied (publickey)" in unknown.stderr
    password = ssh(cluster, "127.0.0.2", "-o", "PreferredAuthentications=password")
    assert "Permission denied (publickey)" in password.stderr


def test_an_unknown_host_key_is_refused(cluster, tmp_path):
    (tmp_path / "known_hosts").write_text("")
    done = ssh(
        cluster, "127.0.0.2", *key(cluster), "-o", f"UserKnownHostsFile={tmp_path}/known_hosts",
    )  # fmt: skip
    assert "Host key verification failed" in done.stderr


def test_keys_are_the_projects_and_private(cluster):
    assert (cluster.state / "ssh/id_ed25519").stat().st_mode & 0o777 == 0o600
    sshd = cluster.state / "nodes/node1/sshd"
    for folder in (cluster.state / "ssh", sshd):
        assert folder.stat().st_mode & 0o777 == 0o700
    for name in ("authorized_keys", "sshd_config"):
        assert (sshd / name).stat().st_mode & 0o777 == 0o600
    # The folder beside it is what containers get.
    apart = cluster.state / "nodes/node1/sshd_host"
    assert apart.stat().st_mode & 0o777 == 0o700
    assert (apart / "host_ed25519").stat().st_mode & 0o777 == 0o600
    assert not list((cluster.state / "nodes/node1/sshd").glob("host_*"))


def test_a_port_that_is_taken_is_told_with_its_holder(cluster, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.3", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = cluster.run(
            "provision.yml", "--tags", "local_cluster", "--limit", "node2",
            scalebench_state_dir=str(tmp_path), cluster_ssh_port=port,
        )  # fmt: skip
    assert refused.rc != 0
    assert f"port {port} on 127.0.0.3 is taken by process" in failures(refused)
    assert "-e cluster_ssh_port=" in failures(refused)


def test_a_node_that_is_not_this_machine_is_refused(cluster):
    refused = cluster.run(
        "provision.yml", "--tags", "local_cluster", "--limit", "node1", ansible_host="10.11.0.2"
    )
    assert "local_cluster starts nodes on loopback" in failures(refused)


def test_an_interpreter_without_the_framework_is_refused(cluster, tmp_path):
    python = tmp_path / "python"
    subprocess.run(["python3", "-m", "venv", "--without-pip", tmp_path / "empty"], check=True)
    python = tmp_path / "empty/bin/python"
    refused = cluster.run("provision.yml", "--tags", "framework", framework_python=str(python))
    assert "does not import torch" in failures(refused)
    assert "node1" in failures(refused)


def test_parts_of_a_cluster_shrink_nothing_and_teardown_ends_only_what_was_started(
    cluster, tmp_path
):
    own = {"scalebench_state_dir": str(tmp_path), "cluster_ssh_port": cluster.port("spare")}
    trusted = {}
    try:
        for limit in ("node1,node2", "node3", "all", "node1,node2"):
            words = ("--tags", "local_cluster", "--limit", limit)
            started = cluster.run("provision.yml", *words, **own)
            assert started.rc == 0, failures(started)
            before = trusted
            trusted = {
                path: {line for line in path.read_text().splitlines() if line[:1] != "#"}
                for path in tmp_path.rglob("*")
                if path.name in ("known_hosts", "authorized_keys", "ssh_config")
            }
            assert all(before[path] <= trusted[path] for path in before)
        assert before == trusted and sum(started.stats["changed"].values()) == 0
        assert len(trusted[tmp_path / "ssh/known_hosts"]) == 4
        files = [tmp_path / f"nodes/{name}/sshd/sshd.pid" for name in NODES]
        daemons = {living(int(file.read_text())) for file in files}
    finally:
        stopped = cluster.run("teardown.yml", **own)
    assert stopped.rc == 0, failures(stopped)
    assert None not in daemons
    assert not {living(pid) for pid, _ in daemons} & daemons
    assert ssh(cluster, "127.0.0.2", *key(cluster)).returncode == 0
    again = cluster.run("teardown.yml", **own)
    assert sum(again.stats["changed"].values()) == 0
