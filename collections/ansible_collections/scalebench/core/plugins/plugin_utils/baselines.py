"""The baseline that a user named: one or more campaigns, found and read."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.history.baselines import (
    MOST_DAYS,
    check_hardware,
    last,
    latest,
    names_campaigns,
)
from ansible_collections.scalebench.core.plugins.module_utils.history.trends import conditions
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import listed
from ansible_collections.scalebench.core.plugins.module_utils.results.provenance import (
    calendar_day,
    unix_seconds,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_reading import head, verify
from ansible_collections.scalebench.core.plugins.plugin_utils.files import user_path
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import (
    read_campaign,
    read_log_tree,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.results_reading import (
    read_campaigns,
    read_results,
)

__all__ = ["Baseline", "baseline_of"]

# Entries of campaigns (``trends.entry``), and those that cannot be read.
Others = tuple[list[dict[str, Any]], list[dict[str, Any]]]


@dataclass
class Baseline:
    """Results of each campaign of a baseline; each ``reason`` why other ``campaigns`` are not.

    ``history``: results of earlier campaigns of the same hardware and plan, of the baseline or not,
    which show how days differ.
    """

    campaigns: list[dict[str, Any]]
    not_chosen: list[dict[str, Any]] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)


def baseline_of(
    args: dict[str, Any],
    own: Path | None,
    cells: Sequence[Mapping[str, Any]] = (),
    nodes: Mapping[str, Any] | None = None,
    created: Any = None,
) -> Baseline | None:
    """Return the results of the baseline, None where none is asked for.

    :param args: ``verdicts.ARGUMENTS``.
    :param own: the folder of the campaign that is to be compared with it.
    :param cells: its cells, planned or measured, by which ``last:4`` chooses; without any it
        chooses nothing.
    :param nodes: its fingerprints by name; ``created`` when it was planned, None for now.
    :raises ValueError: there is none, or it cannot be used.
    """
    given = args["baseline"]
    if not given:
        return None
    ours = [conditions(cell, nodes or {}) for cell in cells]
    before = created if unix_seconds(created) is not None else ""
    folder = Path(args["results_dir"])
    try:
        others = _others(folder, own) if ours and folder.is_dir() else ([], [])
        count = last(given)
        if count is None:
            found = Baseline(_read_all(_find_all(given, folder, own), args))
        elif cells:
            found = _latest(args, others, ours, before, count)
        else:
            return Baseline([])
        found.history = _history(folder, others, ours, before, found.campaigns)
        check_hardware(found.campaigns)
    except OSError as error:
        raise ValueError(f"baseline {given}: {error.strerror or error}") from None
    except ValueError as error:
        # The archive's own errors name it already.
        problem = str(error).removeprefix(f"{given}: ")
        raise ValueError(f"baseline {given}: {problem}") from None
    return found


def _others(folder: Path, own: Path | None) -> Others:
    """Return the campaigns in a folder without the own one, and those that cannot be read."""
    mine = own.name if own and own.resolve().parent == folder.resolve() else None
    entries, left_out = (
        [one for one in every if one["folder"] != mine] for every in read_campaigns(folder)
    )
    return entries, left_out


def _history(
    folder: Path,
    others: Others,
    ours: list[dict[str, Any]],
    before: str,
    baselines: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return the results of the campaigns of the last days, as they were computed.

    None later than the baseline: a slow-down that lasts would otherwise count, from its second
    day on, as how days differ, and hide itself. Their logs are not read again: how days differ
    hardly depends on the rule.
    """
    newest = max((str(one["provenance"].get("created") or "") for one in baselines), default="")
    entries = [one for one in others[0] if not newest or one["created"] <= newest]
    days = {one["folder"]: calendar_day(one["created"]) for one in entries}
    # One repeat of a campaign that was broken off does not stand for its day.
    chosen, _ = latest(entries, others[1], ours, before, len(days), repeats=2)
    last_days = sorted({days[name] for name in chosen})[-MOST_DAYS:]
    return [
        read_results(folder / name / "results.json") for name in chosen if days[name] in last_days
    ]


def _latest(
    args: dict[str, Any], others: Others, ours: list[dict[str, Any]], before: str, count: int
) -> Baseline:
    folder = Path(args["results_dir"])
    # Where others have more, one repeat of a campaign that was broken off is no day.
    chosen, apart = latest(*others, ours, before, count, repeats=2)
    if not chosen:
        chosen, apart = latest(*others, ours, before, count)
    if not chosen:
        reasons = "; ".join(f"{listed(one['campaigns'])}: {one['reason']}" for one in apart[:5])
        raise ValueError(
            f"no campaign in {folder} has the same hardware and plan: {reasons or 'it is empty'}"
        )
    return Baseline(_read_all([folder / name for name in chosen], args), apart)


def _find_all(given: str, results_dir: Path, own: Path | None) -> list[Path]:
    """Return the folder or file of each campaign of a list with commas.

    :raises ValueError: see :func:`_find`; a pattern that no campaign fits.
    """
    if (results_dir / given).exists() or user_path(given).exists():
        return [_find(given, results_dir, own)]
    found: list[Path] = []
    for name in filter(None, map(str.strip, given.split(","))):
        if last(name) is not None:
            raise ValueError(f"{name} stands alone, not in a list")
        found += _fitting(name, results_dir, own) or [_find(name, results_dir, own)]
    if not found:
        raise ValueError("it names no campaign")
    return list(dict.fromkeys(found))


def _fitting(pattern: str, results_dir: Path, own: Path | None) -> list[Path]:
    """Return the campaigns, without the own one, whose names fit a pattern."""
    if not names_campaigns(pattern) or user_path(pattern).exists():
        return []
    fitting = [
        path
        for path in sorted(plan.parent for plan in results_dir.glob("*/plan.json"))
        if fnmatchcase(path.name, pattern) and not (own and own.resolve() == path.resolve())
    ]
    if not fitting:
        raise ValueError(f"no campaign in {results_dir} fits {pattern}: {_known(results_dir)}")
    return fitting


def _known(results_dir: Path) -> str:
    known = sorted(plan.parent.name for plan in results_dir.glob("*/plan.json"))
    return f"there are {', '.join(known[-8:])}" if known else "there is none"


def _read_all(paths: Sequence[Path], args: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the results of each; an error of one of several names it."""
    found = []
    for path in paths:
        try:
            found.append(_read(path, args["strategy"], args["parameters"]))
        except ValueError as error:
            raise ValueError(f"{path}: {error}" if len(paths) > 1 else str(error)) from None
    return found


def _find(given: str, results_dir: Path, own: Path | None) -> Path:
    """Return the folder or file of a baseline.

    :param given: a campaign's name, or the path of its folder, its archive, a results.json, or a
        tree of logs.
    :param results_dir: the folder of all campaigns.
    :param own: the folder of the campaign that is to be compared with it.
    :raises ValueError: there is none, or it is the campaign itself.
    """
    named = results_dir / given
    path = named if (named / "plan.json").is_file() else user_path(given)
    if not path.exists():
        raise ValueError(
            f"no file or folder, and no campaign in {results_dir}: {_known(results_dir)}"
        )
    folder = path.parent if path.name == "results.json" else path
    if own and own.resolve() == folder.resolve():
        raise ValueError("it is the campaign itself")
    return path


def _read(path: Path, strategy: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a baseline, computed anew by the same rule where its logs are there.

    :param path: of ``_find``.
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
