"""The nodes of a campaign: the ssh files with which they reach each other, and their problems."""

from __future__ import annotations

from typing import Any, Collection, Dict, List, Mapping

from ..planning.plan import NOT_INSTALLABLE

__all__ = [
    "authorized_keys_lines",
    "known_hosts_lines",
    "node_problems",
    "other_controllers",
    "with_public_keys",
]

# Owner of a controller's key; before version 0.2 every controller was named so.
_CONTROLLER = "controller"


def known_hosts_lines(existing: str, keys: Mapping[str, Collection[str]], port: int) -> List[str]:
    """Return the lines of known_hosts, sorted, comments left out.

    A run that is limited to some nodes knows the keys of those alone; the lines of the others
    stay.

    :param existing: the file as it is; empty where there is none.
    :param keys: all public host keys (type and base64, a comment may follow) by address.
    """
    renewed = {
        f"[{address}]:{port}": [key for key in keys[address] if key.strip()] for address in keys
    }
    lines = set()
    for line in existing.splitlines():
        host, _, key = line.strip().partition(" ")
        if key and not host.startswith("#") and not renewed.get(host):
            lines.add(line.strip())
    for host, given in renewed.items():
        lines |= {" ".join([host, *key.split()[:2]]) for key in given}
    return sorted(lines)


def authorized_keys_lines(
    existing: str, keys: Mapping[str, Collection[str]], members: Collection[str]
) -> List[str]:
    """Return the lines of authorized_keys, sorted.

    A run that is limited to some nodes knows the keys of those alone; the keys of the others stay
    as long as they are members. An owner that has left the cluster loses access with the next run.

    :param existing: the file as it is, its comments the keys' owners; empty where there is none.
    :param keys: all public keys (type and base64, a comment may follow) by owner.
    :param members: everyone who may have a key.
    """
    lines = set()
    for line in existing.splitlines():
        owner = line.strip().rpartition(" ")[2]
        if not line.startswith("#") and owner in members and not any(keys.get(owner, ())):
            lines.add(line.strip())
    for owner in members:
        for key in keys.get(owner, ()):
            if key.strip():
                lines.add(" ".join([*key.split()[:2], owner]))
    return sorted(lines)


def other_controllers(existing: str, own: Collection[str], name: str) -> List[str]:
    """Return the lines of a node's authorized_keys that belong to other controllers, sorted.

    They stay, so that an administrator who provisions the nodes does not lock out another.

    :param existing: the node's file as it is; empty where there is none.
    :param own: all public keys of this controller.
    :param name: the owner of its lines, whatever their keys.
    """
    mine = {tuple(key.split()[:2]) for key in own}
    return sorted(
        {
            line.strip()
            for line in existing.splitlines()
            if (owner := line.strip().rpartition(" ")[2]).partition(":")[0] == _CONTROLLER
            and owner != name
            and not line.startswith("#")
            and tuple(line.split()[:2]) not in mine
        }
    )


def with_public_keys(
    nodes: Collection[Mapping[str, Any]], public: Mapping[str, str]
) -> List[Dict[str, Any]]:
    """Return the nodes with the lists ``host_keys`` and ``user_keys``.

    :param nodes: each with ``pairs``, the ``names`` of its private keys, as absolute paths, and the
        ``folder`` of those of its user; the host keys are outside.
    :param public: public keys by these paths.
    """
    found = []
    for node in nodes:
        keys: Dict[bool, List[str]] = {True: [], False: []}
        for name in node["pairs"]["names"]:
            keys[name.startswith(node["pairs"]["folder"] + "/")].append(public[name])
        found.append({**node, "host_keys": keys[False], "user_keys": keys[True]})
    return found


def node_problems(
    probe: Mapping[str, Any],
    place: str,
    work_dir: str,
    free_mib: int,
    pythons: Mapping[str, str],
    workloads: Mapping[str, Mapping[str, Any]],
) -> List[str]:
    """Return a sentence for each problem that keeps every repeat from running on a node.

    A missing framework is not a problem of the node where another one is there, or where no
    provisioning makes it available: its cells are unavailable.

    :param probe: what module node_fingerprint_facts returned, or ``unreachable`` and ``msg``.
    :param place: the node's address and port, for the message.
    :param work_dir: Scalebench's folder on the node.
    :param free_mib: the free space that is needed there, in MiB.
    :param pythons: the interpreter of each framework of the campaign.
    :param workloads: the trainers of the campaign, by their paths in the node's folder of them:
        ``named_by``, the benchmark file and its key, and ``copied``, whether provision.yml does.
    """
    if probe.get("unreachable"):
        said = str(probe.get("msg", "no message"))
        todo = (
            # So ssh names the other end of a ProxyCommand or ProxyJump that has ended.
            "The way through the jump host failed: try ssh to the jump host by hand, without a"
            " prompt"
            if "UNKNOWN port" in said
            else "Run ansible-playbook playbooks/provision.yml; behind a jump host set"
            " scalebench_ssh_arguments, as ~/.ssh/config is not read for this port"
        )
        return [f"{place} cannot be reached: {said}. {todo}, or leave the node out with --limit."]
    problems = []
    unusable = probe["unusable"]
    repairable = [why for why in unusable.values() if not why.startswith(NOT_INSTALLABLE)]
    if repairable and set(unusable) >= set(pythons):
        reasons = [
            f"the interpreter of {framework}, {pythons[framework]}: {reason}."
            for framework, reason in unusable.items()
        ]
        problems.append(
            " ".join(reasons) + " Run ansible-playbook playbooks/provision.yml with this inventory"
            " and the same -e benchmark=, or name an interpreter that has the framework with -e"
            " framework_python=."
        )
    missing = [path for path in workloads if path not in probe["workload"]]
    copied = [path for path in missing if workloads[path]["copied"]]
    if copied:
        problems.append(
            f"the trainer {' and '.join(copied)} is not there. Run ansible-playbook"
            " playbooks/provision.yml with this inventory, which copies the trainers."
        )
    problems += [
        f"the trainer {path} is not there, nor in workloads/, which provision.yml copies. Correct"
        f" {workloads[path]['named_by']}, or give both playbooks the folder that has it with -e"
        " workload_own_source=FOLDER."
        for path in missing
        if path not in copied
    ]
    free = probe["fingerprint"]["disk_free_mib"]
    if free < free_mib:
        problems.append(
            f"{free} MiB are free at {work_dir}, {free_mib} are needed (campaign_free_mib)."
            " Remove old runs there."
        )
    return problems
