"""doc-campaign_files"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.benchmark_file import (
    check_benchmark,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import read_yaml, write_texts
from ansible_collections.scalebench.core.plugins.plugin_utils.plan_evidence import (
    controller_facts,
    plan_sha256,
)

__all__ = [
    "attempts",
    "check_room",
    "earlier",
    "kept_plan",
    "load_benchmarks",
    "now",
    "records",
    "set_aside",
    "set_aside_unrecorded",
    "write",
    "write_record",
]

# How many earlier campaigns the estimate looks at.
RECENT = 5


def load_benchmarks(folder: Path) -> dict[str, Any]:
    """Return the checked definitions of a folder by name.

    :raises ValueError: there is none, or one is broken; the file is named.
    """
    found = {}
    for path in sorted(folder.glob("*.yml")):
        try:
            content = read_yaml(path)
        except yaml.YAMLError as error:
            raise ValueError(f"{path}: {error}") from None
        definition = check_benchmark(content, str(path))
        found[definition["benchmark"]] = definition
    if not found:
        raise ValueError(f"{folder}: no benchmark file (*.yml) there")
    return found


def check_room(folder: Path, free_mib: int) -> None:
    """Refuse a disk on which the results may not find room.

    :raises ValueError: less than ``free_mib`` MiB are free there.
    """
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free // 2**20
    if free < free_mib:
        raise ValueError(
            f"{folder}: {free} MiB are free on the controller, {free_mib} are needed"
            " (campaign_free_mib). Remove old campaigns"
        )


def kept_plan(folder: Path) -> dict[str, Any]:
    """Return the plan that is already in the folder, an empty one for a new campaign.

    :raises ValueError: the folder holds something else.
    """
    path = folder / "plan.json"
    if path.exists():
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:
            raise ValueError(f"{path}: no plan: {error}") from None
    # Half a plan is what is left of a controller that was killed while it wrote its first one.
    if folder.exists() and any(path.suffix != ".part" for path in folder.iterdir()):
        raise ValueError(f"{folder} is no campaign: it holds files but no plan.json")
    return {}


def records(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the run records of a campaign by the path of the log, relative to the campaign.

    A record that cannot be read is none: its repeat runs again.
    """
    found = {}
    for path in sorted(folder.glob("logs/**/*.run.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            found[record["log"]] = {"ending": record["ending"], **record}
        except (ValueError, KeyError, TypeError):
            continue
    return found


def earlier(results: Path) -> dict[str, list[float]]:
    """Return the seconds of the repeats of the latest campaigns by ``plan.timing_key``."""
    found: dict[str, list[float]] = {}
    plans = sorted(results.glob("*/plan.json"), key=lambda path: path.stat().st_mtime)
    for path in plans[-RECENT:]:
        for record in records(path.parent).values():
            if record["ending"] == "ok" and record.get("cell"):
                found.setdefault(plan.timing_key(record["cell"]), []).append(record["seconds"])
    return found


def write(folder: Path, campaign: str, planned: dict[str, Any]) -> None:
    """Write plan.json whole or not at all, with what made it; a resumed campaign keeps its own."""
    evidence = {
        "campaign": campaign,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "controller": controller_facts(),
        "sha256": plan_sha256(planned),
    }
    text = json.dumps({**planned, **evidence}, indent=1)
    write_texts({folder / "plan.json": text + "\n"}, False, False)


def set_aside(folder: Path, record: dict[str, Any]) -> None:
    """Keep a repeat that did not end well beside the one to come, as attempt 1, 2, …"""
    log = folder / record["log"]
    number = 1
    while log.with_suffix(f".attempt{number}.json").exists():
        number += 1
    kept = log.with_suffix(f".attempt{number}.out")
    if log.exists():
        # Two names for a moment: killed in between, no record ever stands without its log.
        kept.unlink(missing_ok=True)
        os.link(log, kept)
    log.with_suffix(".run.json").rename(log.with_suffix(f".attempt{number}.json"))
    log.unlink(missing_ok=True)


def set_aside_unrecorded(folder: Path, log: str) -> None:
    """Keep what a repeat printed that was cut off before its record, out of the next one's way."""
    path = folder / log
    if path.exists():
        path.rename(path.with_suffix(".unrecorded.out"))


_ATTEMPT = re.compile(r"\.attempt(\d+)\.json$")


def attempts(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the records of earlier attempts by the path of the log, oldest first.

    One that cannot be read is left out: it settles nothing.
    """
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for path in folder.glob("logs/**/*.attempt*.json"):
        number = _ATTEMPT.search(path.name)
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            entry = {"ending": record["ending"], **record}
            if number:
                found.setdefault(record["log"], []).append((int(number.group(1)), entry))
        except (ValueError, KeyError, TypeError):
            continue
    return {log: [entry for _, entry in sorted(many, key=_first)] for log, many in found.items()}


def now() -> str:
    """Return the time, UTC, ISO 8601, to the microsecond: records are put in order by it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def write_record(folder: Path, record: dict[str, Any]) -> Path:
    """Write a run record beside its log, whole or not at all; return its path."""
    path = (folder / record["log"]).with_suffix(".run.json")
    part = path.with_name(path.name + ".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    os.replace(part, path)
    return path


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]
