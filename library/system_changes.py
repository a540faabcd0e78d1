#!/usr/bin/python
"""Record what provisioning changes on a server, and undo it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: system_changes
short_description: Record what provisioning changes on a server, and undo it
description:
  - V(begun) reads the system before roles change it, V(recorded) afterwards, and adds the
    differences to C(changes.json) in O(directory). Files of C(/etc), C(/usr/share/keyrings),
    C(/usr/local/bin) and C(/usr/local/sbin), packages, holds, active services, kernel parameters
    that changed files of sysctl set, and members of groups count. Copies of the files that changed
    are kept.
  - What anybody changes on the server between the two counts as provisioning's, but for packages
    that programs other than apt-get installed, by C(/var/log/apt/history.log), and kernels. A
    V(begun) without V(recorded), of a run that was cut off, is continued within an hour, and
    dropped later; V(undone) then names the packages and files that are new since.
  - V(undone) removes packages that were not there, unless others need them, releases holds, and
    makes files, services, kernel parameters and groups what they were. What somebody else changed
    since stays, and is named. Packages that were upgraded stay so, and are named; those that were
    removed are installed again. Files of Scalebench's own that version 0.1 wrote, which recorded
    nothing, are removed where a later run changed them, and named otherwise.
options:
  state:
    description: What to do.
    type: str
    choices: [begun, recorded, undone]
    required: true
  directory:
    description: Folder of the record, for root only.
    type: path
    default: /var/lib/scalebench
  folders:
    description:
      - For O(state=begun), folders that provisioning makes. Those that were not there before are
        removed by V(undone).
    type: list
    elements: path
    default: []
  work_dir:
    description:
      - Scalebench's work folder, in which owner and claims of the server are. Another one than that
        of the record, if that is still there, is refused; in check mode it is a warning.
    type: path
    default: ""
  take_over:
    description: Whether another O(work_dir) than that of the record may be used.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Returns what it would undo; V(begun) and V(recorded) do nothing.
"""

EXAMPLES = r"""
- name: Undo what provisioning changed
  system_changes:
    state: undone
"""

RETURN = r"""
undo:
  description: By kind what is undone; C(stays) says of what is not, why.
  type: dict
  returned: with O(state=undone)
  sample: {packages: [chrony], files: {/etc/hosts: {}}, stays: {}}
summary:
  description: The same in words, a line each.
  type: list
  elements: str
  returned: with O(state=undone)
  sample: ["remove packages: chrony"]
last:
  description:
    - A command of the shell that removes the Python which ran this module, if C(python_bootstrap)
      installed it; no module can run afterwards.
  type: str
  returned: with O(state=undone)
  sample: apt-get --yes remove python3 && dpkg --purge python3
problems:
  description: What failed.
  type: list
  elements: str
  returned: with O(state=undone)
  sample: []
"""

import errno
import glob
import json
import os
import re
import shlex
import shutil
import time
from functools import partial
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Tuple

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.durable import (
    make_folder,
    replace,
    sync,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.system_changes import (
    APT_GET,
    FORWARDING,
    REDIRECTS,
    Undo,
    attributed,
    commands_after_files,
    commands_before_files,
    differences,
    installed_by_others,
    is_own_file,
    kernel_keys,
    merged,
    not_ours,
    plan_undo,
    unrecorded,
    words_of,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.system_state import (
    copy_files,
    is_copy,
    make_file,
    read_state,
    remove_blocks,
    without_blocks,
)

_SECONDS = 3600
_APT_HISTORY = "/var/log/apt/history.log"
_SYSCTL = "/etc/sysctl"
_APT_ARCHIVES = "/var/cache/apt/archives"
_SSHD = "/system/scalebench-sshd.service"
_SET_BY_DOCKER = (FORWARDING, REDIRECTS)
# Types of file systems, also after "fuse.": filesystems(5), and those of vendors.
_ON_SERVERS = {
    *("nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "gpfs", "beegfs", "glusterfs", "orangefs"),
    *("pvfs2", "panfs", "afs", "9p", "wekafs", "sshfs", "juicefs", "JuiceFS", "quobyte"),
}
_REMOVED = re.compile(r"^(?:Remv|Purg) (\S+)", re.MULTILINE)


class Record:
    """The files of a record in its folder."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.begun = os.path.join(directory, "begun.json")
        self.changes = os.path.join(directory, "changes.json")
        self.originals = os.path.join(directory, "originals")
        self.lost = os.path.join(directory, "lost.json")
        self.place = os.path.join(directory, "work_dir.json")

    def read(self, path: str) -> Dict[str, Any]:
        """Return what a file of the record holds; nothing where it is missing."""
        try:
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}): mend it, or remove it") from None

    def write(self, path: str, value: Dict[str, Any]) -> None:
        """Write the file completely or not at all."""
        make_folder(self.directory, 0o700)
        part = path + ".part"
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(value, file, indent=1, sort_keys=True)
        replace(part, path)

    def unfinished(self) -> Dict[str, Any]:
        """Return the begin of a run that was cut off lately; nothing for an older one."""
        begun = self.read(self.begun)
        return begun if begun and time.time() - begun["time"] < _SECONDS else {}

    def begin(self, folders: List[str]) -> None:
        """Keep the state before the run, unless one that was cut off has done so lately."""
        if self.unfinished():
            return
        self.drop_originals(self.read(self.changes))
        early = self.before_begin()
        folders = [*folders, *early.get("folders", ())]
        state = without(read_state(), early, self.read(self.changes))
        there = without({"folders": existing(folders)}, early, {})["folders"]
        lost = self.not_recorded()
        if any(lost.values()):
            self.write(self.lost, lost)
        copy_files(state["files"], self.originals)
        begun = {"time": time.time(), "watched": folders}
        self.write(self.begun, {**begun, "state": {**state, "folders": there}})

    def before_begin(self) -> Dict[str, List[str]]:
        """Return what role python_bootstrap installed, by kind: this module needs its Python."""
        early: Dict[str, List[str]] = {}
        for line in text_of(os.path.join(self.directory, "python_bootstrap")).splitlines():
            kind, _, name = line.partition(" ")
            early.setdefault(kind, []).append(name)
        return early

    def not_recorded(self) -> Dict[str, List[str]]:
        """Return the packages and files that came after runs began which were not recorded."""
        lost, dropped = self.read(self.lost), self.read(self.begun)
        new = {}
        if dropped and not self.unfinished():
            new = unrecorded(dropped["state"], read_state())
        return {kind: sorted({*lost.get(kind, []), *new.get(kind, [])}) for kind in {*lost, *new}}

    def all_changes(self, begun: Mapping[str, Any]) -> Dict[str, Any]:
        """Return what is recorded, with what changed since a run began that was not recorded."""
        recorded = self.read(self.changes)
        if not begun:
            return recorded
        before = begun["state"]
        after = {**read_state(), "folders": existing(begun.get("watched", []))}
        files = {**before["files"], **after["files"]}
        texts = [
            text_of(path)
            for path in files
            if path.startswith(_SYSCTL) and before["files"].get(path) != after["files"].get(path)
        ]
        new = differences(before, after, {*kernel_keys(texts), *_SET_BY_DOCKER})
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(begun["time"]))
        others = installed_by_others(text_of(_APT_HISTORY), since)
        return merged(recorded, attributed(new, others), before)

    def finish(self, begun: Mapping[str, Any]) -> Dict[str, Any]:
        """Add what changed since the run began to the record; return all changes."""
        changes = self.all_changes(begun)
        if os.path.exists(self.begun):
            self.write(self.changes, changes)
            os.remove(self.begun)
            sync(os.path.dirname(self.begun))
            self.drop_originals(changes)
        return changes

    def other_work_dir(self, own: str) -> str:
        """Return the work folder that the server was provisioned with, if another is there."""
        known = str(self.read(self.place).get("work_dir", ""))
        return known if own and known != own and os.path.isdir(known) else ""

    def drop_originals(self, changes: Dict[str, Any]) -> None:
        """Remove the copies of files that were not changed."""
        kept = {self.originals + path for path in changes.get("files", {})}
        for folder, _, files in os.walk(self.originals, topdown=False):
            for name in files:
                path = os.path.join(folder, name)
                if path not in kept:
                    os.remove(path)
            if not os.listdir(folder):
                os.rmdir(folder)


def without(
    state: Mapping[str, Mapping[str, Any]],
    early: Mapping[str, List[str]],
    recorded: Mapping[str, Any],
) -> Dict[str, Any]:
    """Return a state without the names of `early`, but for those that are recorded already."""
    gone = {kind: {*names} - {*recorded.get(kind, ())} for kind, names in early.items()}
    return {
        kind: {name: one for name, one in names.items() if name not in gone.get(kind, ())}
        for kind, names in state.items()
    }


def text_of(path: str) -> str:
    """Return a file's text; empty if it is gone."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def kept_packages(module: AnsibleModule, packages: List[str]) -> Dict[str, str]:
    """Return those of the packages that cannot be removed, and why, by what apt would do."""
    if packages and shutil.which("apt-get") is None:
        return dict.fromkeys(packages, "remove it with this system's package manager")
    kept: Dict[str, str] = {}

    def others(names: List[str]) -> Optional[List[str]]:
        command = ["apt-get", "-o", "APT::Get::Simulate=true", "remove", *names]
        rc, output, _ = module.run_command(command)
        removed = {name.partition(":")[0] for name in _REMOVED.findall(output)}
        return None if rc else sorted(removed - {name.partition(":")[0] for name in names})

    if packages and others(packages) != []:
        for name in packages:
            found = others([name])
            foreign = [one for one in found or [] if one not in _plain(packages)]
            if found is None or foreign:
                kept[name] = f"{', '.join(foreign) or 'something'} needs it"
        # Two of them together may still be what a third needs: then all stay.
        left = [name for name in packages if name not in kept]
        if left and others(left) != []:
            kept.update(dict.fromkeys(left, "other packages need some of these"))
    return kept


def package_files(module: AnsibleModule, packages: List[str]) -> Dict[str, str]:
    """Return the installed packages by the files that they own."""
    query = ["dpkg-query", "-L"] if shutil.which("dpkg-query") else ["rpm", "-ql"]
    owners: Dict[str, str] = {}
    for name in packages:
        _, output, _ = module.run_command([*query, name])
        owners.update({path: name for path in output.split("\n") if path.startswith("/")})
    return owners


def _plain(packages: List[str]) -> Set[str]:
    return {name.partition(":")[0] for name in packages}


def undo(module: AnsibleModule, record: Record, plan: Undo) -> List[str]:
    """Do what is planned; return what failed. What stays after all is added to the plan."""
    problems: List[str] = []

    def run(commands: List[List[str]]) -> None:
        for command in commands:
            rc, output, error = module.run_command(command)
            if rc:
                problems.append(f"{' '.join(command)}: {(error or output).strip()[-300:]}")

    run(commands_before_files(plan))
    # A package that could not be removed needs its files; the record waits for the next try.
    if problems:
        return problems
    steps: Dict[str, Callable[[], None]] = {
        path: partial(make_file, path, state, record.originals + path)
        for path, state in plan.files.items()
    }
    steps.update((path, partial(remove_blocks, path)) for path in plan.blocks)
    for path, change in steps.items():
        try:
            change()
        except OSError as error:
            if error.errno == errno.ENOTEMPTY:
                plan.stays[path] = "it holds files of others"
            else:
                problems.append(f"{path}: {error.strerror}")
    purge(module, plan)
    run(commands_after_files(plan, shutil.which))
    for path in filter(os.path.isdir, plan.folders):
        try:
            shutil.rmtree(path)
        except OSError as error:
            problems.append(f"{error.filename}: {error.strerror}")
    return problems


def set_apart(plan: Undo, early: Mapping[str, List[str]]) -> Tuple[Undo, str]:
    """Return the plan without the Python that runs this module, and the command to remove that."""
    packages, folders, files = (
        [name for name in getattr(plan, kind) if name in early.get(kind, ())]
        for kind in ("packages", "folders", "files")
    )
    commands = []
    if packages:
        commands.append([*APT_GET, "remove", *packages])
        if not {*plan.stays} & {*early.get("files", ())}:
            commands.append(["dpkg", "--purge", *packages])
    if folders:
        commands.append(["rm", "-rf", *folders])
    words = [" ".join(map(shlex.quote, command)) for command in commands]
    if files:
        # Deepest first; a folder with files of others stays, and is no failure.
        words.append(f"{{ rm -df {' '.join(map(shlex.quote, files))} 2>/dev/null || true; }}")
    rest = plan._replace(
        packages=[name for name in plan.packages if name not in packages],
        folders=[path for path in plan.folders if path not in folders],
        files={path: state for path, state in plan.files.items() if path not in files},
    )
    return rest, " && ".join(words)


def purge(module: AnsibleModule, plan: Undo) -> None:
    """Forget the removed packages, but those of which the site has files of configuration."""
    for name in plan.packages:
        for path in glob.glob(f"{_APT_ARCHIVES}/{glob.escape(name.partition(':')[0])}_*.deb"):
            os.remove(path)
        _, text, _ = module.run_command(["dpkg-query", "-W", "-f", "${Conffiles}\\n", name])
        paths = [line.split()[0] for line in text.splitlines() if line.strip()]
        if any(os.path.lexists(path) for path in paths):
            plan.stays[f"configuration of package {name}"] = "the site had it, or changed it"
        else:
            module.run_command(["dpkg", "--purge", name])


def existing(folders: List[str]) -> Dict[str, bool]:
    """Return the folders that are there."""
    return dict.fromkeys(filter(os.path.isdir, folders), True)


def held_by_others(path: str, mountinfo: str = "/proc/self/mountinfo") -> str:
    """Return why a folder may hold data of others, or of other nodes; nothing where it does not."""
    real = os.path.realpath(path)
    mounts = []
    for line in text_of(mountinfo).splitlines():
        words, _, rest = line.partition(" - ")
        place = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), words.split()[4])
        mounts.append((f"{place.rstrip('/')}/", rest.split()[0]))
    if real != os.path.normpath(path) or any(one.startswith(f"{real}/") for one, _ in mounts):
        return "it is a link or holds a mount"
    # The closest one above; of two at one place the later one is seen.
    above = [(len(one), at) for at, (one, _) in enumerate(mounts) if f"{real}/".startswith(one)]
    kind = mounts[max(above)[1]][1] if above else ""
    if {kind, kind.partition(".")[2]} & _ON_SERVERS:
        return f"it is on a file server ({kind}), where other nodes may use it"
    return ""


def refuse_other(module: AnsibleModule, record: Record) -> str:
    """End the module where owner and claims of the server lie in another work folder.

    In check mode return why it would end, as a warning too; else nothing.
    """
    other = record.other_work_dir(module.params["work_dir"])
    if not other or module.params["take_over"]:
        return ""
    message = (
        f"this server was provisioned with scalebench_work_dir={other} ({record.place}), where its"
        f" owner and claims are, and not with {module.params['work_dir']}: use the same, or"
        " -e scalebench_take_over=true"
    )
    if not module.check_mode:
        module.fail_json(msg=message)
    message += ". Without --check this run ends here."
    module.warn(message)
    return message


def record_run(module: AnsibleModule, record: Record) -> None:
    """Record what the system is before roles change it, or what they changed."""
    if not module.check_mode:
        if module.params["state"] == "begun":
            record.begin(module.params["folders"])
        else:
            # This run's own, however long it took.
            record.finish(record.read(record.begun))
        place = {"work_dir": module.params["work_dir"]}
        if place["work_dir"] and record.read(record.place) != place:
            record.write(record.place, place)
    module.exit_json(changed=False)


def undo_all(module: AnsibleModule, record: Record, refused: str) -> None:
    """Undo what is recorded; in check mode tell what would be undone.

    :param refused: of ``refuse_other``.
    """
    # Before the record is finished, which ends the run that was cut off.
    lost = record.not_recorded()
    changes_since = record.all_changes if module.check_mode else record.finish
    changes = changes_since(record.unfinished())
    plan, owners = planned(module, record, changes, lost)
    apart, last = set_apart(plan, record.before_begin())
    problems: List[str] = []
    if not module.check_mode and changes:
        problems = undo(module, record, apart)
        if not problems:
            shutil.rmtree(record.directory)
    result = {
        "changed": any(plan._replace(stays={})),
        "undo": plan._asdict(),
        "last": last,
        "summary": [
            *([refused] if refused else []),
            *(words_of(plan, owners) or ["nothing is recorded that could be undone"]),
        ],
        "problems": problems,
    }
    if problems:
        module.fail_json(msg="; ".join(problems), **result)
    module.exit_json(**result)


def planned(
    module: AnsibleModule, record: Record, changes: Dict[str, Any], lost: Mapping[str, List[str]]
) -> Tuple[Undo, Dict[str, str]]:
    """Return how to undo the changes as the system is now, and the new packages by their files.

    :param lost: of ``Record.not_recorded``.
    """
    reasons = {path: held_by_others(path) for path in existing([*changes.get("folders", {})])}
    now = {**read_state(), "folders": {path: True for path in reasons if not reasons[path]}}
    new = [
        name
        for name, one in changes.get("packages", {}).items()
        if one["before"] is None and name in now["packages"]
    ]
    owners = package_files(module, new)
    ours = [name for name in new if name not in not_ours(changes)]
    plan = plan_undo(changes, now, kept_packages(module, ours), owners)
    for path, state in list(plan.files.items()):
        if state and not is_copy(record.originals + path, state):
            del plan.files[path]
            plan.stays[path] = "there is no copy of what it was"
    plan.stays.update({path: why for path, why in reasons.items() if why})
    plan.stays.update(older(module.params["work_dir"], now["files"], changes))
    plan.blocks.extend(path for path in plan.stays if without_blocks(path) is not None)
    for kind, names in lost.items():
        found = (one for one in names if one in now[kind] and one not in changes.get(kind, {}))
        for name in found:
            what = f"package {name}" if kind == "packages" else name
            plan.stays[what] = "it came after a run began that failed: ours, or somebody else's"
    return plan, owners


def older(work_dir: str, files: Mapping[str, Any], changes: Mapping[str, Any]) -> Dict[str, str]:
    """Return why the work folder, and files of ours, stay where no recorded run made them."""
    stays = {}
    why = "it was there before the first run that was recorded, and version 0.1 recorded none"
    if os.path.isdir(work_dir) and work_dir not in changes.get("folders", {}):
        # A site's own folder, as of a disk, was there too.
        stays[work_dir] = f"{why}: remove it yourself if all in it is Scalebench's"
    absent = "provision.yml --tags cluster_ssh -e cluster_ssh_state=absent"
    for path, state in files.items():
        if is_own_file(path, state) and path not in changes.get("files", {}):
            stays[path] = f"{why}: {absent if path.endswith(_SSHD) else 'remove it yourself'}"
    return stays


def main() -> None:
    """Read the state, record it, or undo the changes."""
    module = AnsibleModule(
        argument_spec={
            "state": {
                "type": "str",
                "choices": ["begun", "recorded", "undone"],
                "required": True,
            },
            "directory": {"type": "path", "default": "/var/lib/scalebench"},
            "folders": {"type": "list", "elements": "path", "default": []},
            "work_dir": {"type": "path", "default": ""},
            "take_over": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    # Programs answer in English, and Ubuntu's needrestart only lists services of the site.
    module.run_command_environ_update = {
        "LC_ALL": "C",
        "DEBIAN_FRONTEND": "noninteractive",
        "NEEDRESTART_MODE": "l",
    }
    record = Record(module.params["directory"])
    try:
        for path in (record.begun, record.changes, record.lost, record.place):
            record.read(path)
    except ValueError as error:
        module.fail_json(msg=str(error))
    refused = refuse_other(module, record)
    if module.params["state"] == "undone":
        undo_all(module, record, refused)
    else:
        record_run(module, record)


if __name__ == "__main__":
    main()
