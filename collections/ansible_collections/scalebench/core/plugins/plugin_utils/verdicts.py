"""What a campaign is compared with and held against, as the user named it, and the verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from ansible_collections.scalebench.core.plugins.module_utils.comparison.baseline import (
    compare_campaigns,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_file import check_gate
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_rules import (
    judge_gate,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_text import (
    broken_rules,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.baseline_reading import (
    find_baseline,
    read_baseline,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import read_yaml

__all__ = ["ARGUMENTS", "baseline_of", "gate_answer", "gate_of", "verdicts"]

# Arguments of every module that compares results; doc_fragments/verdicts.py documents them.
ARGUMENTS: dict[str, Any] = {
    "baseline": {"type": "str", "default": ""},
    "equivalence_margin": {"type": "float", "default": 0.02},
    "gate": {"type": "str", "default": ""},
    "results_dir": {"type": "path", "default": "results"},
    "gates_dir": {"type": "path", "default": "gates"},
    "strategy": {"type": "str", "default": "auto"},
    "parameters": {"type": "dict", "default": {}},
}


def baseline_of(args: dict[str, Any], own: Path | None) -> dict[str, Any] | None:
    """Return the results of the baseline, None where none is asked for.

    :param args: ARGUMENTS.
    :param own: the folder of the campaign that is to be compared with it.
    :raises ValueError: there is none, or it cannot be used.
    """
    if not args["baseline"]:
        return None
    try:
        path = find_baseline(args["baseline"], Path(args["results_dir"]), own)
        return read_baseline(path, args["strategy"], args["parameters"])
    except OSError as error:
        raise ValueError(f"baseline {args['baseline']}: {error.strerror or error}") from None
    except ValueError as error:
        # The archive's own errors name it already.
        said = str(error).removeprefix(f"{args['baseline']}: ")
        raise ValueError(f"baseline {args['baseline']}: {said}") from None


def gate_of(args: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rules of the gate, None where none is asked for.

    :param args: ARGUMENTS; the gate is a path, or the name of a file in ``gates_dir``.
    :raises ValueError: there is none, or it is broken.
    """
    if not args["gate"]:
        return None
    given, folder = Path(args["gate"]).expanduser(), Path(args["gates_dir"])
    named = [folder / f"{args['gate']}.yml", folder / args["gate"]]
    path = next((one for one in (given, *named) if one.is_file()), None)
    try:
        if path is None:
            known = ", ".join(sorted(one.stem for one in folder.glob("*.yml"))) or "none"
            raise ValueError(f"no file, and no gate in {folder}: there are {known}")
        content = read_yaml(path)
        return check_gate(content, with_baseline=bool(args["baseline"]))
    except OSError as error:
        raise ValueError(f"gate {args['gate']}: {error.strerror or error}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise ValueError(f"gate {args['gate']}: {error}") from None


def verdicts(results: dict[str, Any], args: dict[str, Any], own: Path) -> dict[str, Any]:
    """Return what is added to results: ``comparison`` and ``gate``, of those that are asked for.

    :param args: as of ``baseline_of``.
    :param own: the folder that the results are of.
    :raises ValueError: baseline or gate cannot be used.
    """
    rules, baseline = gate_of(args), baseline_of(args, own)
    found: dict[str, Any] = {}
    if baseline:
        try:
            compared = compare_campaigns(
                results, baseline, args["equivalence_margin"], args["baseline"]
            )
        except ValueError as error:
            raise ValueError(f"baseline {args['baseline']}: {error}") from None
        found["comparison"] = compared
    if rules:
        found["gate"] = judge_gate({**results, **found}, rules, args["gate"])
    return found


def gate_answer(results: dict[str, Any]) -> dict[str, Any]:
    """Return what role gate needs: ``broken_rules``, and ``failures`` that no rule allows."""
    failures = (results.get("gate") or results)["failures"]
    return {"broken_rules": broken_rules(results), "failures": failures}
