"""The ways by ssh between nodes, over real sshd processes on loopback addresses."""

import getpass
import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node import ssh

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
NAMES = [f"node{number}" for number in range(1, 7)]


def address(name):
    return f"127.0.0.{40 + NAMES.index(name)}"


@pytest.fixture
def cluster(tmp_path):
    """Return the folder of six nodes: an sshd of each runs on one port, with one user key."""
    if SSHD is None or not shutil.which("ssh-keyscan"):
        pytest.skip("no sshd or ssh-keyscan here")
    if os.geteuid() == 0:
        # sshd asks for it; the system's own service would have made it.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with socket.create_server(("127.0.0.40", 0)) as free:
        port = free.getsockname()[1]
    ssh.SshKeys(str(tmp_path)).make("user", "ed25519", "user")
    (tmp_path / "authorized_keys").write_text((tmp_path / "user.pub").read_text())
    known, hosts, servers = [], [], []
    for name in NAMES:
        ssh.SshKeys(str(tmp_path)).make(f"host_{name}", "ed25519", name)
        kind, key, *_ = (tmp_path / f"host_{name}.pub").read_text().split()
        known.append(f"[{address(name)}]:{port} {kind} {key}")
        hosts.append(f"Host {name}\n    HostName {address(name)}\n")
        (tmp_path / f"{name}.conf").write_text(
            f"Port {port}\nListenAddress {address(name)}\nHostKey {tmp_path}/host_{name}\n"
            f"PidFile none\nAuthorizedKeysFile {tmp_path}/authorized_keys\nStrictModes no\n"
            "UsePAM no\nLogLevel VERBOSE\n"
        )
    (tmp_path / "known_hosts").write_text("\n".join(known) + "\n")
    (tmp_path / "ssh_config").write_text(
        "".join(hosts) + f"Host *\n    User {getpass.getuser()}\n    Port {port}\n"
        f"    IdentityFile {tmp_path}/user\n    IdentitiesOnly yes\n    BatchMode yes\n"
        f"    StrictHostKeyChecking yes\n    UserKnownHostsFile {tmp_path}/known_hosts\n"
        "    GlobalKnownHostsFile none\n    ConnectTimeout 30\n"
    )

    def start(name):
        log = (tmp_path / f"{name}.log").open("ab")
        config = str(tmp_path / f"{name}.conf")
        server = subprocess.Popen([SSHD, "-D", "-e", "-f", config], stderr=log)
        servers.append(server)
        end = time.monotonic() + 30
        while server.poll() is None and time.monotonic() < end:
            with socket.socket() as there:
                if there.connect_ex((address(name), port)) == 0:
                    return server
            time.sleep(0.02)
        pytest.skip(f"sshd does not start here: {(tmp_path / f'{name}.log').read_text()}")

    try:
        running = {name: start(name) for name in NAMES}
        yield tmp_path, running, port
    finally:
        for server in servers:
            server.kill()
            server.wait()


def test_one_login_and_a_look_at_the_host_key_of_the_others(cluster):
    folder, _, _ = cluster
    assert ssh.unreachable(str(folder / "ssh_config"), NAMES, "node2") == {}
    logins = {
        name: len(re.findall("Accepted publickey", (folder / f"{name}.log").read_text()))
        for name in NAMES
    }
    assert logins == {**dict.fromkeys(NAMES, 0), "node3": 1}


def test_each_way_that_is_closed_has_the_words_of_ssh(cluster):
    folder, running, _ = cluster
    running["node1"].kill()
    running["node1"].wait()
    known = (folder / "known_hosts").read_text().splitlines()
    known[3] = re.sub("AAAA.*", known[4].split(" ")[2], known[3])
    (folder / "known_hosts").write_text("\n".join(known) + "\n")
    lost = ssh.unreachable(str(folder / "ssh_config"), NAMES, "node2")
    assert sorted(lost) == ["node1", "node4"]
    assert "Connection refused" in lost["node1"]
    assert "Host key verification failed" in lost["node4"]


def test_a_key_that_is_not_authorised_is_told_by_the_next_node(cluster):
    folder, _, _ = cluster
    (folder / "authorized_keys").write_text("")
    lost = ssh.unreachable(str(folder / "ssh_config"), NAMES, "node6")
    assert list(lost) == ["node1"]
    assert "Permission denied" in lost["node1"]


def test_a_node_that_is_silent_is_told_from_one_that_refuses(cluster, monkeypatch):
    folder, running, port = cluster
    running["node5"].kill()
    running["node5"].wait()
    monkeypatch.setattr(ssh, "_SCAN_SECONDS", 1)
    login = ssh._login

    def log_in(config, node, patience):
        # The others answer, however busy this machine is.
        return login(config, node, patience if node == "node5" else 60)

    monkeypatch.setattr(ssh, "_login", log_in)
    with socket.create_server((address("node5"), port)):
        lost = ssh.unreachable(str(folder / "ssh_config"), NAMES, "node1", patience=2)
    assert list(lost) == ["node5"]
    assert "no answer within 2 s: it is overloaded" in lost["node5"]


def test_every_node_begins_with_its_own_neighbour(monkeypatch, tmp_path):
    """In each round a node is asked by as many nodes as are asked at the same time, and no more."""
    rounds = {}
    monkeypatch.setattr(ssh, "_login", lambda config, node, patience: "")
    monkeypatch.setattr(ssh, "_lines_of_host_keys", lambda config, node: ["a ssh-ed25519 K"])
    for own in [f"n{number}" for number in range(64)]:
        asked = []

        def scan(config, nodes, kinds, asked=asked):
            assert kinds == "ed25519"
            asked.append(list(nodes))
            return {name: {"a ssh-ed25519 K"} for name in nodes}

        monkeypatch.setattr(ssh, "_scan", scan)
        ssh.unreachable("config", [f"n{number}" for number in range(64)], own)
        for number, some in enumerate(asked):
            rounds.setdefault(number, []).extend(some)
        assert sum(map(len, asked)) == 63
    for some in rounds.values():
        assert max(some.count(name) for name in set(some)) <= 4


def test_a_cluster_of_one_asks_itself(monkeypatch):
    monkeypatch.setattr(ssh, "_lines_of_host_keys", lambda config, node: [])
    monkeypatch.setattr(ssh, "_login", lambda config, node, patience: node)
    assert ssh.unreachable("config", ["a"], "a") == {"a": "a"}
    assert ssh.unreachable("config", [], "a") == {}


def test_nodes_that_authorise_other_keys_differ(tmp_path):
    assert ssh.authorised(str(tmp_path / "ssh_config")) is None
    (tmp_path / "authorized_keys").write_text("a\n")
    first = ssh.authorised(str(tmp_path / "ssh_config"))
    (tmp_path / "authorized_keys").write_text("b\n")
    assert first and first != ssh.authorised(str(tmp_path / "ssh_config"))


@pytest.mark.parametrize("at", [1, 2])
def test_a_renewal_that_is_killed_is_no_pair(tmp_path, monkeypatch, at):
    keys, replace = ssh.SshKeys(str(tmp_path)), ssh.replace
    keys.make("id_ed25519", "ed25519", "before")
    renames = []

    def be_killed(part, path):
        renames.append(path)
        if len(renames) == at:
            raise KeyboardInterrupt
        replace(part, path)

    monkeypatch.setattr(ssh, "replace", be_killed)
    with pytest.raises(KeyboardInterrupt):
        keys.make("id_ed25519", "ed25519", "renewed")
    assert keys.missing(["id_ed25519"])
    keys.make("id_ed25519", "ed25519", "again")
    said = subprocess.run(
        ["ssh-keygen", "-y", "-f", tmp_path / "id_ed25519"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == keys.public("id_ed25519").split()
    assert {path.name for path in tmp_path.iterdir()} == {"id_ed25519", "id_ed25519.pub"}


def test_pairs_outside_of_the_folder_are_private_too(tmp_path):
    keys, names = (
        ssh.SshKeys(str(tmp_path / "clients")),
        ["id_ed25519", f"{tmp_path}/host/host_ed25519"],
    )
    assert keys.make_private(names, only_verify=True) and not (tmp_path / "clients").exists()
    assert keys.make_private(names)
    assert not keys.make_private(names)
    for folder in ("clients", "host"):
        assert (tmp_path / folder).stat().st_mode & 0o777 == 0o700
    (tmp_path / "host").chmod(0o755)
    assert keys.make_private(names)
    assert (tmp_path / "host").stat().st_mode & 0o777 == 0o700


def test_a_configuration_that_cannot_be_read_is_told_by_ssh_itself(tmp_path):
    if not shutil.which("ssh-keyscan"):
        pytest.skip("no ssh-keyscan here")
    found = ssh.unreachable(str(tmp_path / "none"), ["node1", "node2"], "node1")
    assert found and all("none" in reason and "No such file" in reason for reason in found.values())
