"""Trainings to a target in a report: how long they took, how well they learnt, at what speed."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from ..layout.sections import Section, section, table
from ..stats.statistics import median

__all__ = ["sections", "sentences"]

_ABOUT = (
    "Seconds from the start of the trainer to the first evaluation at the target, start-up and"
    " evaluations included. The throughput counts training steps alone; end to end it is all"
    " images over all seconds."
)


def sections(results: Mapping[str, Any]) -> List[Section]:
    """Return the section, none where no log is of a training with evaluations.

    :param results: of ``results.build_results``, or results.json.
    """
    rows = [_row(cell, one) for cell in results["cells"] for one in _evaluated(cell)]
    if not rows:
        return []
    tables = [table("Each repeat with evaluations", rows)]
    return [section("time-to-train", "Time to train", [_ABOUT], tables, sentences(results))]


def sentences(results: Mapping[str, Any]) -> List[str]:
    """Return a sentence for each cell with a target; not to reach it is a result as well.

    :param results: as above.
    """
    said = []
    for cell in results["cells"]:
        found = [one["time_to_train"] for one in _evaluated(cell)]
        aimed = [one for one in found if one["target_accuracy"] is not None]
        if not aimed:
            continue
        target = f"{aimed[0]['target_accuracy']:g} % top-1"
        times = [one["time_to_target"] for one in aimed if one["time_to_target"] is not None]
        best = max(one["best_accuracy"] or 0.0 for one in aimed)
        if times:
            text = f"{target} after {median(times):.1f} s"
            text += f" (median of {len(times)})" if len(times) > 1 else ""
        else:
            text = f"{target} was not reached"
        if times and len(times) < len(aimed):
            text += f"; {len(aimed) - len(times)} of {len(aimed)} repeats did not reach it"
        said.append(f"{_label(cell)}: {text}; best {best:g} %.")
    return said


def _evaluated(cell: Mapping[str, Any]) -> List[Mapping[str, Any]]:
    """Return the repeats that trained to a target, or show how accuracy grew.

    Logs of other measurements may end with one evaluation, which says nothing of time to train.
    """
    told = [one for one in cell["repeats"] if one.get("time_to_train")]
    return [
        one
        for one in told
        if one["time_to_train"]["target_accuracy"] is not None
        or one["time_to_train"]["evaluations"] > 1
    ]


def _label(cell: Mapping[str, Any]) -> str:
    return "{benchmark} {precision} {variant} {topology}".format(**cell)


def _row(cell: Mapping[str, Any], repeat: Mapping[str, Any]) -> Dict[str, Any]:
    found = repeat["time_to_train"]
    return {
        "cell": _label(cell),
        "repeat": repeat["repeat"],
        "target top-1 %": found["target_accuracy"],
        "time to train s": found["time_to_target"],
        "at epoch": found["target_epoch"],
        "epochs": found["epochs"],
        "best top-1 %": found["best_accuracy"],
        "total s": found["total_time"],
        "throughput": repeat["throughput"],
        "end to end": found["end_to_end_throughput"],
    }
