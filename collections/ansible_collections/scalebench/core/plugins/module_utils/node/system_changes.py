"""What provisioning changed on a server, from its states before and after, and how to undo it."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import (
    Any,
    Callable,
    Container,
    Dict,
    Iterable,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Set,
    Tuple,
)

__all__ = [
    "APT_GET",
    "FORWARDING",
    "REDIRECTS",
    "Undo",
    "attributed",
    "commands_after_files",
    "commands_before_files",
    "differences",
    "installed_by_others",
    "is_own_file",
    "kernel_keys",
    "merged",
    "not_ours",
    "plan_undo",
    "unrecorded",
    "words_of",
]

Change = Dict[str, Any]  # {"before": …, "after": …}; None where there is none
Changes = Dict[str, Dict[str, Change]]  # by kind and name
State = Mapping[str, Mapping[str, Any]]


def differences(before: State, after: State, kernel: Iterable[str]) -> Changes:
    """Return what differs, by kind.

    :param kernel: the kernel parameters that count; others vary by themselves.
    """
    changes: Changes = {}
    for kind in {*before} - {"units"}:
        old, new = before[kind], after.get(kind, {})
        changes[kind] = {
            name: {"before": old.get(name), "after": new.get(name)}
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        }
    kept = {*kernel}
    changes["kernel"] = {key: one for key, one in changes["kernel"].items() if key in kept}
    changes["groups"] = {
        name: one for name, one in changes["groups"].items() if one["before"] is not None
    }
    return changes


def merged(recorded: Changes, new: Changes, at_begin: State) -> Changes:
    """Return all changes of several runs: each thing's state before the first, after the last.

    What somebody else changed between two runs keeps the mark `edited`: it is not ours to undo.

    :param recorded: of the runs before.
    :param new: of this run.
    :param at_begin: the state when this run began.
    """
    result: Changes = {}
    for kind in sorted({*recorded, *new}):
        result[kind] = {}
        old = recorded.get(kind, {})
        for name in sorted({*old, *new.get(kind, {})}):
            first, last = old.get(name), new.get(kind, {}).get(name)
            change = dict(last or first or {})
            if first is not None:
                change["before"] = first["before"]
                found = at_begin.get(kind, {}).get(name)
                # A run that was killed after it wrote its record begins again where it had begun.
                ours = (first["after"], first["before"])
                if first.get("edited") or (kind == "files" and found not in ours):
                    change["edited"] = True
                if "by" in first:
                    change["by"] = first["by"]
            if change["before"] != change["after"]:
                result[kind][name] = change
    return result


# A change of the first sets the second to its opposite: inet_forward_change, net/ipv4/devinet.c.
FORWARDING, REDIRECTS = "net.ipv4.ip_forward", "net.ipv4.conf.all.accept_redirects"
_ENTRY = re.compile(r"^Start-Date: (.+)$", re.MULTILINE)
_LINE = re.compile(r"^(Commandline|Install): (.+)$", re.MULTILINE)
# Of the site, never needed for software of ours, and without one the server does not boot.
_KERNELS = "linux-image-"


def installed_by_others(history: str, since: str) -> Dict[str, str]:
    """Return the packages that programs other than apt-get installed, and the program of each.

    Provisioning calls apt-get alone; unattended-upgrades, PackageKit and an administrator's
    ``apt install`` do not.

    :param history: text of /var/log/apt/history.log.
    :param since: local time as in it, ``2026-11-25  03:36:39``; what is earlier does not count.
    """
    found: Dict[str, str] = {}
    _, *entries = _ENTRY.split(history)
    for start, entry in zip(entries[::2], entries[1::2]):
        named = dict(_LINE.findall(entry))
        program = named.get("Commandline", "").split(" ")[0].rpartition("/")[2]
        if start.split() >= since.split() and program not in ("", "apt-get"):
            for package in re.sub(r" \([^)]*\)", "", named.get("Install", "")).split(", "):
                found[package] = program
    return found


def attributed(changes: Changes, installed: Mapping[str, str]) -> Changes:
    """Return the changes with ``by`` at new packages that are not provisioning's.

    :param installed: programs by package and architecture, of ``installed_by_others``.
    """
    plain = {_plain(name): program for name, program in installed.items()}
    for name, one in changes.get("packages", {}).items():
        program = installed.get(name) or (plain.get(name) if ":" not in name else None)
        if one["before"] is None and program:
            one["by"] = program
    return changes


class Undo(NamedTuple):
    """What is done to undo the changes, in this order, and what stays."""

    packages: List[str]  # that were not there, to be removed
    reinstalled: List[str]  # packages that were removed
    release: List[str]  # holds
    rules: List[str]  # of firewalld, after their zone, and commands of ufw
    hold: List[str]  # packages that were on hold
    files: Dict[str, Optional[Dict[str, Any]]]  # made what they were, deepest first
    start: List[str]  # services
    stop: List[str]
    kernel: Dict[str, str]
    members: Dict[str, List[str]]  # accounts that leave a group
    folders: List[str]  # removed with all they hold
    restart: List[str]  # services that ran before, with the units of then
    blocks: List[str]  # files of which only our marked lines go
    stays: Dict[str, str]  # why


# Of files that nobody but Scalebench writes.
_OWN_FILE = re.compile(r"/.*/(?:90-)?scalebench[.-][\w.-]+")


def is_own_file(path: str, state: Optional[Mapping[str, Any]]) -> bool:
    """Return whether a file is Scalebench's alone: one of before a record is of version 0.1."""
    return "sha256" in (state or {}) and bool(_OWN_FILE.fullmatch(path))


def _without_former(changes: Changes, now: State) -> Changes:
    """Return the changes as if the files of a former version had never been there.

    Version 0.1 recorded nothing: the first record took its files for the site's.
    """
    files, services = changes.get("files", {}), changes.get("services", {})
    former = {path for path, one in files.items() if is_own_file(path, one["before"])}
    states = {path: one["before"] or {} for path, one in files.items()}
    states.update(now["files"])
    links = {path for path, state in states.items() if state.get("target") in former}
    # Units themselves, and not those that a file only adds to.
    units = [unit for unit in now["services"] if _UNITS + unit in former]
    return {
        **changes,
        "files": {
            **files,
            **{path: {"after": now["files"].get(path), "before": None} for path in links},
            **{path: {**files[path], "before": None} for path in former},
        },
        "services": {**services, **{unit: {"before": None, "after": True} for unit in units}},
    }


def plan_undo(
    changes: Changes, now: State, kept: Mapping[str, str], owners: Mapping[str, str] = {}
) -> Undo:
    """Return how to undo `changes` without undoing what others did since.

    :param kept: packages of ours that stay, and why; their files stay too.
    :param owners: packages by the files that they own.
    """
    changes = _without_former(changes, now)
    kept = {**kept, **not_ours(changes)}
    stays = {f"package {name}": why for name, why in kept.items() if name in now["packages"]}
    new_files = {path for path, one in changes.get("files", {}).items() if one["before"] is None}
    packages, gone, why_packages = _packages(changes.get("packages", {}), now["packages"], kept)
    there = {_plain(name) for name in (*gone, *now["packages"])}
    files, why_files = _files(changes.get("files", {}), now["files"], kept, owners)
    stays.update({**why_packages, **why_files})
    services = changes.get("services", {})
    leaving = {_unit(path) for path, name in owners.items() if name in packages}
    return Undo(
        packages=packages,
        reinstalled=gone,
        release=[
            name
            for name, one in changes.get("holds", {}).items()
            if one["after"] and name in now["holds"]
        ],
        rules=[
            name
            for name, one in changes.get("rules", {}).items()
            if one["after"] and name in now.get("rules", {})
        ],
        hold=[
            name
            for name, one in changes.get("holds", {}).items()
            if one["before"] and name not in now["holds"] and _plain(name) in there
        ],
        files=files,
        start=[
            name
            for name, one in services.items()
            if one["before"] and not _on(name, now) and name in now.get("units", {})
        ],
        # Of a unit of ours, and what was there and did not run; those of packages are stopped as
        # these are removed.
        stop=[
            name
            for name, one in services.items()
            if one["after"]
            and _on(name, now)
            and (
                f"{_UNITS}{name}" in new_files
                or (name in _STARTED and not one["before"] and name not in leaving)
            )
        ],
        kernel=_kernel(changes.get("kernel", {}), now["kernel"]),
        members={
            name: gone
            for name, one in changes.get("groups", {}).items()
            if (gone := sorted(_members(one["after"], now, name) - {*one["before"]}))
        },
        folders=[
            path
            for path, one in changes.get("folders", {}).items()
            if one["before"] is None and path in now["folders"]
        ],
        restart=sorted(
            name
            for name in {_unit(path) for path in files}
            if _on(name, now) and (name not in services or services[name]["before"])
        ),
        blocks=[],
        stays=stays,
    )


def _packages(
    changes: Mapping[str, Change], installed: Mapping[str, str], kept: Container[str]
) -> Tuple[List[str], List[str], Dict[str, str]]:
    """Return the packages to remove, those to install again, and why others stay."""
    new, gone, stays = [], [], {}
    for name, one in changes.items():
        if one["before"] is None and name in installed and name not in kept:
            new.append(name)
        elif one["after"] is None and name not in installed:
            gone.append(name)
        elif one["before"] is not None and installed.get(name) != one["before"]:
            stays[f"package {name}"] = f"it was {one['before']}, is {installed.get(name, 'gone')}"
    return new, gone, stays


def _files(
    changes: Mapping[str, Change],
    now: Mapping[str, Any],
    kept: Container[str],
    owners: Mapping[str, str],
) -> Tuple[Dict[str, Optional[Dict[str, Any]]], Dict[str, str]]:
    """Return what files are made, deepest first, and why others stay.

    :param kept: packages that stay.
    :param owners: as for :func:`plan_undo`.
    """
    files: Dict[str, Optional[Dict[str, Any]]] = {}
    stays: Dict[str, str] = {}
    for path, one in sorted(changes.items(), reverse=True):
        found = now.get(path)
        if found == one["before"]:
            continue
        owner = _owner(path, one["after"], owners)
        if one["before"] is None and owner in kept:
            stays[path] = f"package {owner} stays"
        elif one.get("edited") or found not in (one["after"], None):
            stays[path] = "somebody else changed it since"
        else:
            files[path] = one["before"]
    # The copy of a file that stays is what the site had.
    for copy in [path for path, state in files.items() if state is None]:
        copied = _COPY.fullmatch(copy)
        if copied and copied[1] in stays:
            del files[copy]
            stays[copy] = f"it is what {copied[1]} was"
    return files, stays


# A copy that Ansible leaves beside a file: AnsibleModule.backup_local.
_COPY = re.compile(r"(.+)\.\d+\.\d{4}-\d\d-\d\d@\d\d:\d\d:\d\d~")
# What provisioning starts where it is there. Others may have been at work when it ended.
_STARTED = frozenset(
    f"{name}.service"
    for name in (
        *("chrony", "chronyd", "containerd", "docker", "openibd"),
        *("nvidia-fabricmanager", "nvidia-persistenced"),
    )
) | {"docker.socket", "podman.socket"}
_UNITS = "/etc/systemd/system/"
_UNIT = re.compile(r"(?:/usr)?/(?:etc|lib)/systemd/system/([^/]+?)(?:\.d/.*)?")


def _unit(path: str) -> str:
    """Return the unit that a file defines or adds to; nothing for other files."""
    found = _UNIT.fullmatch(path)
    return found[1] if found else ""


def _kernel(changes: Mapping[str, Mapping[str, Any]], now: Mapping[str, str]) -> Dict[str, str]:
    """Return the kernel parameters to set, in order: what a site has stays beside the others."""
    found = {
        key: one["before"]
        for key, one in changes.items()
        if one["before"] is not None and now.get(key) == one["after"]
    }
    if FORWARDING in found and REDIRECTS in now:
        found[REDIRECTS] = found.pop(REDIRECTS, now[REDIRECTS])
    return found


def _plain(package: str) -> str:
    """Return the name without the architecture."""
    return package.partition(":")[0]


def not_ours(changes: Changes) -> Dict[str, str]:
    """Return the new packages that are not provisioning's, and why they stay."""
    new = {
        name: one.get("by")
        for name, one in changes.get("packages", {}).items()
        if one["before"] is None
    }
    return {
        name: f"{by} installed it meanwhile" if by else "kernels are the site's"
        for name, by in new.items()
        if by or name.startswith(_KERNELS)
    }


def _owner(path: str, state: Optional[Mapping[str, Any]], owners: Mapping[str, str]) -> str:
    """Return the package of a file, or that of the file that a link points to; else nothing.

    Packages enable their services by links that they do not own.
    """
    target = str((state or {}).get("target", ""))
    # /lib and /usr/lib are one folder today.
    places = (path, target, f"/usr{target}", target[len("/usr") :] if "/usr/" in target else "")
    return next((owners[place] for place in places if place in owners), "")


def unrecorded(before: State, after: State) -> Dict[str, List[str]]:
    """Return the packages and files that are new since a run which ended without a record."""
    changes = differences(before, {**before, **after}, ())
    return {
        kind: [name for name, one in changes.get(kind, {}).items() if one["before"] is None]
        for kind in ("packages", "files")
    }


def commands_before_files(plan: Undo) -> List[List[str]]:
    """Return the commands that stop services, remove packages and bring removed ones back."""
    commands = [["systemctl", "stop", name] for name in plan.stop]
    commands += [["apt-mark", "unhold", name] for name in plan.release]
    # Not by a reload, which would drop the site's rules of the moment.
    for zone, _, rule in (name.partition(" ") for name in plan.rules):
        removed = [f"--zone={zone}", f"--remove-rich-rule={rule}"]
        if zone == "ufw":
            commands.append(["ufw", "delete", *shlex.split(rule)])
        else:
            commands += [["firewall-cmd", *removed], ["firewall-cmd", "--permanent", *removed]]
    if plan.packages:
        commands.append([*APT_GET, "remove", *plan.packages])
    if plan.reinstalled:
        commands.append([*APT_GET, "install", "--no-install-recommends", *plan.reinstalled])
    commands += [["apt-mark", "hold", name] for name in plan.hold]
    return commands


# Another program of the server may be at work on its packages, such as unattended-upgrades.
APT_GET = ("apt-get", "--yes", "-o", "DPkg::Lock::Timeout=300")
# What reads the files of a folder again.
_READERS = (
    ("/etc/ufw/", ["ufw", "reload"]),
    ("/etc/hostname", ["hostname", "-F", "/etc/hostname"]),
    # The initial RAM disk holds these: nouveau would stay on its list.
    ("/etc/modprobe.d/", ["update-initramfs", "-u", "-k", "all"]),
    ("/etc/modprobe.d/", ["dracut", "--force", "--regenerate-all"]),
)


def commands_after_files(
    plan: Undo, has: Callable[[str], object] = lambda program: True
) -> List[List[str]]:
    """Return the commands that make the system read the files, and start services.

    :param has: tells whether the system has a program that reads files.
    """
    commands = [["systemctl", "daemon-reload"]]
    for folder, command in _READERS:
        if any(path.startswith(folder) for path in plan.files) and has(command[0]):
            commands.append(command)
    commands += [["sysctl", "-w", f"{key}={value}"] for key, value in plan.kernel.items()]
    for group, members in plan.members.items():
        commands += [["gpasswd", "-d", member, group] for member in members]
    commands += [["systemctl", "try-restart", name] for name in plan.restart]
    return [*commands, *(["systemctl", "start", name] for name in plan.start)]


_VERBS = {
    "stop": "stop services",
    "packages": "remove packages",
    "reinstalled": "install packages again",
    "release": "release holds of packages",
    "rules": "remove rules of the firewall",
    "hold": "hold packages again",
    "files": "restore files",
    "kernel": "set kernel parameters",
    "members": "remove members of groups",
    "start": "start services",
    "restart": "restart services",
    "folders": "remove folders",
    "blocks": "remove only the lines of Scalebench from",
}


def words_of(plan: Undo, owners: Mapping[str, str] = {}) -> List[str]:
    """Return what is undone and what stays, a line for each kind.

    New files of packages are counted by folder, as /etc/chrony (3); all others are named.

    :param owners: packages by the files that they own.
    """
    restored = [path for path, state in plan.files.items() if state is not None]
    planned = {**plan._asdict(), "files": restored}
    lines = [
        f"{verb}: {', '.join(planned[kind])}" for kind, verb in _VERBS.items() if planned[kind]
    ]
    removed = sorted(path for path, state in plan.files.items() if state is None)
    others = [path for path in removed if path not in owners]
    new = Counter("/".join(path.split("/")[:3]) for path in removed if path in owners)
    if others:
        lines.append(f"remove files: {', '.join(others)}")
    if new:
        counted = (f"{top} ({count})" if count > 1 else top for top, count in new.items())
        lines.append(f"remove files of packages: {', '.join(counted)}")
    return [*lines, *(f"{name} stays: {why}" for name, why in plan.stays.items())]


def kernel_keys(texts: Iterable[str]) -> List[str]:
    """Return the kernel parameters that files of sysctl.d set."""
    keys = []
    for text in texts:
        for line in text.splitlines():
            key, mark, _ = line.partition("=")
            if mark and not line.lstrip().startswith(("#", ";")):
                keys.append(key.strip().lstrip("-").replace("/", "."))
    return keys


def _on(service: str, now: State) -> bool:
    return service in now["services"]


def _members(after: Optional[List[str]], now: State, group: str) -> Set[str]:
    return {*(after or [])} & {*now["groups"].get(group, [])}
