"""How a log ends is read from what the framework, the launcher or the kernel wrote."""

from __future__ import annotations

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from log_lines import lines

TRACEBACK = 'Traceback (most recent call last):\n  File "main.py", line 3, in <module>\n    run()\n'
DATA = "".join(lines("oneflow"))  # prints no end of its own
HEADER = '[scalebench] header {"model":"resnet50_v1.5","world_size":2}\n'
OURS = HEADER + "".join(lines("scalebench"))
END = '[scalebench] end {"iterations":30}\n'


def ending(text):
    return logs.read(text)["ending"]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (
            TRACEBACK + "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78"
            " GiB total capacity; 13.65 GiB already allocated)",
            "out_of_memory",
        ),
        (
            TRACEBACK + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.",
            "out_of_memory",
        ),
        (
            TRACEBACK + "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0."
            " DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes.",
            "out_of_memory",
        ),
        (
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating"
            " tensor with shape[256,64,112,112] and type float",
            "out_of_memory",
        ),
        (
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory",
            "out_of_memory",
        ),
        (
            "mxnet.base.MXNetError: [02:19:24] src/storage/./pooled_storage_manager.h:161:"
            " cudaMalloc retry failed: out of memory",
            "out_of_memory",
        ),
        (
            "ResourceExhaustedError: \n\nOut of memory error on GPU 0. Cannot allocate 39MB memory",
            "out_of_memory",
        ),
        ("terminate called after throwing an instance of 'std::bad_alloc'", "out_of_memory"),
        ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.0.", "out_of_memory"),
        (
            "F0101 12:00:00.0 cuda_allocator.cc:12] Error! : Out of memory when allocate size : 2.",
            "out_of_memory",
        ),
        (
            TRACEBACK + "tensorflow.python.training.basic_session_run_hooks."
            "NanLossDuringTrainingError: NaN loss during training.",
            "nan_loss",
        ),
        ("ERROR:tensorflow:Model diverged with loss = NaN.", "nan_loss"),
        (TRACEBACK + "KeyError: 'step'", "traceback"),
        (
            "[1,3]<stderr>:Traceback (most recent call last):\n"
            '[1,3]<stderr>:  File "a.py", line 1\n[1,3]<stderr>:ValueError: no such file',
            "traceback",
        ),
        ("terminate called after throwing an instance of 'c10::Error'", "traceback"),
        (TRACEBACK + "KeyboardInterrupt", "killed"),
        (
            "mpirun noticed that process rank 3 with PID 0 on node n1 exited on signal 9 (Killed).",
            "killed",
        ),
        ("run.sh: line 3: 12345 Killed                  python3 train.py", "killed"),
        ("slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2021-01-01T00:00:00 ***", "killed"),
        ("Segmentation fault (core dumped)", "killed"),
    ],
)
@pytest.mark.parametrize("data", [DATA, OURS], ids=["no end marker", "end marker"])
def test_a_crash_is_the_ending_with_its_words(data, words, kind):
    found = ending(f"{data}{words}\n")
    assert found["kind"] == kind
    assert found["detail"] in words.replace("[1,3]<stderr>:", "")
    assert found["detail"]


def test_a_traceback_is_told_by_its_exception():
    assert ending(DATA + TRACEBACK + "KeyError: 'step'\n")["detail"] == "KeyError: 'step'"


def test_a_complaint_that_training_goes_on_after_is_no_ending():
    for words in (
        "CUDA out of memory",
        TRACEBACK + "ImportError: no apex",
        "Killed by the watchdog",
    ):
        assert ending(f"{DATA}{words}\n" + "".join(lines("oneflow", 40)[30:]))["kind"] == "complete"


def test_tensorflow_says_of_some_allocations_that_they_are_no_failure():
    words = (
        "2020-08-26 15:13:29.256277: W bfc_allocator.cc:305] Allocator (GPU_0_bfc) ran out of"
        " memory trying to allocate 2.26GiB. The caller indicates that this is not a failure\n"
    )
    assert ending(DATA + words)["kind"] == "complete"


def test_one_rank_out_of_memory_while_others_print_on_is_the_ending():
    words = "[1,3]<stderr>:RuntimeError: CUDA out of memory.\n"
    text = OURS + words + "".join(lines("scalebench", 32)[30:])
    assert ending(text)["kind"] == "out_of_memory"
    assert ending(text + END)["kind"] == "complete"


def test_a_missing_end_is_a_truncated_log():
    assert ending(OURS + END) == {"kind": "complete", "detail": ""}
    assert ending(OURS) == {"kind": "truncated", "detail": "no line with '[scalebench] end '"}


def test_a_cut_last_line_is_a_truncated_log_where_the_format_has_no_end():
    assert ending(DATA[:-30])["kind"] == "truncated"
    assert ending(DATA)["kind"] == "complete"


def test_the_last_loss_decides_for_nan():
    nan = lines("oneflow", 31)[-1].replace("5.736447", "nan")
    assert ending(DATA + nan)["kind"] == "nan_loss"
    assert ending(nan + DATA)["kind"] == "complete"
    assert logs.read(nan + DATA)["observations"][0]["loss"] is None


def test_paddleclas_ends_with_its_last_epoch():
    line = "".join(lines("paddleclas"))
    setting = "[2021/12/21 17:17:17] root INFO:     epochs : 2\n"
    end = (
        "[2021/12/21 17:18:02] root INFO: END epoch:{}   train  loss:  5.8 ips: 338.9 images/sec.\n"
    )
    assert ending(setting + line + end.format(0)) == {
        "kind": "truncated",
        "detail": "epoch 2 of 2 does not end",
    }
    assert ending(setting + line + end.format(0) + end.format(1))["kind"] == "complete"


def test_a_run_that_began_and_printed_nothing_is_still_a_reading():
    reading = logs.read(HEADER + TRACEBACK + "RuntimeError: no rank\n", reader="scalebench")
    assert reading["identity"]["world_size"] == 2
    assert reading["ending"] == {"kind": "traceback", "detail": "RuntimeError: no rank"}
    assert len(reading["observations"]) == 0


def test_runs_one_after_another_are_kept_apart():
    other = (
        HEADER.replace('"world_size":2', '"world_size":4') + "".join(lines("scalebench", 5)) + END
    )
    reading = logs.read(OURS + "RuntimeError: CUDA out of memory\n" + other)
    assert [run["count"] for run in reading["runs"]] == [30, 5]
    assert [run["identity"]["world_size"] for run in reading["runs"]] == [2, 4]
    assert [run["ending"]["kind"] for run in reading["runs"]] == ["out_of_memory", "complete"]
    assert reading["identity"]["world_size"] == 4


def test_a_log_that_begins_again_without_a_header_is_one_run_each():
    reading = logs.read(DATA * 3)
    assert [(run["first"], run["count"]) for run in reading["runs"]] == [
        (0, 30),
        (30, 30),
        (60, 30),
    ]
    assert reading["runs"][0]["ending"]["kind"] == "truncated"


def test_ranks_without_tags_that_overtake_each_other_are_one_run():
    mixed = [
        line
        for pair in zip(lines("mxnet_speedometer"), lines("mxnet_speedometer"))
        for line in pair
    ]
    mixed[1:6] = [*mixed[2:6], mixed[1]]
    assert len(logs.read("".join(mixed))["runs"]) == 1
