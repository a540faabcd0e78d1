"""Checks an acceptance before its campaign, and tells what the campaign cannot decide."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.module_utils.acceptance.acceptance_text import (
    acceptance_lines,
)
from ansible_collections.scalebench.core.plugins.module_utils.acceptance.undecidable import (
    undecidable,
)
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import (
    OPTIONS,
    duration_seconds,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import (
    declared_factors,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.acceptances import kept_with
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_signing import check_key
from ansible_collections.scalebench.core.plugins.plugin_utils.campaign_files import load_benchmarks
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
)


class ActionModule(ControllerAction):
    """Implements module acceptance_check."""

    ARGUMENTS: ClassVar = {
        "acceptance": {"type": "str", "required": True},
        "acceptances_dir": {"type": "path", "default": "acceptance"},
        "benchmarks_dir": {"type": "path", "default": "benchmarks"},
        "campaign_dir": {"type": "path", "default": ""},
        "sign_key": {"type": "path", "default": ""},
        "variables": {"type": "dict", "default": {}},
        "plan": {"type": "dict", "default": {}},
        "nodes": {"type": "dict", "default": {}},
        "preflight": {"type": "bool", "default": True},
    }

    def answer(self, args):
        """Return the options of the campaign and a description; change nothing."""
        folder = Path(args["campaign_dir"] or "/nonexistent")
        own = declared_factors(load_benchmarks(Path(args["benchmarks_dir"])))
        kept = kept_with(folder, args["acceptance"], Path(args["acceptances_dir"]), own)
        promised = kept["promised"]
        names = {*OPTIONS, *(factor.name for factor in own), "acceptance"}
        # A longer duration is compared with the stated one when the campaign is planned.
        refused = {*names, *(f"campaign_{name}" for name in names)} - {"duration", "acceptance"}
        given = sorted(refused.intersection(args["variables"]))
        if given:
            raise ValueError(
                f"-e {given[0]}: the acceptance states the options of its campaign"
                f" ({args['acceptance']}, key campaign). Change a copy of that file instead"
            )
        if args["sign_key"]:
            check_key(args["sign_key"])
        lines = [plain(f"Acceptance: {args['acceptance']}: {promised['about']}")]
        lines += [f"  {line}" for line in acceptance_lines(promised)]
        return {
            "changed": False,
            "options": promised["campaign"],
            "promises": {key: kept[key] for key in ("file", "content")},
            "text": "\n".join(lines),
            "undecidable": _undecidable(promised, args) if args["plan"] else [],
        }


def _undecidable(promised, args):
    options = dict(promised["campaign"])
    if "duration" in args["variables"]:
        options["duration"] = args["variables"]["duration"]
    promised = {**promised, "campaign": options}
    duration = duration_seconds(options["duration"]) if "duration" in options else 0.0
    seconds = max(duration, args["plan"]["seconds"])
    cells = args["plan"]["cells"]
    return undecidable(promised, cells, args["nodes"], seconds, args["preflight"])
