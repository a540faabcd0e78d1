"""The gate that a user named, and the verdicts on results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from ansible_collections.scalebench.core.plugins.module_utils.comparison.baseline import (
    compare_campaigns,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.bisect import bisected
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_rules import (
    check_gate,
    judge_gate,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_text import (
    broken_rules,
    undecided_rules,
    unshown_rules,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.treatments import (
    compare_treatments,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.log_ratio import MARGIN
from ansible_collections.scalebench.core.plugins.plugin_utils.baselines import baseline_of
from ansible_collections.scalebench.core.plugins.plugin_utils.files import (
    read_named,
    said,
    user_path,
)

__all__ = ["ARGUMENTS", "gate_answer", "gate_of", "verdicts"]


# Arguments of every module that compares results; doc_fragments/verdicts.py documents them.
ARGUMENTS: dict[str, Any] = {
    "baseline": {"type": "str", "default": ""},
    "equivalence_margin": {"type": "float", "default": MARGIN},
    "gate": {"type": "str", "default": ""},
    "results_dir": {"type": "path", "default": "results"},
    "gates_dir": {"type": "path", "default": "gates"},
    "strategy": {"type": "str", "default": "auto"},
    "parameters": {"type": "dict", "default": {}},
}


def gate_of(args: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rules of the gate, None where none is asked for.

    :param args: ARGUMENTS; the gate is a path, or the name of a file in ``gates_dir``.
    :raises ValueError: there is none, or it is broken.
    """
    if not args["gate"]:
        return None
    path = user_path(args["gate"])
    try:
        content = read_named(path, Path(args["gates_dir"]), "gate")
        return check_gate(content, with_baseline=bool(args["baseline"]))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ValueError(f"gate {args['gate']}: {said(error)}") from None


def verdicts(results: dict[str, Any], args: dict[str, Any], own: Path) -> dict[str, Any]:
    """Return what is added to results: ``treatments`` of a campaign that compares variants,
    ``comparison`` and ``gate`` of those that are asked for.

    :param args: ARGUMENTS.
    :param own: the folder that the results are of.
    :raises ValueError: baseline or gate cannot be used.
    """
    rules, known = gate_of(args), results["provenance"]
    baseline = baseline_of(
        args, own, results["cells"], known.get("nodes") or {}, known.get("created")
    )
    added: dict[str, Any] = {}
    bisection = bisected(results)
    # The intervals of a bisection are wider: it looks at some versions many times.
    treatments = None if bisection else compare_treatments(results, args["equivalence_margin"])
    if treatments:
        added["treatments"] = treatments
    if bisection:
        added["bisection"] = bisection
    if baseline:
        try:
            compared = compare_campaigns(
                results,
                baseline.campaigns,
                args["equivalence_margin"],
                args["baseline"],
                baseline.history,
            )
        except ValueError as error:
            raise ValueError(f"baseline {args['baseline']}: {error}") from None
        added["comparison"] = {**compared, "not_chosen": baseline.not_chosen}
    if rules:
        added["gate"] = judge_gate({**results, **added}, rules, args["gate"])
    return added


def gate_answer(results: dict[str, Any]) -> dict[str, Any]:
    """Return what role gate needs.

    :returns: ``broken_rules``; ``unshown_rules``, those that are undecided and fail the gate;
        ``undecided_rules``, the others that are undecided; ``failures`` that no rule allows.
    """
    failures = (results.get("gate") or results)["failures"]
    return {
        "broken_rules": broken_rules(results),
        "unshown_rules": unshown_rules(results),
        "undecided_rules": undecided_rules(results),
        "failures": failures,
    }
