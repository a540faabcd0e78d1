"""From a log with evaluations: total time, time to a target accuracy, best accuracy."""

from __future__ import annotations

from math import isfinite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Mapping, Optional

    from ..records.runs import TimeToTrain

__all__ = ["time_to_train"]


def time_to_train(
    reading: Mapping[str, Any],
    run: Mapping[str, Any],
    target_accuracy: Optional[float] = None,
    images_per_epoch: Optional[int] = None,
) -> Optional[TimeToTrain]:
    """Return times and accuracies of one run, None where its log has neither.

    Definitions: a run starts with the first time its log prints (AI-Rank: ``test_begin``) and
    ends with the last; ``total_time`` is between them, or what the log itself says. Evaluation,
    checkpoints and start-up count. ``time_to_target`` ends with the first evaluation that is not
    below the target; without a target it is what the log says (AI-Rank's target_quality_time).
    ``end_to_end_throughput`` is epochs times images per epoch over ``total_time``; it is below
    the average throughput, which counts training steps only.

    :param target_accuracy: top-1 accuracy in percent, such as 76.1; None: what the log says.
    :param images_per_epoch: training images; None: what the log says, such as 1281167.
    :returns: ``total_time``, ``time_to_target`` in s; ``best_accuracy``, ``final_accuracy``,
        ``target_accuracy`` in percent; ``best_epoch``, ``target_epoch`` as printed;
        ``evaluations``; ``epochs``; ``end_to_end_throughput`` in images/s. None: not in the log.
    """
    summary = run["summary"]
    evaluations: List[Mapping[str, Any]] = summary.get("evaluations", [])
    if not evaluations and "total_time" not in summary and "time_to_train" not in summary:
        return None
    if target_accuracy is None:
        target_accuracy = run["identity"].get("target_accuracy")
    started = summary.get("started", run.get("started"))
    total = summary.get("total_time")
    if total is None:
        total = _seconds(started, _finished(reading, run))
        total = total if total and total > 0 else None
    best = max(evaluations, key=lambda row: row["accuracy"], default={})
    reached: Mapping[str, Any] = {}
    time_to_target = summary.get("time_to_train")
    if target_accuracy is not None:
        reached = next((row for row in evaluations if row["accuracy"] >= target_accuracy), {})
        time_to_target = _seconds(started, reached.get("timestamp"))
    total = None if total is None else round(total, 3)
    epochs = _epochs(reading, run)
    images = images_per_epoch or run["identity"].get("images_per_epoch")
    return {
        "total_time": total,
        "time_to_target": None if time_to_target is None else round(time_to_target, 3),
        "target_accuracy": target_accuracy,
        "target_epoch": reached.get("epoch"),
        "best_accuracy": best.get("accuracy"),
        "best_epoch": best.get("epoch"),
        "final_accuracy": evaluations[-1]["accuracy"] if evaluations else None,
        "evaluations": len(evaluations),
        "epochs": epochs,
        "end_to_end_throughput": epochs * images / total if epochs and images and total else None,
    }


def _seconds(started: Optional[float], finished: Optional[float]) -> Optional[float]:
    """Return the seconds between two times, None where one is missing."""
    return None if started is None or finished is None else finished - started


def _finished(reading: Mapping[str, Any], run: Mapping[str, Any]) -> Optional[float]:
    """Return the latest time in the run: of its summary, an evaluation, or an observation."""
    stamps = [run["summary"].get("finished")]
    stamps += [row["timestamp"] for row in run["summary"].get("evaluations", [])]
    column = reading["observations"].column("timestamp")
    if column is not None and run["count"]:
        stamps.append(column[run["first"] + run["count"] - 1])
    known = [stamp for stamp in stamps if stamp is not None and isfinite(stamp)]
    return max(known) if known else None


def _epochs(reading: Mapping[str, Any], run: Mapping[str, Any]) -> Optional[int]:
    """Return how many epochs were trained: observations count them from 0, AI-Rank from 1."""
    column = reading["observations"].column("epoch")
    if column is None or not run["count"]:
        return None
    of_run = column[run["first"] : run["first"] + run["count"]]
    known = [epoch for epoch in of_run if isfinite(epoch)]
    counted_from = 1 if reading["reader"] == "ai_rank" else 0
    return int(max(known)) + 1 - counted_from if known else None
