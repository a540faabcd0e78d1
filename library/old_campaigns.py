#!/usr/bin/python
"""Remove the folders of old campaigns."""

from __future__ import annotations

DOCUMENTATION = r"""
module: old_campaigns
short_description: Remove the folders of old campaigns
description:
  - Removes the subfolders of a folder that are named, or old, or both; each has one campaign's
    name. A campaign that holds the node stays, as does everything that is not a folder, and links.
  - Without O(campaigns) and O(older_than) it removes nothing and returns what is there.
  - A folder gets the hidden name C(.NAME.removed) first. What a run that was killed left under such
    names is removed by the next one that removes anything.
options:
  path:
    description: Folder of all campaigns. A missing one has none.
    type: path
    required: true
  campaigns:
    description: Names or patterns of names, such as C(test-*).
    type: list
    elements: str
    default: []
  older_than:
    description: Days, 0 or more, since anything in the campaign's folder was changed.
    type: str
  holding:
    description: File that a campaign's folder must have, as C(plan.json); empty for any folder.
    type: str
    default: ""
  work_dir:
    description: Scalebench's working folder, whose claim names the campaign that runs.
    type: path
  in_use:
    description: More campaigns that run.
    type: list
    elements: str
    default: []
  unasked:
    description:
      - Nodes whose claims are unknown. A campaign whose plan, O(holding), names one of them stays,
        and one without a readable plan.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: Returns what it would remove.
  diff_mode:
    support: full
    description: The names of the campaigns before and after.
"""

EXAMPLES = r"""
- name: Remove what campaigns of more than a year ago left on the node
  old_campaigns:
    path: /opt/scalebench/runs
    work_dir: /opt/scalebench
    older_than: 365
"""

RETURN = r"""
campaigns:
  description:
    - Each folder with C(name), C(bytes), C(days), C(nodes) of its plan, C(removed) and C(why) it
      stays.
  type: list
  elements: dict
  returned: always
  sample: [{name: first, bytes: 81920, days: 3.2, nodes: [node1], removed: true, why: ""}]
summary:
  description: How many campaigns are removed and stay, with their sizes.
  type: str
  returned: always
  sample: "1 removed, 0.1 MiB (first); 1 kept, a node is claimed for it, 2.0 MiB (second)"
in_use:
  description: The campaigns that run.
  type: list
  elements: str
  returned: always
  sample: []
"""

import json
import os
import shutil
import time
from typing import List, Optional

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.claim import held
from ansible_collections.scalebench.core.plugins.module_utils.records.old_campaigns import (
    Folder,
    choose,
    days,
    summary,
)


def planned_nodes(path: str) -> Optional[List[str]]:
    """Return the names of the nodes in a plan; None where it has none that can be read."""
    try:
        # A pipe would never end.
        if not os.path.isfile(path):
            return None
        with open(path, encoding="utf-8") as file:
            return [*json.load(file)["nodes"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def measured(entry: os.DirEntry, now: float, plan: str) -> Folder:
    """Return the folder's name, size in bytes, days since its last change, and its plan's nodes."""
    size, newest = 0, entry.stat(follow_symlinks=False).st_mtime
    for folder, _, files in os.walk(entry.path):
        for path in [folder, *(os.path.join(folder, name) for name in files)]:
            status = os.lstat(path)
            size += status.st_blocks * 512
            newest = max(newest, status.st_mtime)
    return {
        "name": entry.name,
        "bytes": size,
        "days": round(max(now - newest, 0) / 86400, 1),
        "nodes": planned_nodes(os.path.join(entry.path, plan)) if plan else None,
    }


def is_left(name: str) -> bool:
    """Return whether a folder is what a killed run left; no campaign's name begins so."""
    return name.startswith(".") and name.endswith(".removed")


def remove(path: str, name: str, plan: str) -> None:
    """Remove a campaign's folder: killed at any moment, this leaves no half of a campaign.

    :param plan: the file that makes it a campaign, which goes first; empty for none.
    """
    hidden = os.path.join(path, f".{name}.removed")
    os.rename(os.path.join(path, name), hidden)
    if plan:
        os.remove(os.path.join(hidden, plan))
    shutil.rmtree(hidden)


def main() -> None:
    """Remove what is chosen."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "campaigns": {"type": "list", "elements": "str", "default": []},
            "older_than": {"type": "str"},
            "holding": {"type": "str", "default": ""},
            "work_dir": {"type": "path"},
            "in_use": {"type": "list", "elements": "str", "default": []},
            "unasked": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    args = module.params
    try:
        older_than = None if args["older_than"] is None else days(args["older_than"])
    except ValueError as error:
        module.fail_json(msg=str(error))
    claim = held(args["work_dir"]) if args["work_dir"] else None
    in_use = [*args["in_use"], *([claim.get("campaign", "")] if claim else [])]
    try:
        entries = [
            entry
            for entry in (os.scandir(args["path"]) if os.path.isdir(args["path"]) else [])
            if entry.is_dir(follow_symlinks=False)
        ]
        choice = bool(args["campaigns"]) or older_than is not None
        left = [entry.path for entry in entries if choice and is_left(entry.name)]
        folders = [
            measured(entry, time.time(), args["holding"])
            for entry in entries
            if not is_left(entry.name) and os.path.exists(os.path.join(entry.path, args["holding"]))
        ]
        chosen = choose(folders, args["campaigns"], older_than, in_use, args["unasked"])
        removed = [one for one in chosen if one["removed"]]
        if not module.check_mode:
            for folder in left:
                shutil.rmtree(folder)
            for one in removed:
                remove(args["path"], one["name"], args["holding"])
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}", in_use=in_use)
    module.exit_json(
        changed=bool(removed or left),
        campaigns=chosen,
        summary=summary(chosen, module.check_mode),
        in_use=in_use,
        diff={
            "before_header": args["path"],
            "after_header": args["path"],
            "before": "".join(f"{one['name']}\n" for one in chosen),
            "after": "".join(f"{one['name']}\n" for one in chosen if not one["removed"]),
        },
    )


if __name__ == "__main__":
    main()
