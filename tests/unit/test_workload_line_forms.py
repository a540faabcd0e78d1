"""The forms of an iteration's line: the readers of Paddle and OneFlow read ours."""

from __future__ import annotations

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs

from common.report_lines import end_line, header_line, oneflow_line, paddle_line

HEADER = header_line({"framework": "any", "world_size": 2, "global_batch_size": 8})
END = end_line(3, 1.5, 900.0, "00ff", True)


def lines(form, first):
    return [
        form(
            first + index,
            epoch=0,
            loss=6.5 - index,
            top1=0.125,
            top5=0.5,
            seconds=0.25,
            time=1795265799.0625 + index / 4,
            **({"rate": 0.008} if form is paddle_line else {"samples": 8}),
        )
        for index in range(3)
    ]


def test_a_step_of_paddle_has_the_form_of_paddle_1_8():
    assert lines(paddle_line, 19)[0] == (
        "2026-11-21 12:56:39,062-INFO: [Pass 0, train batch 19] \t"
        "loss 6.50000, acc1 0.12500, acc5 0.50000, lr 0.00800, elapse 0.2500 sec"
    )


def test_an_iteration_of_oneflow_ends_with_the_unix_time():
    assert lines(oneflow_line, 20)[0] == (
        "train: epoch 0, iter 20, loss: 6.500000, top_1: 0.125000, top_k: 0.500000, "
        "samples/s: 32.000 1795265799.062500"
    )


@pytest.mark.parametrize(
    ("form", "first", "reader"),
    [(paddle_line, 0, "paddle_fluid"), (oneflow_line, 1, "oneflow")],
    ids=["paddle", "oneflow"],
)
def test_the_reader_of_published_logs_reads_ours(form, first, reader):
    reading = logs.read("\n".join([HEADER, *lines(form, first), END, ""]))
    assert reading["reader"] == reader
    observations = reading["observations"]
    assert list(observations.column("throughput")) == pytest.approx([32.0] * 3)
    assert list(observations.column("loss")) == [6.5, 5.5, 4.5]
    assert reading["identity"]["world_size"] == 2
    assert reading["ending"]["kind"] == "complete"
    assert reading["summary"]["weights_checksum"] == "00ff"
