"""What of the software that a node has already stays, and what of it a role may replace."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from .versions import same_release

__all__ = ["clock_kept", "daemon_settings", "engine_found", "replacement"]


class _Software(NamedTuple):
    """How an administrator says that what is there stays, and how that it goes."""

    keep: str  # {found} stands for the version that is there
    allow: str


_SOFTWARE: Mapping[str, _Software] = {
    "driver": _Software(
        'stack_overrides: {{driver: {{source: given, version: "{found}"}}}}',
        "nvidia_driver_replace_allowed",
    ),
    "CUDA": _Software(
        'stack_overrides: {{cuda: {{source: given, version: "{found}"}}}}',
        "cuda_replace_allowed",
    ),
    "NCCL": _Software(
        'stack_overrides: {{nccl: {{source: given, version: "{found}"}}}}',
        "nccl_replace_allowed",
    ),
    "OFED": _Software(
        'mlnx_ofed_release: {{source: given, version: "{found}"}}', "mlnx_ofed_replace_allowed"
    ),
}
# Docker's client may be there without its daemon, to reach one elsewhere.
_PROGRAMS: Mapping[str, Sequence[str]] = {"docker": ("docker", "dockerd"), "podman": ("podman",)}


def replacement(
    wanted: str,
    software: str,
    found: Sequence[Optional[str]],
    allowed: bool,
    work: Sequence[str] = (),
) -> Dict[str, str]:
    """Return what would be replaced, and why it must not be.

    Nothing is replaced on a node that has none or the wanted version. Another version stays unless
    its replacement is allowed, and even then while anything runs there that uses it.

    :param wanted: the version to install.
    :param software: driver, CUDA, NCCL or OFED.
    :param found: the versions that the node has, such as the installed and the loaded one; None or
        an empty text where there is none.
    :param work: what runs on the node and would be disturbed, a text each.
    :returns: ``change``, such as ``driver 550.127.08 -> 580.159.04``, empty without a replacement;
        ``refused``, why it must not be made and what to do, empty if it may.
    :raises KeyError: another ``software``.
    """
    others: List[str] = [one for one in found if one and not same_release(wanted, one)]
    if not others:
        return {"change": "", "refused": ""}
    named = _SOFTWARE[software]
    change = f"{software} {others[0]} -> {wanted}"
    if not allowed:
        keep = named.keep.format(found=others[0])
        refused = (
            f"{software} {others[0]} is there, {wanted} is asked for, and what is there stays."
            f" To use it: {keep}. To replace it: -e {named.allow}=true"
        )
    elif work:
        refused = f"{change} must wait for what runs there: {'; '.join(work)}. End it, or wait"
    else:
        refused = ""
    return {"change": change, "refused": refused}


def clock_kept(clock: Mapping[str, Any], allowed: bool) -> str:
    """Return why the daemon that keeps a node's clock stays; empty if chrony is to be configured.

    :param clock: ``keeper`` and ``synchronised``, as ``clock_state`` returns them.
    :param allowed: whether chrony may take the place of another daemon.
    """
    # A daemon that clock_state does not know, as sfptpd or timemaster, keeps it in sync too.
    keeper = clock["keeper"] or ("a daemon unknown here" if clock["synchronised"] else "")
    if not keeper or keeper == "chronyd" or allowed:
        return ""
    told = "is in sync" if clock["synchronised"] else "is NOT in sync: correct its time servers"
    return (
        f"the clock, which {keeper} keeps, {told}. That stays; chrony takes its place with -e"
        " host_baseline_clock_replace_allowed=true"
    )


def engine_found(programs: Mapping[str, Mapping[str, Any]], engine: str) -> str:
    """Return the version of an engine that a node has; empty without one.

    ``docker --version`` prints ``Docker version 28.2.2, build e6534b4``, that of the package
    podman-docker ``podman version 4.3.1``.

    :param programs: as module ``program_info`` returns them, of the engine's programs.
    :param engine: docker or podman.
    """
    version = ""
    for name in _PROGRAMS[engine]:
        lines = " ".join(programs.get(name, {}).get("lines", []))
        found = re.search(rf"\b{engine} version (\d[\w.+~-]*)", lines, re.IGNORECASE)
        if not found:
            return ""
        version = found[1]
    return version


def daemon_settings(
    present: Mapping[str, Any],
    wanted: Mapping[str, Any],
    needed: Mapping[str, Any],
    kept: bool,
    allowed: bool,
) -> Dict[str, Any]:
    """Return the settings of a daemon after the role; values that are there stay.

    :param present: those of the file.
    :param wanted: those of an engine that the role installs.
    :param needed: those that an engine needs which was there before.
    :param kept: whether the engine was there before.
    :param allowed: whether ``wanted`` and ``needed`` may replace values that are there.
    """
    added = needed if kept and not allowed else _merged(wanted, needed)
    return _merged(present, added) if allowed else _merged(added, present)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> Dict[str, Any]:
    """Return both mappings in one; a value of ``above`` takes the place of one of ``below``."""
    merged = dict(below)
    for key, value in above.items():
        lower = merged.get(key)
        both = isinstance(value, Mapping) and isinstance(lower, Mapping)
        merged[key] = _merged(lower, value) if both else value  # type: ignore[arg-type]
    return merged
