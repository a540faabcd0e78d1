"""Names what is slow by the logs of benchmark diagnose, and writes that beside them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.diagnosis_text import (
    headline,
    prometheus,
    report_markdown,
    sections,
    terminal,
)
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.exclusion import (
    suspected,
    without,
)
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.measurement import (
    measurement,
    schedule,
)
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.repeats import TOLERANCE
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.suspects import judge
from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import shown
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.running.elapsed import ended_at
from ansible_collections.scalebench.core.plugins.plugin_utils.campaign_files import records
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import (
    open_regular,
    said,
    write_texts,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.page_html import page_html
from ansible_collections.scalebench.core.plugins.plugin_utils.report_files import json_text

# Bytes of a log: one of 512 nodes with all pairs above has a few millions.
_LARGEST = 1 << 28


class ActionModule(ControllerAction):
    """Implements module diagnosis_report."""

    ARGUMENTS: ClassVar = {
        "campaign_dir": {"type": "path", "default": ""},
        "groups": {"type": "dict", "default": {}},
        "nodes": {"type": "int", "default": 0},
        "templates": {"type": "list", "elements": "path", "default": []},
    }

    def answer(self, args):
        """Write the files that differ; return the text and the suspects."""
        for name, members in args["groups"].items():
            if not isinstance(members, list) or not all(isinstance(one, str) for one in members):
                raise ValueError(
                    f"diagnosis_groups: {name} is {members!r}: write the nodes as [node, node]"
                )
        if not args["campaign_dir"]:
            text = "\n".join(schedule(args["nodes"]))
            nothing = dict.fromkeys(("verdict", "headline", "without"), "")
            return {"changed": False, "text": text, "suspects": [], **nothing}
        folder = Path(args["campaign_dir"])
        problems: list[dict[str, str]] = []
        good = _good(folder, problems)
        measured = measurement(_logs(folder, good, problems))
        unread = [shown(plain(f"{one['path']}: {one['reason']}")) for one in problems]
        measured["left_out"] = [*unread, *measured["left_out"]]
        groups = {
            name: sorted(set(members).intersection(measured["nodes"]))
            for name, members in args["groups"].items()
        }
        groups = {
            name: members
            for name, members in groups.items()
            if 2 <= len(members) < len(measured["nodes"])
        }
        verdict = judge(measured, groups)
        diagnosis = {
            "schema": 1,
            "campaign": folder.name,
            "ended": max(ended_at(run) or 0.0 for run in good.values()),
            **verdict,
            "tolerance": round(100 * (1 - math.exp(-TOLERANCE)), 1),
            "groups": groups,
            **measured,
        }
        diagnosis["exclude"] = suspected(diagnosis)
        page = {
            "title": f"What is slow: {folder.name}",
            "head": headline(diagnosis),
            "parts": sections(diagnosis),
        }
        folders = [Path(path).expanduser() for path in args["templates"]]
        texts = {
            "diagnosis.json": json_text(diagnosis),
            "diagnosis.md": report_markdown(diagnosis),
            "diagnosis.prom": prometheus(diagnosis),
            "diagnosis.html": page_html(folders, "diagnosis.html.j2", page, []),
        }
        written = write_texts(
            {folder / name: text for name, text in texts.items()},
            self._task.check_mode,
            self._task.diff,
        )
        said = {
            "text": terminal(diagnosis),
            "headline": headline(diagnosis),
            "without": without(diagnosis, f"{folder}/diagnosis.json"),
        }
        return {**written, **said, **{key: diagnosis[key] for key in ("suspects", "verdict")}}


def _good(folder, problems):
    """Return the records of the complete repeats.

    :raises ValueError: there is none; how each repeat ended.
    """
    runs = records(folder, problems)
    good = {log: run for log, run in runs.items() if run["ending"] == "ok"}
    if not good:
        ended = "; ".join(f"{log}: {run['ending']}" for log, run in runs.items())
        raise ValueError(f"{folder}: nothing was measured ({ended or 'no repeat ran'})")
    return good


def _logs(folder, good, problems):
    """Return the texts of the logs that can be read; add the others to the problems."""
    logs = {}
    for log in good:
        try:
            with open_regular(folder / log, folder) as file:
                logs[log] = file.read(_LARGEST).decode("utf-8", "replace")
        except (OSError, ValueError) as error:
            problems.append({"path": log, "reason": f"it cannot be read: {said(error)}"})
    if not logs:
        raise ValueError("; ".join(f"{one['path']}: {one['reason']}" for one in problems))
    return logs
