"""What of a server's system provisioning may change: files of configuration, packages, services."""

from __future__ import annotations

import contextlib
import grp
import hashlib
import io
import os
import re
import shutil
import stat
import subprocess
from typing import (
    Any,
    BinaryIO,
    Container,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    cast,
)

from .durable import create, make_folder, replace

__all__ = [
    "FOLDERS",
    "copy_files",
    "file_state",
    "is_copy",
    "make_file",
    "read_state",
    "remove_blocks",
    "without_blocks",
]

# Below these a change of any file is seen.
FOLDERS = ("/etc", "/usr/share/keyrings", "/usr/local/bin", "/usr/local/sbin")
# Provisioning merges its settings into these, and where one is a link, into the file it points to.
_MERGED = ("/etc/hosts", "/etc/docker/daemon.json")
# Rewritten by programs on their own, or accounts, which packages make and Debian never removes.
_NOT_FILES = {
    f"/etc/{name}{end}"
    for name in ("passwd", "shadow", "group", "gshadow", "subuid", "subgid")
    for end in ("", "-", ".lock")
} | {"/etc/ld.so.cache", "/etc/mtab", "/etc/.pwd.lock", "/etc/resolv.conf", "/etc/machine-id"}
# Stores that programs keep themselves: an older state of a part would break the whole.
_STORES = {".git", ".hg", ".bzr", ".svn", "_darcs"}
_NOT_FOLDERS = {"/etc/lvm/archive", "/etc/lvm/backup"}
_LARGEST = 4 << 20

FileState = Dict[str, Any]  # mode, uid, gid and one of target, sha256, folder
State = Dict[str, Dict[str, Any]]


def read_state(folders: Sequence[str] = FOLDERS, merged: Sequence[str] = _MERGED) -> State:
    """Return packages, holds, services, kernel parameters, groups, rules of firewalls and files.

    :param merged: links to files, which count too, wherever they are.
    """
    units = dict.fromkeys(_units(), True)
    linked = {os.path.realpath(path) for path in merged if os.path.islink(path)}
    targets = {path: file_state(path) for path in linked if os.path.isfile(path)}
    return {
        "files": {**targets, **dict(_files(folders))},
        "packages": dict(_packages()),
        "holds": dict.fromkeys(_lines("apt-mark", "showhold"), True),
        "services": dict.fromkeys(_services(units), True),
        "units": units,
        "kernel": dict(_kernel_parameters()),
        "rules": dict.fromkeys(_rules(), True),
        "groups": {one.gr_name: sorted(one.gr_mem) for one in grp.getgrall()},
    }


_ACTIVE = ("systemctl", "list-units", "--type=service,timer,socket", "--state=active")
_PLAIN = ("--no-pager", "--plain")


_UNITS = ("systemctl", "list-unit-files", "--type=service,timer,socket")


def _units() -> Iterator[str]:
    """Yield the units that have a file; not transient ones, which end for good."""
    for line in _lines(*_UNITS, *_PLAIN):
        name, _, rest = line.partition(" ")
        if name.endswith(_ENDS) and not rest.lstrip().startswith(("transient", "generated")):
            yield name


def _services(units: Container[str]) -> Iterator[str]:
    """Yield the active units that have a file; those of sessions, user@1000.service, have not."""
    for line in _lines(*_ACTIVE, *_PLAIN):
        name = line.partition(" ")[0]
        # Neither the heading nor the legend, "23 loaded units listed", is among them.
        if name in units:
            yield name


_ENDS = (".service", ".timer", ".socket")
_DPKG = ("dpkg-query", "-W", "-f", "${db:Status-Abbrev}\t${binary:Package}\t${Version}\n")
_RPM = ("rpm", "-qa", "--qf", "ii \t%{NAME}.%{ARCH}\t%{VERSION}-%{RELEASE}\n")


def _lines(*command: str) -> List[str]:
    """Return what a program prints; nothing where it is not there or fails."""
    if shutil.which(command[0]) is None:
        return []
    done = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    return done.stdout.splitlines() if done.returncode == 0 else []


def _packages() -> Iterator[Tuple[str, str]]:
    for line in _lines(*_DPKG) or _lines(*_RPM):
        status, name, version = line.split("\t")
        if status[1:2] == "i":
            yield name, version


def _kernel_parameters() -> Iterator[Tuple[str, str]]:
    for line in _lines("sysctl", "-a"):
        key, mark, value = line.partition(" = ")
        if mark:
            yield key, value


def _rules() -> Iterator[str]:
    """Yield the rules of the firewalls.

    Of firewalld the rich ones in force, after their zone: ``public rule family="ipv4" …``; of ufw
    the commands that added them: ``ufw allow from …``.
    """
    for zone in " ".join(_lines("firewall-cmd", "--get-zones")).split():
        for rule in _lines("firewall-cmd", f"--zone={zone}", "--list-rich-rules"):
            yield f"{zone} {rule}"
    for line in _lines("ufw", "show", "added"):
        if line.startswith("ufw "):
            yield line


def _files(folders: Sequence[str]) -> Iterator[Tuple[str, FileState]]:
    for path in (path for top in folders for path in _paths(top)):
        state = file_state(path)
        if state is not None:
            yield path, state


def _paths(top: str) -> Iterator[str]:
    """Yield all that counts below a folder."""
    for folder, names, files in os.walk(top):
        # In place: os.walk goes into those that are left.
        names[:] = [
            name
            for name in names
            if name not in _STORES and os.path.join(folder, name) not in _NOT_FOLDERS
        ]
        paths = (os.path.join(folder, name) for name in (*names, *files))
        yield from (path for path in paths if path not in _NOT_FILES)


def file_state(path: str) -> Optional[FileState]:
    """Return what a file is now; None if it is missing, or no file, folder or link."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return {"target": os.readlink(path)}
        owner = {"mode": status.st_mode & 0o7777, "uid": status.st_uid, "gid": status.st_gid}
        if stat.S_ISDIR(status.st_mode):
            return {**owner, "folder": True}
        if stat.S_ISREG(status.st_mode):
            with open(path, "rb") as file:
                return {**owner, "sha256": hashlib.sha256(file.read()).hexdigest()}
    except FileNotFoundError:
        pass
    return None


def copy_files(files: Mapping[str, FileState], destination: str) -> None:
    """Copy regular files up to 4 MiB below a folder that only root may read, each whole or not."""
    make_folder(destination, 0o700)
    for path, state in files.items():
        copy = destination + path
        if "sha256" in state and not os.path.exists(copy):
            try:
                with open(path, "rb") as file:
                    data = file.read(_LARGEST + 1)
            except FileNotFoundError:
                continue
            if len(data) <= _LARGEST:
                os.makedirs(os.path.dirname(copy), mode=0o700, exist_ok=True)
                part = copy + ".part"
                with _private(part) as file:
                    file.write(data)
                replace(part, copy)


def _private(path: str) -> BinaryIO:
    """Open a new file for root only; a link in its place is not followed."""
    return cast(BinaryIO, open(create(path, 0o600), "wb"))


def is_copy(original: str, state: FileState) -> bool:
    """Return whether there is a copy, and it is what the file was."""
    copy = file_state(original)
    return "sha256" not in state or (copy or {}).get("sha256") == state["sha256"]


def _part(path: str) -> str:
    """Return where a file is made before it replaces the old one; nothing is there any more."""
    part = f"{path}.scalebench-part"
    with contextlib.suppress(FileNotFoundError):
        os.remove(part)
    return part


def _replace(path: str, state: FileState, source: BinaryIO) -> None:
    """Write a regular file completely or not at all, with the owner and mode of a state."""
    part = _part(path)
    with _private(part) as file:
        shutil.copyfileobj(source, file)
    # In this order: a new owner takes the setuid bit away.
    os.chown(part, state["uid"], state["gid"])
    os.chmod(part, state["mode"])
    replace(part, path)


# Lines of ours in a file of the site, as ansible.builtin.blockinfile marks them.
_BLOCK = re.compile(r"^# BEGIN (Scalebench: .*)\n(?:.*\n)*?# END \1(?:\n|$)", re.MULTILINE)


def without_blocks(path: str) -> Optional[str]:
    """Return a file's text without our marked lines; None where it has none of them."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return None
    rest = _BLOCK.sub("", text)
    return rest if rest != text else None


def remove_blocks(path: str) -> None:
    """Remove our marked lines from a file, which keeps owner and permissions.

    :raises OSError: if it cannot be written.
    """
    place, rest = os.path.realpath(path), without_blocks(path)
    if rest is not None:
        _replace(place, cast(FileState, file_state(place)), io.BytesIO(rest.encode("utf-8")))


def make_file(path: str, state: Optional[FileState], original: str) -> None:
    """Make a file, folder or link what it was; None removes it, a folder only if it is empty.

    :param original: the copy of a regular file.
    :raises OSError: if it cannot be done, or there is no copy.
    """
    now = file_state(path)
    if state is None:
        if now is not None and "folder" in now:
            os.rmdir(path)
        elif now is not None:
            os.remove(path)
        return
    if "folder" in state:
        os.makedirs(path, exist_ok=True)
        os.chown(path, state["uid"], state["gid"])
        os.chmod(path, state["mode"])
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if "target" in state:
        part = _part(path)
        os.symlink(state["target"], part)
        replace(part, path)
    else:
        with open(original, "rb") as source:
            _replace(path, state, source)
