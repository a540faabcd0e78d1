"""The daemon of a folder is known by its command, as sshd itself writes it."""

import os
import shutil
import signal
import socket
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.ssh import SshKeys
from ansible_collections.scalebench.core.plugins.module_utils.node.sshd import Sshd

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")


@pytest.mark.parametrize(
    "name", ["plain", "with space", "Téléchargements", "back\\slash", "tab\there"]
)
def test_the_daemon_of_any_folder_is_known(tmp_path, name):
    if SSHD is None:
        pytest.skip("no sshd here")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    folder = tmp_path / name
    folder.mkdir()
    SshKeys(str(tmp_path)).make("host", "ed25519", "host")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nUsePAM no\n"
        f'PidFile "{tmp_path}/sshd.pid"\n'
    )
    (folder / "sshd.pid").symlink_to(tmp_path / "sshd.pid")
    sshd = Sshd(str(folder / "sshd_config"), SSHD)
    sshd.start("127.0.0.1", port)
    process = sshd.process()
    try:
        assert process is not None and sshd.is_current()
    finally:
        os.kill(int((tmp_path / "sshd.pid").read_text()), signal.SIGTERM)


def test_a_daemon_of_another_account_is_not_taken_for_none(tmp_path):
    folder = tmp_path / "sshd"
    folder.mkdir()
    (folder / "sshd.pid").write_text(f"{os.getpid()}\n")
    folder.chmod(0)
    account = os.geteuid()
    try:
        if account == 0:
            os.seteuid(65534)
        with pytest.raises(ValueError, match="is of another account: run this as the one"):
            Sshd(str(folder / "sshd_config")).process()
    finally:
        os.seteuid(account)
        folder.chmod(0o700)
