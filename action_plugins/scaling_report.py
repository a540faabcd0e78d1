"""Writes the report on a campaign or on a tree of logs, from their files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.module_utils.acceptance.acceptance_text import (
    acceptance_text,
)
from ansible_collections.scalebench.core.plugins.module_utils.evidence.archive import CHECKSUMS
from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import shown
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.published.against_published import (
    against_published,
)
from ansible_collections.scalebench.core.plugins.module_utils.published.conditions import (
    check_stated,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.plots import FIGURES
from ansible_collections.scalebench.core.plugins.module_utils.report.text import (
    reference_output,
    terminal_table,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.prediction import (
    predictions,
    wanted_topologies,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import only_facts
from ansible_collections.scalebench.core.plugins.plugin_utils.acceptances import (
    KEPT,
    judged,
    kept_with,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
    needs_matplotlib,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import write_only
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import (
    read_campaign,
    read_log_tree,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.report_files import (
    json_text,
    report_files,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.results_reading import read_published
from ansible_collections.scalebench.core.plugins.plugin_utils.verdicts import (
    ARGUMENTS,
    gate_answer,
    verdicts,
)


class ActionModule(ControllerAction):
    """Implements module scaling_report."""

    ARGUMENTS: ClassVar = {
        "campaign_dir": {"type": "path", "default": ""},
        "log_dir": {"type": "path", "default": ""},
        "archive": {"type": "path", "default": ""},
        "output_dir": {"type": "path", "default": "./result"},
        "templates": {"type": "list", "elements": "path", "required": True},
        "conditions": {"type": "dict", "default": {}},
        "target_accuracy": {"type": "float"},
        "published": {"type": "path", "default": ""},
        "plots": {"type": "bool", "default": True},
        "png": {"type": "bool", "default": False},
        "predict": {"type": "str", "default": ""},
        "acceptance": {"type": "str", "default": ""},
        "acceptances_dir": {"type": "path", "default": "acceptance"},
        **ARGUMENTS,
    }

    def answer(self, args):
        """Write the files of the report that differ; return what later tasks need."""
        if bool(args["campaign_dir"]) == bool(args["log_dir"]):
            raise ValueError("set either campaign_dir or log_dir")
        folder = Path(args["campaign_dir"] or args["output_dir"])
        if self._task.check_mode and args["campaign_dir"] and not folder.exists():
            return {"skipped": True, "skip_reason": f"{folder}: nothing was measured yet"}
        measured, kept = _measured(args)
        templates = [Path(template) for template in args["templates"]]
        with needs_matplotlib("report_plots"):
            files = report_files(measured, templates, args["plots"], args["png"])
        results = measured.results
        table = terminal_table(results)
        blocks = [table, f"Report: {folder}/report.html\n        {folder}/report.md"]
        if args["log_dir"]:
            name = f"{results['campaign']}_result.json"
            files[name] = json_text(only_facts(results), indent=None).encode("utf-8")
            # Not a Path, which drops the "./" that the reference scripts print.
            saved = f"{args['output_dir'].rstrip('/')}/{name}"
            blocks.insert(0, reference_output(results, args["log_dir"], saved))
        # An unpacked archive has its own, and keeps the files that were signed.
        if kept and not (folder / CHECKSUMS).is_file():
            own = {key: kept[key] for key in ("file", "content")}
            files[KEPT] = json_text(own).encode("utf-8")
        contents = {folder / name: content for name, content in files.items()}
        pngs = [folder / f"{figure}.png" for figure in FIGURES] if args["plots"] else []
        stale = [path for path in pngs if path not in contents]
        return {
            **write_only(contents, stale, self._task.check_mode, self._task.diff),
            "folder": str(folder),
            "facts": results["facts"],
            "counts": results["counts"],
            "failures": results["failures"],
            "gate": gate_answer(results),
            "acceptance": _acceptance(results, folder, args["acceptance"]),
            "table": table,
            "text": "\n\n".join(blocks),
        }


def _acceptance(results, folder, given):
    """Return the verdict on what was promised, and its lines as text; empty without promises."""
    if "acceptance" not in results:
        return {}
    found = results["acceptance"]
    said = "".join(f"\nresults.json is not what the logs give: {one}" for one in found["differs"])
    if not given and (folder / CHECKSUMS).is_file():
        said += (
            "\nThe promises are those in the archive; -e acceptance=OWN_FILE says whether they are"
            " your own."
        )
    return {"verdict": found["verdict"], "text": acceptance_text(results) + said}


def _kept(measured, args):
    """Return what was promised of a campaign; None where nothing was, or its file is damaged.

    :raises ValueError: as :func:`.kept_with`, where the user asks for a verdict.
    """
    try:
        return kept_with(measured.folder, args["acceptance"], Path(args["acceptances_dir"]))
    except ValueError as error:
        if args["acceptance"]:
            raise
        results = measured.results
        results["unmatched"].append({"path": KEPT, "reason": shown(plain(error))})
        results["counts"]["unmatched"] += 1
        return None


def _measured(args):
    """Return what is reported on, with comparison, gate, acceptance and published results.

    Beside it, what was promised of it; None where nothing was.
    """
    kept = None
    if args["log_dir"]:
        stated = check_stated(args["conditions"])
        rule = (args["strategy"], args["parameters"])
        measured = read_log_tree(args["log_dir"], *rule, args["target_accuracy"])
        if stated:
            measured.results["provenance"]["options"]["conditions"] = stated
    else:
        folder = Path(args["campaign_dir"])
        measured = read_campaign(folder, args["strategy"], args["parameters"])
    results = measured.results
    asked = wanted_topologies(args["predict"])
    if asked:
        predicted = predictions(results["cells"], asked)
        if predicted:
            results["predictions"] = predicted
    archive = Path(args["archive"]) if args["archive"] else None
    if args["published"]:
        rows = read_published(Path(args["published"]))
        results["published"] = against_published(results, rows, args["equivalence_margin"])
    results.update(verdicts(results, args, measured.folder))
    if args["campaign_dir"]:
        kept = _kept(measured, args)
    if kept:
        results["acceptance"] = judged(results, kept, measured.folder, archive)
    return measured, kept
