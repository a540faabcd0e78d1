"""The baseline and the gate that a user named, and the verdicts on results."""

from __future__ import annotations

import tempfile
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
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.treatments import (
    compare_treatments,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_reading import head, verify
from ansible_collections.scalebench.core.plugins.plugin_utils.files import read_yaml
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import (
    read_campaign,
    read_log_tree,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.results_reading import read_results

__all__ = ["ARGUMENTS", "baseline_of", "gate_answer", "gate_of", "verdicts"]


def _find_baseline(given: str, results_dir: Path, own: Path | None) -> Path:
    """Return the folder or file of a baseline.

    :param given: a campaign's name, or the path of its folder, its archive, a results.json, or a
        tree of logs.
    :param results_dir: the folder of all campaigns.
    :param own: the folder of the campaign that is to be compared with it.
    :raises ValueError: there is none, or it is the campaign itself.
    """
    named = results_dir / given
    path = named if (named / "plan.json").is_file() else Path(given).expanduser()
    if not path.exists():
        known = sorted(plan.parent.name for plan in results_dir.glob("*/plan.json"))
        there = f"there are {', '.join(known[-8:])}" if known else "there is none"
        raise ValueError(f"no file or folder, and no campaign in {results_dir}: {there}")
    folder = path.parent if path.name == "results.json" else path
    if own and own.resolve() == folder.resolve():
        raise ValueError("it is the campaign itself")
    return path


def _read_baseline(path: Path, strategy: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a baseline, computed anew by the same rule where its logs are there.

    :param path: of ``_find_baseline``.
    :param strategy: rule from the observations of a log to its throughput, or ``auto``.
    :param parameters: of that rule.
    :raises ValueError: it is none of these kinds, or is damaged.
    :raises OSError: it cannot be read.
    """
    if path.is_dir():
        return _of_folder(path, strategy, parameters)
    if path.suffix == ".json":
        return read_results(path)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / head(path)[0]
        verify(path, folder)
        return _of_folder(folder, strategy, parameters)


def _of_folder(folder: Path, strategy: str, parameters: dict[str, Any]) -> dict[str, Any]:
    if (folder / "plan.json").is_file() or any(folder.rglob("*.run.json")):
        return read_campaign(folder, strategy, parameters).results
    if (folder / "results.json").is_file():
        return read_results(folder / "results.json")
    return read_log_tree(str(folder), strategy, parameters).results


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
        path = _find_baseline(args["baseline"], Path(args["results_dir"]), own)
        return _read_baseline(path, args["strategy"], args["parameters"])
    except OSError as error:
        raise ValueError(f"baseline {args['baseline']}: {error.strerror or error}") from None
    except ValueError as error:
        # The archive's own errors name it already.
        problem = str(error).removeprefix(f"{args['baseline']}: ")
        raise ValueError(f"baseline {args['baseline']}: {problem}") from None


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
    """Return what is added to results: ``treatments`` of a campaign that compares variants,
    ``comparison`` and ``gate`` of those that are asked for.

    :param args: as of ``baseline_of``.
    :param own: the folder that the results are of.
    :raises ValueError: baseline or gate cannot be used.
    """
    rules, baseline = gate_of(args), baseline_of(args, own)
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
                results, [baseline], args["equivalence_margin"], args["baseline"]
            )
        except ValueError as error:
            raise ValueError(f"baseline {args['baseline']}: {error}") from None
        added["comparison"] = compared
    if rules:
        added["gate"] = judge_gate({**results, **added}, rules, args["gate"])
    return added


def gate_answer(results: dict[str, Any]) -> dict[str, Any]:
    """Return what role gate needs.

    :returns: ``broken_rules``, those that fail the gate; ``undecided_rules``, the others that are
        undecided; ``failures`` that no rule allows.
    """
    failures = (results.get("gate") or results)["failures"]
    rules = {"broken_rules": broken_rules(results), "undecided_rules": undecided_rules(results)}
    return {**rules, "failures": failures}
