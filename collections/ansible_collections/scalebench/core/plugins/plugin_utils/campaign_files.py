"""The files of a campaign on the controller: its plan, run records and failed attempts."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import re
import shutil
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import yaml
from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import shown
from ansible_collections.scalebench.core.plugins.module_utils.node import claim, durable
from ansible_collections.scalebench.core.plugins.module_utils.node.fitness import writable
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.benchmark_file import (
    check_benchmark,
)
from ansible_collections.scalebench.core.plugins.module_utils.records.plans import (
    Plan,
    check_plan,
)
from ansible_collections.scalebench.core.plugins.module_utils.records.runs import (
    RunRecord,
    check_run,
)
from ansible_collections.scalebench.core.plugins.module_utils.running.policy import (
    MOST_REPEATS,
    check_adaptive,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import (
    in_utf8,
    inside,
    leads_outside,
    open_regular,
    read_json,
    read_yaml,
    remove_partial_below,
    write_texts,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.plan_evidence import (
    controller_facts,
    plan_sha256,
)

__all__ = [
    "PLAN",
    "attempts",
    "check_logs",
    "check_room",
    "earlier",
    "hold",
    "kept_plan",
    "load_benchmarks",
    "lost_log",
    "note_changes",
    "now",
    "read_plan",
    "read_record",
    "records",
    "set_aside",
    "set_aside_unrecorded",
    "write",
    "write_record",
]

PLAN = "plan.json"
Problems = list[dict[str, str]]
# Number of earlier campaigns from which durations are estimated.
RECENT = 5
# Bytes of a record; that of a hundred thousand ranks has eighty million.
_LARGEST_RECORD = 1 << 27
_ATTEMPT = re.compile(r"\.attempt(\d+)\.json$")


def load_benchmarks(folder: Path) -> dict[str, Any]:
    """Return the validated benchmark definitions of a folder by name.

    :raises ValueError: there is none, or one is invalid; the message names the file.
    """
    definitions = {}
    for path in sorted(folder.glob("*.yml")):
        try:
            content = read_yaml(path)
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise ValueError(f"{path}: {error}") from None
        definition = check_benchmark(content, str(path))
        if definition["benchmark"] != path.stem:
            raise ValueError(
                f"{path}: benchmark: {definition['benchmark']!r} is not the file's name: write"
                f" {path.stem}, or rename the file"
            )
        definitions[path.stem] = definition
    if not definitions:
        raise ValueError(f"{folder}: no benchmark file (*.yml) there")
    return definitions


def check_room(folder: Path, free_mib: int) -> None:
    """Check that results can be written, and the free space on their disk.

    :raises ValueError: they cannot, or less than ``free_mib`` MiB are free.
    """
    instead = "or give -e campaign_results_dir=DIR"
    folder = folder.absolute()
    # Path's own methods raise an error below a folder that may not be entered.
    while not os.path.exists(folder):
        if os.path.islink(folder):
            target = folder.readlink()
            raise ValueError(
                f"{folder}: a link to {target}, which is not there. Mend it, {instead}"
            )
        folder = folder.parent
    if not folder.is_dir():
        raise ValueError(f"{folder}: results need a folder, this is a file. Move it, {instead}")
    if not writable(str(folder)):
        raise ValueError(
            f"{folder}: not to be written by this account, or its disk is read-only. Change that,"
            f" {instead}"
        )
    free = shutil.disk_usage(folder).free // 2**20
    if free < free_mib:
        raise ValueError(
            f"{folder}: {free} MiB are free on the controller, {free_mib} are needed"
            " (campaign_free_mib). Remove old campaigns"
        )


def check_logs(folder: Path) -> None:
    """Refuse a campaign whose logs are elsewhere, since no link out of its folder is followed.

    :raises ValueError: ``logs`` is a link that leads out of the folder.
    """
    _refuse_link(folder, folder / "logs")


def _refuse_link(folder: Path, path: Path) -> None:
    if leads_outside(folder, path):
        raise ValueError(
            f"{path} is a link that leads out of the campaign's folder. Move the whole folder"
            f" there and make {folder} the link, or give -e campaign_results_dir=DIR"
        )


def read_plan(folder: Path, to_continue: bool = False) -> Plan:
    """Return the plan of a campaign.

    :param to_continue: check also what bench.yml needs to continue the campaign.
    :raises ValueError: it is damaged; what is wrong in plan.json.
    :raises OSError: it cannot be read.
    """
    try:
        found = check_plan(read_json(folder / PLAN, folder=folder), to_continue)
        options = found["options"]
        if options.get("half_width"):
            for cell in found["cells"]:
                most = options.get("max_repeats", MOST_REPEATS)
                check_adaptive(cell.get("repeats", 0), most, options["half_width"])
        return found
    except ValueError as error:
        raise ValueError(f"{PLAN} is not a plan: {error}") from None


def kept_plan(folder: Path) -> dict[str, Any]:
    """Return the plan of an existing campaign; empty for a new one.

    :raises ValueError: the folder is not a campaign's, or its plan is damaged or logs elsewhere.
    """
    check_logs(folder)
    if (folder / PLAN).exists():
        try:
            kept = read_plan(folder, to_continue=True)
        except ValueError as error:
            raise ValueError(
                f"{folder}: {error}. Restore the file, or give another -e campaign=NAME"
            ) from None
        for directory in sorted({cell["directory"] for cell in kept["cells"]}):
            _refuse_link(folder, folder / "logs" / directory)
        return dict(kept)
    # A claim and a partial file are left by a controller that was killed before its first plan.
    if folder.exists() and any(
        path.suffix != ".part" and path.name not in claim.FILES for path in folder.iterdir()
    ):
        raise ValueError(
            f"{folder} is not a campaign: it contains files but no plan.json. Restore that, or give"
            " another -e campaign=NAME"
        )
    return {}


def hold(folder: Path, campaign: str) -> None:
    """Have one ansible-playbook at a time run a campaign, whatever nodes it uses.

    What one that was killed was writing is removed.

    The claims of the nodes do not tell: runs with other nodes each (--limit) meet on none. What
    another machine or container holds is taken over, since nothing is seen of it here.

    :raises ValueError: another ansible-playbook of this machine runs it now.
    """
    playbook = multiprocessing.parent_process()
    identity = claim.identity(playbook.pid if playbook and playbook.pid else os.getpid())
    mine = cast(claim.Claim, {"campaign": campaign, "taken": now(), **(identity or {})})
    holder = claim.take(str(folder), mine)
    # Another that continues the campaign too may take it over in between.
    while holder is not None:
        here = all(holder.get(key) == mine.get(key) for key in ("boot_id", "pid_namespace"))
        if here and not claim.has_ended(holder):
            raise ValueError(
                f"{folder}: process {holder['pid']} of this machine has been running campaign"
                f" {campaign} since {(holder.get('taken') or '?')[:19]}Z. Wait for it, or end it,"
                " or give another -e campaign=NAME"
            )
        holder = claim.take(str(folder), mine, dead=holder)
    # Once, and not each time that this ansible-playbook plans what is left.
    if (claim.held(str(folder)) or {}).get("taken") == mine["taken"]:
        remove_partial_below(folder)


def read_record(folder: Path, path: str) -> RunRecord:
    """Return the run record in a file; its log is the one beside it.

    :param path: of a ``.run.json`` or ``.attempt<n>.json``, relative to the campaign's folder.
    :raises ValueError: it is damaged.
    :raises OSError: it cannot be read.
    """
    path.encode("utf-8")  # A name in another encoding is refused: no report could show it.
    log = f"{_ATTEMPT.sub('', path.removesuffix('.run.json'))}.log"
    record = check_run(read_json(folder / path, _LARGEST_RECORD, folder), log)
    record.update({key: shown(record[key]) for key in ("reason", "nodes") if key in record})
    return record


def records(folder: Path, problems: Problems | None = None) -> dict[str, RunRecord]:
    """Return the run records of a campaign by the path of the log, relative to the campaign.

    Damaged records, and those whose log is empty or a link out of the folder, are left out, so that
    their repeats run again.

    :param problems: gets ``path`` and ``reason`` of each that is damaged.
    """
    return {record["log"]: record for record in _undamaged(folder, "*.run.json", problems)}


def attempts(folder: Path, problems: Problems | None = None) -> dict[str, list[RunRecord]]:
    """Return the records of earlier attempts by the path of the log, oldest first.

    Damaged records are left out.

    :param problems: as of :func:`records`.
    """
    by_log: dict[str, list[RunRecord]] = {}
    for record in _undamaged(folder, "*.attempt*.json", problems):
        by_log.setdefault(record["log"], []).append(record)
    return by_log


def _undamaged(folder: Path, name: str, problems: Problems | None) -> list[RunRecord]:
    read: list[RunRecord] = []
    if leads_outside(folder, folder / "logs"):
        if problems is not None:
            problems.append({"path": "logs", "reason": "it leads out of the campaign's folder"})
        return read
    for file in sorted(folder.glob(f"logs/**/{name}"), key=_by_attempt):
        path = str(file.relative_to(folder))
        try:
            record = read_record(folder, path)
            lost = lost_log(folder, record)
            if lost:
                raise ValueError(lost)
            read.append(record)
        except (ValueError, OSError) as error:
            path = in_utf8(path)
            if problems is not None:
                problems.append({"path": path, "reason": shown(f"it cannot be read: {error}")})
    return read


def lost_log(folder: Path, record: RunRecord) -> str:
    """Return why the report of a record could have no figure, so that its repeat runs again."""
    try:
        log = inside(folder, record["log"])  # no link out of the folder is followed
    except ValueError as error:
        return str(error)
    return "its log is empty" if record["ending"] == "ok" and _is_empty(log) else ""


def _is_empty(log: Path) -> bool:
    """Return whether a log lost its content, as by a damaged disk; of one that is gone, False.

    Zeros alone are none; a program that truncates its own output leaves some before the rest.
    """
    try:
        with open_regular(log) as file:
            pieces = iter(lambda: file.read(1 << 18), b"")
            return not any(piece.strip(b"\0") for piece in pieces)
    except (OSError, ValueError):
        return False


def _by_attempt(path: Path) -> tuple[str, int]:
    """Return what sorts attempt 10 after attempt 9."""
    number = _ATTEMPT.search(path.name)
    return _ATTEMPT.sub("", str(path)), int(number[1]) if number else 0


def earlier(results: Path) -> dict[str, list[float]]:
    """Return the seconds of the repeats of the latest campaigns by ``plan.timing_key``.

    Damaged records, and those without a time or a place, tell nothing.
    """
    seconds: dict[str, list[float]] = {}
    plans = []
    for path in results.glob("*/plan.json"):
        # A link that leads nowhere, or a folder that is being removed.
        with contextlib.suppress(OSError):
            plans.append((path.stat().st_mtime, path))
    for _, path in sorted(plans)[-RECENT:]:
        for record in records(path.parent).values():
            placed = {"directory", "name"} <= record["cell"].keys()
            if record["ending"] == "ok" and placed and record.get("seconds"):
                seconds.setdefault(plan.timing_key(record["cell"]), []).append(record["seconds"])
    return seconds


def planned_nodes(results: str, campaign: str) -> dict[str, str]:
    """Return the hosts of a campaign's nodes by name; none where there is no such campaign yet."""
    kept = kept_plan(Path(results) / campaign) if campaign else {}
    return {name: kept.get("hosts", {}).get(name, name) for name in kept.get("nodes", ())}


def write(folder: Path, campaign: str, planned: dict[str, Any]) -> None:
    """Write plan.json atomically, with the evidence of what made it."""
    evidence = {
        "campaign": campaign,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "controller": controller_facts(),
        "sha256": plan_sha256(planned),
    }
    text = json.dumps({**planned, **evidence}, indent=1)
    write_texts({folder / PLAN: text + "\n"}, False, False)


def note_changes(
    folder: Path, kept: Mapping[str, Any], planned: Mapping[str, Any], changes: list[str]
) -> None:
    """Keep in plan.json that the campaign went on after changes, and what runs from now on.

    :param kept: the plan as it is; ``planned``, the one of now.
    """
    found = {
        name: {**node, **{key: now_there[key] for key in ("frameworks",) if key in now_there}}
        for name, node in kept["nodes"].items()
        for now_there in (planned["nodes"].get(name, node),)
    }
    noted = {"at": now()[:19] + "Z", "changes": changes}
    written = {**kept, "nodes": found, "continued": [*kept.get("continued", []), noted]}
    if planned.get("workload"):
        written["workload"] = planned["workload"]
    write_texts({folder / PLAN: json.dumps(written, indent=1) + "\n"}, False, False)


def set_aside(folder: Path, record: RunRecord) -> None:
    """Rename log and record of a failed repeat to attempt 1, 2, …, before it runs again.

    :raises ValueError: they lie outside of the campaign's folder.
    """
    log = inside(folder, record["log"])
    number = 1
    while log.with_suffix(f".attempt{number}.json").exists():
        number += 1
    kept = log.with_suffix(f".attempt{number}.out")
    if log.exists():
        # A link first: if this process is killed here, the record still has its log.
        kept.unlink(missing_ok=True)
        os.link(log, kept)
    log.with_suffix(".run.json").rename(log.with_suffix(f".attempt{number}.json"))
    # The log goes only when the attempt's record and log are there after a power failure too.
    durable.sync(log.parent)
    log.unlink(missing_ok=True)


def set_aside_unrecorded(folder: Path, log: str) -> None:
    """Rename the log of a repeat without a record, before it runs again."""
    path = inside(folder, log)
    if path.exists():
        durable.replace(path, path.with_suffix(".unrecorded.out"))


def now() -> str:
    """Return the time in UTC, ISO 8601, to the microsecond; it gives the order of the records."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def write_record(folder: Path, record: RunRecord) -> Path:
    """Write a run record beside its log, atomically; return its path.

    :raises ValueError: it would lie outside of the campaign's folder.
    """
    path = inside(folder, record["log"]).with_suffix(".run.json")
    write_texts({path: json.dumps(record, indent=1) + "\n"}, False, False)
    return path
