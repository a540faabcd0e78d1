"""The lines of a training to a target accuracy, in AI-Rank's form, whatever the framework.

Accuracies are printed as shares: a reader of this form takes a log without any above 1 for one of
shares. Standard library only and runs on Python 3.7, as the oldest frameworks need.
"""

from __future__ import annotations

MARK = "- AI-Rank-log"


def begin_line(time):
    """Say when the training began.

    :param time: seconds since 1970, as all times here; before the framework was even imported.
    """
    return f"{MARK} {time:.3f} test_begin"


def accuracy(correct, images):
    """Return top-1 accuracy in percent, as exact as it is printed.

    :raises ValueError: if there were no images.
    """
    if not images:
        raise ValueError("no image was evaluated")
    return round(100 * correct / images, 4)


def evaluation_line(time, percent, epochs):
    """State one evaluation.

    :param percent: of :func:`accuracy`.
    :param epochs: how many were trained before it.
    """
    return f"{MARK} {time:.3f} eval_accuracy:{percent / 100:.6f}, total_epoch_cnt:{epochs}"


def end_lines(time, training):
    """Close the training.

    :param training: has the time of its `begin`, and of `reached`, the first evaluation at the
        target; None where none was.
    :returns: a list of lines.
    """
    lines = [f"{MARK} {time:.3f} total_use_time:{time - training.begin:.3f}sec"]
    if training.reached is not None:
        to_target = training.reached - training.begin
        lines.insert(0, f"{MARK} {time:.3f} target_quality_time:{to_target:.3f}sec")
    return [*lines, f"{MARK} {time:.3f} test_finish"]
