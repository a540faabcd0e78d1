"""What provision.yml makes of this machine, seen through the nodes' own sshd's."""

from pathlib import Path

import pytest

# Through Ansible, because the inventory's variables are templates.
testinfra_hosts = ["ansible://nodes?force_ansible=True"]
STATE = Path(__file__).resolve().parents[3] / ".state/molecule"

SETTINGS = {
    "port": "10044",
    "passwordauthentication": "no",
    "kbdinteractiveauthentication": "no",
    "permitemptypasswords": "no",
    "permitrootlogin": "without-password",
    "authenticationmethods": "publickey",
    "allowtcpforwarding": "no",
    "x11forwarding": "no",
    "clientaliveinterval": "15",
    "maxstartups": "100:30:100",
}


@pytest.fixture
def name(host):
    """Return the node's name."""
    return host.backend.host


@pytest.fixture
def folder(name):
    """Return the folder of the node's sshd."""
    return STATE / "nodes" / name / "sshd"


def test_the_node_knows_its_name_and_is_reached_at_its_own_address(host, name):
    node, _, _, address, port = host.check_output("echo $SCALEBENCH_NODE $SSH_CONNECTION").split()
    assert node == name
    assert (address, port) == (f"127.0.0.{int(name[-1]) + 1}", "10044")


def test_sshd_takes_the_clusters_key_and_nothing_else(host, name, folder):
    said = host.check_output("/usr/sbin/sshd -T -f %s", f"{folder}/sshd_config").splitlines()
    effective = dict(line.split(" ", 1) for line in said)
    assert {key: effective[key] for key in SETTINGS} == SETTINGS
    assert effective["listenaddress"] == f"127.0.0.{int(name[-1]) + 1}:10044"
    authorized = host.file(f"{folder}/authorized_keys").content_string
    owners = [line.split()[-1] for line in authorized.splitlines() if not line.startswith("#")]
    # A controller's key names its user, machine and folder: several controllers may share a node.
    controller, *nodes = sorted(owners)
    assert controller.startswith("controller:")
    assert controller.endswith(f":{STATE}")
    assert nodes == ["node1", "node2", "node3", "node4"]
    assert (STATE / "ssh/id_ed25519.pub").read_text().strip() in authorized


def test_every_node_logs_in_on_every_other(host, folder):
    said = host.check_output(
        "for other in node1 node2 node3 node4; do"
        " ssh -n -F %s $other 'echo $SCALEBENCH_NODE' || exit; done",
        f"{folder}/ssh_config",
    )
    assert said.split() == ["node1", "node2", "node3", "node4"]


def test_keys_and_configuration_are_private(host, folder):
    names = ("", "../sshd_host/host_ed25519", "authorized_keys", "sshd_config")
    modes = host.check_output("stat -c %%a %s %s %s %s", *(f"{folder}/{name}" for name in names))
    assert modes.split() == ["700", "600", "600", "600"]


def test_the_trainers_are_there_and_the_framework_loads(host, folder):
    trainer = host.file(f"{folder.parent}/workloads/resnet50/train_pytorch.py")
    assert trainer.contains("ResNet-50")
    python = STATE.parent / "venvs/pytorch/bin/python"
    assert host.check_output(
        "%s -c 'import torch; print(torch.__version__)'", str(python)
    ).startswith("2.13.0")
