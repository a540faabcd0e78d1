"""The state of a system, from what programs really print."""

from ansible_collections.scalebench.core.plugins.module_utils.node import system_state

# Of Debian 12 (systemd 252, dpkg 1.21, procps 4.0), cut.
PRINTED = {
    "systemctl": """\
UNIT                     LOAD   ACTIVE SUB     DESCRIPTION
chrony.service           loaded active running chrony, an NTP client/server
apt-daily.timer          loaded active waiting Daily apt download activities
run-u77.service          loaded active running /usr/bin/python3 train.py
user@1001.service        loaded active running User Manager for UID 1001

LOAD   = Reflects whether the unit definition was properly loaded.
ACTIVE = The high-level unit activation state, i.e. generalization of SUB.
23 loaded units listed.
""",
    "dpkg-query": "ii \tadduser\t3.134\nrc \tgone\t1.0\nhi \tlibc6:amd64\t2.36-9\n",
    "firewall-cmd": 'rule family="ipv4" source address="10.0.0.1" accept\n',
    "firewall-cmd --get-zones": "docker public\n",
    "apt-mark": "openssh-server\n",
    "sysctl": "vm.swappiness = 60\nnet.ipv4.tcp_rmem = 4096\t131072\t6291456\n",
}
UNIT_FILES = """\
UNIT FILE                STATE     PRESET
chrony.service           enabled   enabled
user@.service            static    -
run-u77.service          transient -
apt-daily.timer          enabled   enabled

4 unit files listed.
"""


def test_what_programs_print_is_read(monkeypatch, tmp_path):
    printed = {name: text.splitlines() for name, text in PRINTED.items()}
    printed["systemctl list-unit-files"] = UNIT_FILES.splitlines()
    monkeypatch.setattr(
        system_state,
        "_lines",
        lambda *command: printed.get(" ".join(command[:2])) or printed.get(command[0], []),
    )
    state = system_state.read_state([str(tmp_path)])
    assert state["services"] == {"chrony.service": True, "apt-daily.timer": True}
    assert state["packages"] == {"adduser": "3.134", "libc6:amd64": "2.36-9"}
    rule = 'rule family="ipv4" source address="10.0.0.1" accept'
    assert state["rules"] == {f"docker {rule}": True, f"public {rule}": True}
    assert state["holds"] == {"openssh-server": True}
    assert state["kernel"]["net.ipv4.tcp_rmem"] == "4096\t131072\t6291456"


def test_what_programs_keep_themselves_is_no_file_of_configuration(tmp_path):
    for name in ("hosts", ".git/objects/12", ".git/HEAD"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert list(system_state.read_state([str(tmp_path)])["files"]) == [str(tmp_path / "hosts")]


def test_a_folder_gets_its_permissions_back(tmp_path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys").chmod(0o700)
    state = system_state.file_state(str(tmp_path / "keys"))
    (tmp_path / "keys").rmdir()
    system_state.make_file(str(tmp_path / "keys"), state, "")
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700


def test_a_copy_is_whole_or_missing_and_private(tmp_path, monkeypatch):
    (tmp_path / "small").write_text("secret")
    (tmp_path / "small").chmod(0o600)
    (tmp_path / "large").write_text("x" * 100)
    monkeypatch.setattr(system_state, "_LARGEST", 50)
    files = {str(path): system_state.file_state(str(path)) for path in tmp_path.iterdir()}
    copies = f"{tmp_path}/copies"
    system_state.copy_files(files, copies)
    good = {path: system_state.is_copy(copies + path, state) for path, state in files.items()}
    assert good == {str(tmp_path / "small"): True, str(tmp_path / "large"): False}
    (tmp_path / "small").write_text("other")
    small = str(tmp_path / "small")
    monkeypatch.setattr(system_state.os, "chmod", lambda *given: None)
    system_state.make_file(small, files[small], copies + small)
    assert (tmp_path / "small").read_text() == "secret"
    # Before its permissions are set nobody else can read it.
    assert (tmp_path / "small").stat().st_mode & 0o777 == 0o600


def test_a_file_elsewhere_that_a_link_makes_the_sites_settings_counts(tmp_path):
    for name in ("etc", "srv"):
        (tmp_path / name).mkdir()
    (tmp_path / "srv/daemon.json").write_text("{}")
    (tmp_path / "etc/daemon.json").symlink_to("../srv/daemon.json")
    links = [str(tmp_path / "etc/daemon.json"), str(tmp_path / "etc/hosts")]
    files = system_state.read_state([str(tmp_path / "etc")], links)["files"]
    assert {*files} == {links[0], str(tmp_path / "srv/daemon.json")}
    assert files[links[0]] == {"target": "../srv/daemon.json"}
