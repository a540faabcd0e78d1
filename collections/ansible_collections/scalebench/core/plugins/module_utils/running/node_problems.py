"""Why a node will not do for a campaign, in words."""

from __future__ import annotations

from typing import Any, List, Mapping

__all__ = ["node_problems"]


def node_problems(
    probe: Mapping[str, Any],
    place: str,
    work_dir: str,
    free_mib: int,
    pythons: Mapping[str, str],
) -> List[str]:
    """Return a sentence for each thing that keeps every repeat from running on a node.

    A framework that is missing while another one is there is none: its cells are unavailable.

    :param probe: what module node_fingerprint_facts returned, or ``unreachable`` and ``msg``.
    :param place: the node's address and port, for the message.
    :param work_dir: Scalebench's folder on the node.
    :param free_mib: the room that is needed there, in MiB.
    :param pythons: the interpreter of each framework of the campaign.
    """
    if probe.get("unreachable"):
        return [
            f"{place} cannot be reached: {probe.get('msg', 'no message')}. Run ansible-playbook"
            " playbooks/provision.yml, or leave the node out with --limit."
        ]
    found = []
    unusable = probe["unusable"]
    if unusable and set(unusable) >= set(pythons):
        reasons = [
            f"the interpreter of {framework}, {pythons[framework]}: {reason}."
            for framework, reason in unusable.items()
        ]
        found.append(
            " ".join(reasons) + " Run ansible-playbook playbooks/provision.yml, or name an"
            " interpreter that has the framework with -e framework_python=."
        )
    free = probe["fingerprint"]["disk_free_mib"]
    if free < free_mib:
        found.append(
            f"{free} MiB are free at {work_dir}, {free_mib} are needed (campaign_free_mib)."
            " Remove old runs there."
        )
    return found
