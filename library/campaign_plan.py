#!/usr/bin/python
"""Door to MU options, benchmark_file and plan; reads and writes the campaign's plan."""

from __future__ import annotations

DOCUMENTATION = r"""
module: campaign_plan
short_description: Check the options of a campaign, plan its repeats, find those still missing
description:
  - Runs on the controller. Without O(nodes) it checks the options and the benchmark files and ends.
  - With O(nodes) it expands the matrix, writes C(plan.json) into a new campaign's folder, or holds
    the plan of a campaign that is already there against the one asked for.
  - A repeat is missing until its C(.run.json) says ok.
options:
  variables:
    description: The variables the user gave; options are read, misspelt ones refused.
    type: dict
    required: true
  known:
    description: Names of variables that something reads, so that they are not taken for misspelt.
    type: list
    elements: str
    default: []
  benchmarks_dir:
    description: Folder of the benchmark files.
    type: path
    required: true
  results_dir:
    description: Folder of all campaigns.
    type: path
    required: true
  campaign:
    description: Its name, which is its folder below O(results_dir); empty names it after the time.
    type: str
    default: ""
  free_mib:
    description: Room that must be left for results, in MiB.
    type: int
    default: 0
  nodes:
    description: By node name, in seating order, what the launchers need to know of it.
    type: dict
attributes:
  check_mode:
    support: full
    description: Plans and writes nothing.
"""

EXAMPLES = r"""
- name: Check the options before anything is contacted
  campaign_plan:
    variables: {precision: amp}
    benchmarks_dir: benchmarks
    results_dir: results
    campaign: first
"""

RETURN = r"""
campaign:
  description: The campaign's name.
  type: str
  returned: always
  sample: first
directory:
  description: The campaign's folder.
  type: str
  returned: with nodes
  sample: results/first
cells:
  description: The cells of the plan, with the command of every node.
  type: list
  elements: dict
  returned: with nodes
repeats:
  description: Number of repeats planned.
  type: int
  returned: with nodes
  sample: 9
missing:
  description: The repeats to run, in order.
  type: list
  elements: dict
  returned: with nodes
seconds:
  description: Expected time of the missing repeats.
  type: float
  returned: with nodes
  sample: 190.5
measured:
  description: How many of the missing repeats have an estimate from earlier campaigns.
  type: int
  returned: with nodes
  sample: 9
frameworks:
  description: The frameworks of the benchmarks asked for.
  type: list
  elements: str
  returned: always
  sample: [pytorch]
"""

import json
import os
import re
import shutil
import time
from pathlib import Path

import yaml
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils import matrix, plan
from ansible_collections.scalebench.core.plugins.module_utils.benchmark_file import check_benchmark
from ansible_collections.scalebench.core.plugins.module_utils.options import misspelt, parse_options

# How many earlier campaigns the estimate looks at.
RECENT = 5


def load_benchmarks(folder: Path) -> dict:
    """Return the checked definitions of a folder by name."""
    found = {}
    for path in sorted(folder.glob("*.yml")):
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except yaml.YAMLError as error:
            raise ValueError(f"{path}: {error}") from None
        definition = check_benchmark(content, str(path))
        found[definition["benchmark"]] = definition
    if not found:
        raise ValueError(f"{folder}: no benchmark file (*.yml) there")
    return found


def records(campaign: Path) -> dict:
    """Return the run records of a campaign by the path of the log, relative to the campaign."""
    found = {}
    for path in sorted(campaign.glob("logs/**/*.run.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            found[record["log"]] = record
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}: no run record: {error}; move it away") from None
    return found


def earlier(results: Path) -> dict:
    """Return the seconds of the repeats of the latest campaigns by cell."""
    found = {}
    plans = sorted(results.glob("*/plan.json"), key=lambda path: path.stat().st_mtime)
    for path in plans[-RECENT:]:
        for record in records(path.parent).values():
            if record["ending"] == "ok":
                key = "{directory}/{name}".format(**record["cell"])
                found.setdefault(key, []).append(record["seconds"])
    return found


def check_room(folder: Path, free_mib: int) -> None:
    """Refuse a disk on which the results may not find room."""
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free // 2**20
    if free < free_mib:
        raise ValueError(
            f"{folder}: {free} MiB are free on the controller, {free_mib} are needed"
            " (campaign_free_mib). Remove old campaigns"
        )


def kept_plan(folder: Path, wanted: dict) -> dict:
    """Return the plan that is already in the folder, None for a new campaign."""
    path = folder / "plan.json"
    if not path.exists():
        if folder.exists() and any(folder.iterdir()):
            raise ValueError(f"{folder} is no campaign: it holds files but no plan.json")
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))
    different = plan.differences(kept, wanted)
    if different:
        raise ValueError(
            f"campaign {folder.name} was made with another plan: {'; '.join(different[:5])}"
            f"{'; …' if len(different) > 5 else ''}. Give the options it was made with"
            f" ({kept['options']}), or another -e campaign=NAME"
        )
    return kept


def write(folder: Path, name: str, planned: dict) -> None:
    """Write plan.json whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    part = folder / "plan.json.part"
    text = json.dumps({**planned, "campaign": name, "created": created}, indent=1)
    part.write_text(text + "\n", encoding="utf-8")
    os.replace(part, folder / "plan.json")


def main() -> None:
    """Check, plan, compare, write."""
    module = AnsibleModule(
        argument_spec={
            "variables": {"type": "dict", "required": True},
            "known": {"type": "list", "elements": "str", "default": []},
            "benchmarks_dir": {"type": "path", "required": True},
            "results_dir": {"type": "path", "required": True},
            "campaign": {"type": "str", "default": ""},
            "free_mib": {"type": "int", "default": 0},
            "nodes": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    wanted = module.params
    wanted["campaign"] = wanted["campaign"] or time.strftime("%Y%m%d-%H%M%S")
    folder = Path(wanted["results_dir"]) / wanted["campaign"]
    try:
        result = answer(wanted, folder, module.check_mode)
        module.exit_json(campaign=wanted["campaign"], **result)
    except ValueError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}")


def answer(wanted: dict, folder: Path, check_mode: bool) -> dict:
    """Return the module's result."""
    wrong = misspelt(wanted["variables"], wanted["known"])
    if wrong:
        raise ValueError(" ".join(wrong))
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", wanted["campaign"]):
        raise ValueError(
            f"-e campaign={wanted['campaign']}: a campaign's name is a folder's name:"
            " letters, digits and ._+-"
        )
    check_room(folder, wanted["free_mib"])
    benchmarks = load_benchmarks(Path(wanted["benchmarks_dir"]))
    options = parse_options(wanted["variables"])
    frameworks = matrix.frameworks(benchmarks, options)
    if wanted["nodes"] is None:
        return {"changed": False, "frameworks": frameworks}
    if not options and (folder / "plan.json").exists():
        # Nothing but the campaign's name was given: go on as it was planned.
        options = json.loads((folder / "plan.json").read_text(encoding="utf-8"))["options"]
    planned = plan.build(benchmarks, options, wanted["nodes"])
    kept = kept_plan(folder, planned)
    if not kept and not check_mode:
        write(folder, wanted["campaign"], planned)
    done = {log: record["ending"] for log, record in records(folder).items()}
    every = plan.repeats(planned["cells"])
    left = plan.missing(every, done)
    times = earlier(folder.parent)
    seconds = [plan.estimate(repeat, times) for repeat in left]
    return {
        "changed": not kept,
        "directory": str(folder),
        "cells": planned["cells"],
        "repeats": len(every),
        "missing": [{**repeat, "seconds": expected} for repeat, expected in zip(left, seconds)],
        "seconds": sum(seconds),
        "measured": sum(plan.cell_key(repeat["cell"]) in times for repeat in left),
        "frameworks": frameworks,
    }


if __name__ == "__main__":
    main()
