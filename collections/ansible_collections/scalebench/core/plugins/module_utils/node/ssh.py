"""ssh key pairs of this node, and logins from it on other nodes."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Dict, List, Optional, Sequence, Set

from .durable import replace, sync
from .programs import run_program

__all__ = ["SshKeys", "authorised", "unreachable"]

# Nodes that are asked at the same time.
_AT_ONCE = 4
# How long sshd may take to offer its keys.
_SCAN_SECONDS = 5
# How long a program of OpenSSH may take.
_SECONDS = 30.0
_NO_CLIENT = ": install the package openssh-client"


class SshKeys:
    """Key pairs in folders that only their owner may read.

    :param folder: absolute path; created if missing. A pair's name may be a path outside of it.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def missing(self, names: List[str]) -> List[str]:
        """Return the names that do not have both halves of a pair."""
        return [
            name
            for name in names
            if not all(os.path.exists(path) for path in (self._path(name), self.public_path(name)))
        ]

    def public_path(self, name: str) -> str:
        """Return the path of a public key."""
        return self._path(name) + ".pub"

    def public(self, name: str) -> str:
        """Return a public key as one line; empty if it does not exist."""
        try:
            with open(self.public_path(name), encoding="utf-8") as file:
                return file.read().strip()
        except FileNotFoundError:
            return ""

    def make_private(self, names: Sequence[str], only_verify: bool = False) -> bool:
        """Create the folders of the pairs with mode 0700; return whether one was not so."""
        changed = False
        for folder in sorted({self.folder, *(os.path.dirname(self._path(name)) for name in names)}):
            try:
                opened = os.stat(folder).st_mode & 0o777 != 0o700
            except FileNotFoundError:
                opened = True
            if opened and not only_verify:
                os.makedirs(folder, exist_ok=True)
                os.chmod(folder, 0o700)
            changed = changed or opened
        return changed

    def remove_misplaced(self, names: Sequence[str], only_verify: bool = False) -> bool:
        """Remove from the folder the pairs of any kind of those that belong outside of it.

        :return: whether there was one.
        """
        outside = {name for name in names if os.path.dirname(self._path(name)) != self.folder}
        stems = {os.path.basename(name).rpartition("_")[0] for name in outside}
        found = [
            path
            for stem in stems
            for path in glob.glob(os.path.join(glob.escape(self.folder), f"{stem}_*"))
        ]
        for path in [] if only_verify else found:
            os.remove(path)
        return bool(found)

    def make(self, name: str, kind: str, comment: str) -> None:
        """Create a pair, in place of an existing one.

        It is created beside the old pair and renamed, so that a full disk leaves the old one.

        :param kind: ``ed25519``, or ``rsa`` (3072 bits or more is what NIST SP 800-57 asks for
            beyond 2030; 4096 here).
        :raises ValueError: ssh-keygen is missing or fails.
        """
        part = self._path(name) + ".part"
        for path in (part, part + ".pub"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)
        bits = ["-b", "4096"] if kind == "rsa" else []
        command = ["ssh-keygen", "-q", "-t", kind, *bits, "-N", "", "-C", comment, "-f", part]
        done = run_program(command, 10 * _SECONDS, _NO_CLIENT)
        if done.returncode:
            raise ValueError(f"ssh-keygen for {self._path(name)}: {done.stderr.strip()}")
        # Killed between two renames, this leaves a pair without a public key, which is missing, and
        # not halves of two pairs, which would pass for one.
        for path in (part, part + ".pub"):
            sync(path)
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.public_path(name))
            sync(os.path.dirname(part))
        replace(part, self._path(name))
        replace(part + ".pub", self.public_path(name))

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)


def unreachable(
    config: str, nodes: Sequence[str], own: str, patience: float = _SECONDS
) -> Dict[str, str]:
    """Return by node why ssh does not get in from here; empty if it does everywhere.

    A full login to the node that follows this one in the list proves this node's own key. At the
    others only the host key is compared: all nodes are given the same authorized_keys, and N * N
    logins at once overload a large cluster. Every node goes through the list from its own place on,
    a few nodes at a time, so that no node is asked by many at the same time.

    :param config: path of ssh's configuration (``ssh -F``), which has the nodes by name.
    :param nodes: all nodes of the cluster, in the same order on each.
    :param own: the name of this node.
    :param patience: seconds that a login may take.
    :raises ValueError: ssh is not installed.
    """
    start = nodes.index(own) + 1 if own in nodes else 0
    ring = [*nodes[start:], *nodes[:start]]
    known = set(_lines_of_host_keys(config, ring[0])) if ring else set()
    # Without -t, ssh-keyscan connects once for each kind of key that it knows.
    kinds = ",".join(sorted({word[len("ssh-") :] for line in known for word in line.split()[1:2]}))
    first = {ring[0]: _login(config, ring[0], patience)} if ring else {}
    unseen: List[str] = []
    for at in range(1, len(ring), _AT_ONCE):
        some = ring[at : at + _AT_ONCE]
        offered = _scan(config, some, kinds)
        unseen += [name for name in some if not known & offered[name]]
    # ssh itself finds the words for what is wrong, and waits for a node that is only slow.
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        again = dict(zip(unseen, pool.map(lambda name: _login(config, name, patience), unseen)))
    return {name: why for name, why in {**first, **again}.items() if why}


def authorised(config: str) -> Optional[str]:
    """Return the SHA-256 of the authorized_keys beside a configuration; None without one."""
    try:
        with open(os.path.join(os.path.dirname(config), "authorized_keys"), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return None


def _login(config: str, node: str, patience: float) -> str:
    """Return why a login fails, empty if it succeeds."""
    advice = ": it is overloaded, or a firewall drops packets"
    try:
        done = run_program(["ssh", "-F", config, node, "true"], patience, advice)
    except ValueError as error:
        return str(error)
    lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return "" if done.returncode == 0 else lines[-1]


def _settings(config: str, node: str) -> Dict[str, str]:
    """Return what ssh takes from its configuration for a node, by keyword in small letters."""
    done = run_program(["ssh", "-G", "-F", config, node], _SECONDS, _NO_CLIENT)
    words = [line.partition(" ") for line in done.stdout.splitlines()]
    return {keyword: value for keyword, _, value in words}


def _lines_of_host_keys(config: str, node: str) -> List[str]:
    path = _settings(config, node).get("userknownhostsfile", "").strip('"')
    try:
        with open(path, encoding="utf-8") as file:
            return [line.strip() for line in file if not line.startswith("#")]
    except OSError:
        return []


def _scan(config: str, nodes: Sequence[str], kinds: str) -> Dict[str, Set[str]]:
    """Return by node the lines of known_hosts that its sshd would have now.

    :param kinds: of host keys, as ``ssh-keyscan -t`` names them.
    """
    offered: Dict[str, Set[str]] = {name: set() for name in nodes}
    settings = {name: _settings(config, name) for name in nodes}
    # A configuration that cannot be read gives no settings; the login tells why.
    settings = {name: each for name, each in settings.items() if each}
    for port in {each["port"] for each in settings.values()}:
        hosts = {each["hostname"]: name for name, each in settings.items() if each["port"] == port}
        command = ["ssh-keyscan", "-p", port, "-t", kinds, "-T", str(_SCAN_SECONDS), *hosts]
        try:
            lines = run_program(command, _SECONDS).stdout.splitlines()
        except ValueError:
            continue
        for line in lines:
            host = re.sub(r"^\[(.*)\]:\d+$", r"\1", line.split(" ")[0])
            if host in hosts:
                offered[hosts[host]].add(line.strip())
    return offered
