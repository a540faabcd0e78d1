"""The state of a system, from what programs really print."""

from ansible_collections.scalebench.core.plugins.module_utils.node import system_state

# Of Debian 12 (systemd 252, dpkg 1.21, procps 4.0), cut.
PRINTED = {
    "systemctl": """\
UNIT                     LOAD   ACTIVE SUB     DESCRIPTION
chrony.service           loaded active running chrony, an NTP client/server
apt-daily.timer          loaded active waiting Daily apt download activities

LOAD   = Reflects whether the unit definition was properly loaded.
ACTIVE = The high-level unit activation state, i.e. generalization of SUB.
23 loaded units listed.
""",
    "dpkg-query": "ii \tadduser\t3.134\nrc \tgone\t1.0\nhi \tlibc6:amd64\t2.36-9\n",
    "apt-mark": "openssh-server\n",
    "sysctl": "vm.swappiness = 60\nnet.ipv4.tcp_rmem = 4096\t131072\t6291456\n",
}


def test_what_programs_print_is_read(monkeypatch, tmp_path):
    printed = {name: text.splitlines() for name, text in PRINTED.items()}
    monkeypatch.setattr(system_state, "_lines", lambda *command: printed.get(command[0], []))
    state = system_state.read_state([str(tmp_path)])
    assert state["services"] == {"chrony.service": True, "apt-daily.timer": True}
    assert state["packages"] == {"adduser": "3.134", "libc6:amd64": "2.36-9"}
    assert state["holds"] == {"openssh-server": True}
    assert state["kernel"]["net.ipv4.tcp_rmem"] == "4096\t131072\t6291456"
