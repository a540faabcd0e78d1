"""An sshd of our own, identified by its configuration file."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from typing import List, Optional

from .processes import Process, descendants, end_processes, listener, read_process

__all__ = ["Sshd"]


class Sshd:
    """The sshd with the configuration ``config``.

    :param config: path of its configuration; ``sshd.pid`` and ``sshd.log`` are in the same folder.
    :param program: path of sshd, which must be absolute.
    """

    def __init__(self, config: str, program: str = "/usr/sbin/sshd") -> None:
        self.config = config
        self.program = program
        folder = os.path.dirname(config)
        self.pid_file = os.path.join(folder, "sshd.pid")
        self.log = os.path.join(folder, "sshd.log")
        self._started_with = os.path.join(folder, "sshd_config.sha256")

    def process(self) -> Optional[Process]:
        """Return the running daemon; None if it has ended or its pid belongs to another process.

        :raises ValueError: another account's, of which nothing is known here.
        """
        try:
            with open(self.pid_file, encoding="ascii") as file:
                process = read_process(int(file.read()))
        except PermissionError:
            raise ValueError(
                f"{self.pid_file} is of another account: run this as the one that started the node"
            ) from None
        except (OSError, ValueError):
            return None
        if process is None or not process.alive:
            return None
        # Once it runs, sshd has written its command itself.
        ours = self.config in process.command or _spelt(self.config) in process.command
        return process if ours else None

    def is_current(self) -> bool:
        """Return whether the daemon runs with the current configuration and host keys."""
        try:
            with open(self._started_with, encoding="ascii") as file:
                return file.read() == self._digest()
        except OSError:
            return False

    def start(self, address: str, port: int, patience: float = 10.0) -> None:
        """Start the daemon and wait until it listens, for at most ``patience`` seconds.

        :raises ValueError: sshd is not installed, rejects its configuration or does not listen, or
            another process uses the port.
        """
        if not os.access(self.program, os.X_OK):
            raise ValueError(f"no sshd at {self.program}: install the package openssh-server")
        taken = listener(address, port)
        if taken:
            raise ValueError(
                f"port {port} on {address} is taken by {taken}: end it, or choose another port"
                " with -e cluster_ssh_port=N"
            )
        if os.geteuid() == 0:
            # The folder is missing where no system sshd has been started yet.
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        self._run("-t", "-f", self.config)
        self._run("-f", self.config, "-E", self.log)
        end = time.monotonic() + patience
        while not (listener(address, port) and self.process()):
            if time.monotonic() > end:
                raise ValueError(
                    f"sshd does not listen on {address} port {port} after {patience:.0f} s:"
                    f" see {self.log}"
                )
            time.sleep(0.02)
        with open(self._started_with, "w", encoding="ascii") as file:
            file.write(self._digest())

    def stop(self) -> List[Process]:
        """End the daemon and its sessions; return the processes that were signalled."""
        daemon = self.process()
        if daemon is None:
            return []
        # Listed first, because sessions lose their parent when the daemon ends.
        known = [daemon, *descendants(daemon.pid)]

        def left() -> List[Process]:
            for process in list(known):
                known.extend(child for child in descendants(process.pid) if child not in known)
            now = [(process, read_process(process.pid)) for process in known]
            return [old for old, new in now if new and new.alive and new.start == old.start]

        return end_processes(left)

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(
            [self.program, *arguments], capture_output=True, text=True, check=False
        )
        if done.returncode:
            message = (done.stderr or done.stdout).strip()
            raise ValueError(f"sshd {' '.join(arguments)}: {message}")

    def _digest(self) -> str:
        """Return the hash of the files that the daemon reads at its start: configuration, keys."""
        with open(self.config, "rb") as file:
            content = file.read()
        for line in content.decode().splitlines():
            if line.startswith("HostKey "):
                with open(line.partition(" ")[2].strip('"') + ".pub", "rb") as file:
                    content += file.read()
        return hashlib.sha256(content).hexdigest()


def _spelt(path: str) -> str:
    """Return a path as setproctitle of OpenSSH writes it (vis(3): VIS_CSTYLE and VIS_OCTAL)."""
    plain = {byte: chr(byte) for byte in range(0x20, 0x7F)}
    plain.update({ord("\\"): "\\\\", ord("\t"): "\\t"})
    return "".join(plain.get(byte, f"\\{byte:03o}") for byte in os.fsencode(path))
