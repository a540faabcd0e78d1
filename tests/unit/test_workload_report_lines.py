"""The lines that all trainers print, and what the reader reads from them."""

from __future__ import annotations

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs

from common import report_lines

HEADER = {
    "model": "resnet50_v1.5",
    "framework": "pytorch",
    "world_size": 2,
    "precision": "fp32",
    "batch_size_per_device": 4,
    "global_batch_size": 8,
    "image_size": 32,
}


def iteration(number: int, loss: float = 7.0213449) -> str:
    return report_lines.iteration_line(
        number, epoch=0, loss=loss, samples=8, seconds=0.6483, time=1763690000.123456
    )


def end() -> str:
    return report_lines.end_line(
        2, 61.23456, peak_memory_mib=812.44, weights_checksum="9f2c", weights_equal=True
    )


def test_an_iteration_is_one_line_of_the_documented_form():
    assert iteration(1) == (
        "iteration 1 epoch 0 loss 7.021345 throughput 12.34 images/s"
        " step_time 0.648300 s time 1763690000.123456"
    )


def test_the_throughput_is_the_global_batch_over_the_step_time():
    words = iteration(3).split()
    assert float(words[7]) == pytest.approx(8 / float(words[10]), abs=0.005)


def test_a_throughput_of_minutes_a_sample_is_printed():
    line = report_lines.iteration_line(1, epoch=0, loss=7.0, samples=1, seconds=813.0, time=0.0)
    assert " throughput 0.001230 images/s " in line


@pytest.mark.parametrize(("loss", "word"), [(float("nan"), "nan"), (float("inf"), "inf")])
def test_a_loss_that_is_not_finite_is_printed(loss, word):
    assert f" loss {word} " in iteration(1, loss)


def test_facts_are_one_json_object_per_line():
    assert report_lines.rank_line(1, 0, "node2", "vm", 4243) == (
        '[scalebench] rank {"rank":1,"local_rank":0,"node":"node2","host":"vm","pid":4243}'
    )
    assert end() == (
        '[scalebench] end {"iterations":2,"seconds":61.235,"peak_memory_mib":812.4,'
        '"weights_checksum":"9f2c","weights_equal":true}'
    )
    assert "\n" not in report_lines.error_line("bad_data", "two\nlines", 0)


def test_an_unknown_kind_of_error_is_refused():
    with pytest.raises(ValueError, match="'odd'; known: nan_loss"):
        report_lines.error_line("odd", "", 0)


def test_the_reader_reads_a_whole_log_back():
    lines = [report_lines.header_line(HEADER), iteration(1), iteration(2), end()]
    reading = logs.read("\n".join(lines) + "\n")
    assert reading["reader"] == "scalebench"
    assert {key: reading["identity"][key] for key in HEADER} == HEADER
    assert reading["ending"]["kind"] == "complete"
    assert [seen["throughput"] for seen in reading["observations"]] == [12.34, 12.34]
    assert reading["observations"][0]["loss"] == 7.021345
    assert reading["summary"]["weights_equal"] is True


def test_the_reader_reports_a_nan_loss():
    lines = [
        report_lines.header_line(HEADER),
        iteration(1, float("nan")),
        report_lines.error_line("nan_loss", "the loss of iteration 1 is nan", 0),
    ]
    assert logs.read("\n".join(lines) + "\n")["ending"]["kind"] == "nan_loss"
