"""The claim of a campaign on a node: a file that identifies the ansible-playbook that holds it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from typing import Any, Dict, Iterator, Mapping, Optional, TypedDict, cast

from ..records.shape import check_shape
from .durable import create, make_folder, replace
from .own_folder import json_of
from .processes import is_there, read_process
from .runs import lock_file

__all__ = ["FILES", "HOLDER_VARIABLE", "has_ended", "held", "identity", "own", "release", "take"]

# Environment of playbooks/release.yml: for whom it releases nodes, as JSON.
HOLDER_VARIABLE = "SCALEBENCH_CLAIM_HOLDER"
_CLAIM = "claim.json"
_LOCK = "claim.lock"
# Seconds to wait for the lock, which is held for a moment.
_PATIENCE = 20
FILES = frozenset({_CLAIM, f"{_CLAIM}.part", _LOCK})
_OWNER = "owner.json"
# Keys that identify one ansible-playbook process, also across machines, reboots and containers.
_IDENTITY = ("boot_id", "pid_namespace", "pid", "start")
# Of a claim that counts. playbooks/release.yml claims with its holder's identity alone.
_NEEDED = ("boot_id", "pid", "start")


class Claim(TypedDict):
    """A campaign, and the ansible-playbook that runs it.

    Claims of version 0.1 have no ``pid_namespace``, in which ``pid`` counts: a container has its
    own. Nor have they ``machine_id`` and ``job``.
    """

    campaign: str
    controller: str  # account@host
    boot_id: str
    machine_id: str  # machine-id(5); empty without one
    pid_namespace: str
    pid: int
    start: int  # clock ticks since boot
    job: str  # of a carrier, which held the nodes; empty over ssh
    taken: str  # time


def identity(pid: int) -> Optional[Dict[str, object]]:
    """Return what identifies a process of this machine and this container in its claims.

    :returns: None where there is no such process.
    """
    process = read_process(pid)
    if process is None:
        return None
    return {**_place(), "pid": process.pid, "start": process.start}


def has_ended(claim: Mapping[str, Any], controller: str = "") -> bool:
    """Return whether the ansible-playbook of a claim ran here and is gone, also by a reboot.

    False for one of another machine or container, of which nothing is seen here.

    :param controller: this one, account@host. Machines made of one image may have one machine-id.
    """
    here = _place()
    if claim.get("boot_id") != here["boot_id"]:
        # Containers have the machine-id of their image, wherever they run.
        return (
            here["machine_id"] != ""
            and here["pid_namespace"] == claim.get("pid_namespace") == _OF_THE_MACHINE
            and (claim.get("machine_id"), claim.get("controller"))
            == (here["machine_id"], controller)
        )
    if claim.get("pid_namespace", here["pid_namespace"]) != here["pid_namespace"]:
        return False
    process = read_process(int(claim["pid"]))
    if process is None:
        # Where /proc is mounted with hidepid, those of other accounts are not seen in it.
        return not is_there(int(claim["pid"]))
    return not process.alive or process.start != claim["start"]


# That of no container: PROC_PID_INIT_INO in Linux's include/linux/proc_ns.h.
_OF_THE_MACHINE = "pid:[4026531836]"


def _place() -> Dict[str, str]:
    """Return what tells apart machines, reboots, and containers with pids of their own."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot_id = file.read().strip()
    machine_id = ""
    with contextlib.suppress(OSError), open("/etc/machine-id", encoding="ascii") as file:
        machine_id = file.read().strip()
    return {
        "boot_id": boot_id,
        "machine_id": machine_id,
        "pid_namespace": os.readlink("/proc/self/ns/pid"),
    }


def take(work_dir: str, claim: Claim, dead: Optional[Claim] = None) -> Optional[Claim]:
    """Claim the node.

    :param dead: a claim that may be replaced, because its ansible-playbook has ended.
    :returns: None, or the claim of another ansible-playbook that holds the node.
    """
    make_folder(work_dir)
    with _locked(work_dir):
        holder = held(work_dir)
        if holder is not None and not _same(holder, claim) and not (dead and _same(holder, dead)):
            return holder
        # Claimed again by the same, it is held since the first time.
        if (
            holder is None
            or not _same(holder, claim)
            or holder.get("campaign") != claim["campaign"]
        ):
            _put(os.path.join(work_dir, _CLAIM), claim)
    return None


def release(work_dir: str, claim: Claim) -> bool:
    """Release the node; return whether ``claim`` held it."""
    if not os.path.isdir(work_dir):
        return False
    with _locked(work_dir):
        holder = held(work_dir)
        if holder is None or not _same(holder, claim):
            return False
        os.remove(os.path.join(work_dir, _CLAIM))
    return True


def held(work_dir: str) -> Optional[Claim]:
    """Return the claim on the node, or None. A damaged claim, as by a crash, counts as none."""
    try:
        claim = json_of(os.path.join(work_dir, _CLAIM))
        check_shape(claim, Claim, "claim", {Claim: _NEEDED})
    except (FileNotFoundError, ValueError):
        return None
    return cast(Claim, claim)


def own(work_dir: str, owner: str, take_over: bool, only_read: bool = False) -> str:
    """Make a controller the owner of the node, if it has none; return whose it is.

    The owner's inventory decides what is installed and configured there. Another that provisions
    it too would change the same files in turn.

    :param owner: name of the controller.
    :param take_over: whether it takes the node from another.
    """
    with _locked(work_dir) if not only_read else contextlib.nullcontext():
        path = os.path.join(work_dir, _OWNER)
        try:
            present = str(json_of(path)["controller"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            present = ""
        if only_read or present == owner or (present and not take_over):
            return present or owner
        _put(path, {"controller": owner})
    return owner


def _put(path: str, value: object) -> None:
    """Write a file of JSON, never through a link: others may write in the folder."""
    part = path + ".part"
    try:
        with open(create(part), "w", encoding="utf-8") as file:
            json.dump(value, file)
        replace(part, path)
    except OSError as error:
        # A full disk is told without a path.
        error.filename = error.filename or path
        raise


def _same(claim: Mapping[str, object], other: Mapping[str, object]) -> bool:
    return all(claim.get(key) == other.get(key) for key in _IDENTITY)


@contextlib.contextmanager
def _locked(work_dir: str) -> Iterator[None]:
    # Never through a link: root may claim a node whose folder another account owns.
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    path = os.path.join(work_dir, _LOCK)
    with open(os.open(path, flags, 0o666), "w", encoding="utf-8") as lock:
        if not lock_file(lock, fcntl.LOCK_EX, _PATIENCE):
            raise ValueError(
                f"{path}: another process has held it for {_PATIENCE} s, where a moment is enough:"
                f" end that process, which `fuser -v {path}` names as root"
            )
        yield
