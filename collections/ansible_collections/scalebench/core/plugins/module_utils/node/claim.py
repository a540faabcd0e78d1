"""The claim of a campaign on a node: a file that names the ansible-playbook that holds it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from typing import Any, Dict, Iterator, Mapping, Optional

__all__ = ["held", "release", "take"]

_CLAIM = "claim.json"
_LOCK = "claim.lock"
# What tells one ansible-playbook from another, over restarts and over machines too.
_WHO = ("boot_id", "pid", "start")

Claim = Dict[str, Any]


def take(
    work_dir: str, claim: Mapping[str, Any], dead: Optional[Mapping[str, Any]] = None
) -> Optional[Claim]:
    """Take the node, and return None; or the claim that another holds.

    :param claim: ``campaign``, and its ansible-playbook: ``controller`` (host name), ``boot_id``,
        ``pid``, ``start`` (clock ticks since boot), ``taken`` (when).
    :param dead: a claim that may be replaced, since its ansible-playbook is known to have ended.
    """
    os.makedirs(work_dir, exist_ok=True)
    with _locked(work_dir):
        there = held(work_dir)
        if there is not None and not _same(there, claim) and not (dead and _same(there, dead)):
            return there
        path = os.path.join(work_dir, _CLAIM)
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump(dict(claim), file)
        os.replace(path + ".part", path)
    return None


def release(work_dir: str, claim: Mapping[str, Any]) -> bool:
    """Give the node back; return whether it was held by ``claim``."""
    if not os.path.isdir(work_dir):
        return False
    with _locked(work_dir):
        there = held(work_dir)
        if there is None or not _same(there, claim):
            return False
        os.remove(os.path.join(work_dir, _CLAIM))
    return True


def held(work_dir: str) -> Optional[Claim]:
    """Return the claim on the node, None where there is none; half a one, of a crash, is none."""
    try:
        with open(os.path.join(work_dir, _CLAIM), encoding="utf-8") as file:
            claim = json.load(file)
    except (FileNotFoundError, ValueError):
        return None
    return claim if isinstance(claim, dict) else None


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one.get(key) == other.get(key) for key in _WHO)


@contextlib.contextmanager
def _locked(work_dir: str) -> Iterator[None]:
    with open(os.path.join(work_dir, _LOCK), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
