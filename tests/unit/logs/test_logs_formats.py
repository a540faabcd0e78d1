"""Every format: its reader is found, and what the log says is what the reading says.

The files in tests/fixtures/logs are lines of the documentation (ai_rank.log), output of the
published programs' own printing code with invented times (``published_printers.py``:
paddle_fluid.log, tensorflow_ngc_train.log, tensorflow_time_to_train.log; in the same way
OneFlow-Benchmark v0.2.0: oneflow_unix_time.log, and its settings at 892f87e6 before the lines that
reference effort 002 shows: oneflow.log; ``published_bert_printers.py``: bert_oneflow.log,
bert_paddle.log), or synthesised in the form that the source or a public
log has.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs, strategies
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from log_lines import LINE, lines

FIXTURES = Path(__file__).parents[2] / "fixtures" / "logs"

# file -> reader, observations, (strategy, throughput), part of the identity
CASES = {
    "ai_rank.log": ("ai_rank", 4, ("last_summary", 1190.0), {}),
    "bert_oneflow.log": (
        "bert_oneflow",
        7,
        ("dlperf_bert_oneflow", 6136.64),
        {"model": "bert", "global_batch_size": 1536, "nodes": 2, "precision": "amp"},
    ),
    "bert_paddle.log": (
        "bert_paddle",
        24,
        ("dlperf_bert_paddle", 4092.32),
        {"batch_size_per_device": 64, "world_size": 16, "nodes": 2, "precision": "fp32"},
    ),
    "bert_pytorch.log": (
        "bert_pytorch",
        2,
        ("last_summary", 517.23),
        {"batch_size_per_device": 64, "world_size": 8, "precision": "amp"},
    ),
    "bert_tensorflow.log": (
        "bert_tensorflow",
        15,
        ("dlperf_bert_tensorflow", 140.75),
        {"batch_size_per_device": 32, "world_size": 8, "precision": "fp32"},
    ),
    "oneflow.log": (
        "oneflow",
        10,
        ("oneflow_report", 385.096),
        # It prints use_fp16 = None, and nothing of XLA.
        {"model": "resnet50", "batch_size_per_device": 128, "world_size": 1, "precision": "fp32"},
    ),
    "oneflow_unix_time.log": (
        "oneflow",
        6,
        ("dlperf_oneflow", 5846.42),
        {"world_size": 16, "global_batch_size": 2048, "nodes": 2, "steps_per_line": 20},
    ),
    "paddle_fluid.log": (
        "paddle_fluid",
        120,
        ("dlperf_paddle", 2842.08),
        {"model": "ResNet50", "batch_size_per_device": 128, "world_size": 8, "image_size": 224},
    ),
    "paddlenlp.log": ("paddlenlp", 3, ("last_printed", None), {"batch_size_per_device": 32}),
    "pytorch_ngc_with_validation.log": (
        "pytorch_ngc",
        30,
        ("last_summary", 6244.87),
        {"batch_size_per_device": 256, "world_size": 8, "precision": "amp"},
    ),
    "tensorflow_ngc_train.log": (
        "tensorflow_ngc_train",
        100,
        ("dlperf_tensorflow", 2923.21),
        {"batch_size_per_device": 128, "precision": "fp32", "data_backend": "dali", "xla": False},
    ),
    "tensorflow_time_to_train.log": (
        "tensorflow_ngc_train",
        160,
        ("ngc_last_throughput", 1162.06),
        {"batch_size_per_device": 256, "precision": "amp", "images_per_epoch": 5120},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fixture_gives_its_reading(name):
    reader, count, (strategy, throughput), identity = CASES[name]
    reading = logs.read((FIXTURES / name).read_bytes(), name=name)
    assert reading["reader"] == reader
    assert reading["ending"]["kind"] == "complete"
    assert len(reading["observations"]) == count
    assert {key: reading["identity"].get(key) for key in identity} == identity
    facts = log_facts(reading, strategy)
    assert facts["throughput"] == throughput
    assert facts["reason"] if throughput is None else facts["reason"] == ""


@pytest.mark.parametrize("name", sorted(logs.READERS))
def test_every_reader_has_a_source_a_usual_strategy_and_a_line_for_the_tests(name):
    assert logs.READERS[name].source
    usual = strategies.USUAL.get(name)
    assert usual in strategies.STRATEGIES, f"add {name} to USUAL in strategies/_table.py"
    if name == "nccl_tests":
        return  # Tables, of which no line stands alone: test_logs_nccl_tests.py.
    assert name in LINE, f"add a line of {name} to tests/unit/log_lines.py"
    assert logs.read("".join(lines(name)))["reader"] == name


def test_ips_is_of_one_device_and_is_multiplied_only_if_the_number_is_known():
    text = (FIXTURES / "paddlenlp.log").read_text()
    reading = logs.read(text)
    assert (reading["scope"], reading["unit"]) == ("per_device", "sequences/s")
    assert strategies.apply(reading, "last_printed", {"devices": 8})["throughput"] == 1197.95
    assert strategies.apply(reading, "last_printed", {"scope": "printed"})["throughput"] == 149.74
    with pytest.raises(ValueError, match="no number of devices: set devices"):
        strategies.apply(reading, "last_printed")


def test_the_lines_that_reference_002_shows_give_the_mean_that_they_have():
    reading = logs.read((FIXTURES / "oneflow.log").read_bytes())
    assert reading["observations"][0]["throughput"] == 288.088
    facts = log_facts(reading, "auto")
    assert facts["throughput"] == 385.096  # the table shows 383.760, of a run that is not public
    assert (facts["loss"]["first"], facts["loss"]["last"]) == (6.505637, 1.047857)


@pytest.mark.parametrize(
    ("line", "accuracy"),
    [
        (
            "2020-12-14 10:03:14 INFO: epoch:0   train step:11   loss: 12.1323 top1: 0.0078"
            " top5: 0.0625 lr: 0.100000 elapse: 0.342s ips: 374.10443 images/sec.",
            0.0078,
        ),
        (
            "2021-05-19 18:06:20 INFO: epoch:0   train step:11   top1: 0.0078 top5: 0.0625 loss:"
            " 12.1323 lr: 0.100000, batch_cost: 0.34200 s, reader_cost: 0.0010 s,"
            " ips: 374.10443 images/sec.",
            0.0078,
        ),
        (
            "[2023/07/28 06:51:59] ppcls INFO: epoch:0   train step:11  lr: 0.100000, loss: 12.1323"
            " top1:  0.0078 top5:  0.0625 batch_cost: 0.342 s, reader_cost: 0.00051 s,"
            " ips: 374.10443 samples/sec.",
            0.0078,
        ),
        (
            "[2022/04/04 17:52:50] root INFO: [Train][Epoch 0/20][Iter: 11/80]lr: 0.00543, CELoss:"
            " 0.28394, loss: 12.1323, batch_cost: 0.342s, reader_cost: 0.72433, ips: 374.10443"
            " images/sec, eta: 0:01:03",
            None,
        ),
        (
            "[2022/04/04 17:52:50] ppcls INFO: [Train][Epoch 0/20][Iter: 11/80]lr(Linear):"
            " 0.00543, top1: 0.00780, top5: 0.1, CELoss: 0.283, loss: 12.1323, batch_cost: 0.342s,"
            " reader_cost: 0.72433, ips: 374.10443 samples/s, eta: 0:01:03",
            0.0078,
        ),
    ],
)
def test_paddleclas_of_every_year_says_the_same(line, accuracy):
    (one,) = logs.read(line + "\n")["observations"]
    assert (one["epoch"], one["step"], one["loss"], one["throughput"]) == (
        0,
        11,
        12.1323,
        374.10443,
    )
    assert (one["seconds"], one["accuracy"]) == (0.342, accuracy)
    assert one["timestamp"] is not None


def test_paddleclas_does_not_take_validation_or_configuration_for_training():
    text = (
        "ips: 127.0.0.1\n"
        "2021-03-19 21:48:17 INFO: epoch:6  , train step:10   , top1: 0.9, top5: 1.0, loss: 0.4,"
        " lr: 0.000000, batch_cost: 0.17846 s, reader_cost: 0.13977 s, ips: 103.5 images/sec.\n"
        "2021-03-19 21:48:17 INFO: epoch:6  , valid step:10  , top1: 1.0, top5: 1.0, loss: 0.4,"
        " lr: 0.000000, batch_cost: 0.13087 s, reader_cost: 0.08208 s, ips: 152.82301 images/sec.\n"
        "2021-03-19 21:48:20 INFO: END epoch:6   valid top1: 0.7510, top5: 0.97984, loss: 0.73892,"
        "  batch_cost: 0.30817 s, ips: 152.8 images/sec.\n"
    )
    reading = logs.read(text)
    assert [one["throughput"] for one in reading["observations"]] == [103.5]
    assert reading["summary"]["evaluations"][0]["accuracy"] == pytest.approx(75.1)


def test_tensorflow_benchmark_with_and_without_its_unit():
    for unit in ("", " images/s"):
        text = (
            "DLL 2022-06-13 17:45:27.493943 - (0, 200) total_ips : 12667.824464498299 \n"
            "DLL 2022-06-13 17:45:28.493943 - (0, 201) total_ips : 12668.0 \n"
            f"DLL 2022-06-13 17:45:29.493943 - () train_throughput : 12667.9{unit}\n"
        )
        reading = logs.read(text)
        assert reading["reader"] == "tensorflow_ngc_benchmark"
        assert len(reading["observations"]) == 2
        assert strategies.apply(reading, "ngc_last_throughput")["throughput"] == 12667.9


def test_nvlog_takes_a_step_and_its_rate_from_two_lines():
    text = "".join(
        f":::NVLOGv0.2.3 resnet {1621935988 + n}.25 (benchmark_hooks.py:59) iteration: {n}\n"
        f":::NVLOGv0.2.3 resnet {1621935988 + n}.5 (benchmark_hooks.py:60) total_ips: {n}.5\n"
        for n in range(200, 500, 10)
    )
    text += ":::NVLOGv0.2.3 resnet 1621936990.8 (benchmark_hooks.py:66) Average total_ips: 345.5\n"
    for pieces in (text, (text[at : at + 100] for at in range(0, len(text), 100))):
        reading = logs.read(pieces)
        assert reading["reader"] == "tensorflow_ngc_nvlog"
        assert [one["step"] for one in reading["observations"]] == list(range(200, 500, 10))
        assert strategies.apply(reading, "last_summary")["throughput"] == 345.5


def test_mxnet_prints_the_global_speed_on_every_rank():
    text = "".join(
        f"[1,{rank}]<stderr>:2020-12-11 02:20:{batch:02d},742:INFO: Epoch[0] Batch"
        f" [{batch * 20}-{batch * 20 + 19}]\tSpeed: {300 + batch + rank / 10} samples/sec\t\n"
        for batch in range(10)
        for rank in (2, 0, 1)
    )
    reading = logs.read(text)
    assert reading["reader"] == "mxnet_speedometer"
    assert {one["rank"] for one in reading["observations"]} == {0, 1, 2}
    assert strategies.apply(reading, "mean")["throughput"] == 304.6
    assert strategies.apply(reading, "mean", {"ranks": 0})["throughput"] == 304.5
    assert strategies.apply(reading, "mean", {"ranks": "first"})["count"] == 10


def test_mxnet_tables_of_several_batch_sizes_are_kept_apart():
    text = (
        "DLL 2022-11-30 02:52:44.632005 - Epoch: 0 Iteration: 39  train.loss : 7.0  train.ips :"
        " 1376.8 images/s train.lr : 0.1 \n"
        "train.ips\n           |    128    |    256    |\n------------------------\n"
        "     1     |   381.46  |   384.7  |\n     8     |    nan    |  2987.9  |\n"
    )
    reading = logs.read(text)
    assert reading["summary"]["table"] == {
        "1": {"128": 381.46, "256": 384.7},
        "8": {"128": None, "256": 2987.9},
    }
    given = {"devices": 8, "batch_size_per_device": 256}
    assert strategies.apply(reading, "summary_table", given)["throughput"] == 2987.9
    given["batch_size_per_device"] = 128
    with pytest.raises(ValueError, match="no number for 8 devices and batch size 128"):
        strategies.apply(reading, "summary_table", given)


@pytest.mark.parametrize(
    ("line", "unit", "step", "throughput"),
    [
        (
            "2021-05-27 09:56:29 [INFO]\t[TRAIN] epoch: 1, iter: 50/800, loss: 0.433, lr: 0.01,"
            " batch_cost: 0.5623, reader_cost: 0.31216, ips: 7.1137 samples/sec | ETA 00:07:01",
            "samples/s",
            50,
            7.1137,
        ),
        (
            "[2021-05-20 10:42:14,439] [    INFO] - step_idx: 100, epoch: 0, batch: 99, avg loss:"
            " 10.5, normalized loss: 9.1, ppl: 39000.1, avg_speed: 6.0 step/sec, batch_cost: 0.16"
            " sec, reader_cost: 0.001 sec, tokens: 4000, ips: 25000.12345 words/sec",
            "words/s",
            100,
            25000.12345,
        ),
        (
            "[05/27 09:56:29] epoch:[  1/50 ] train step:10  loss: 5.9 lr: 0.02 top1: 0.1 top5: 0.2"
            " batch_cost: 0.4 sec, reader_cost: 0.1 sec, ips: 40.2 instance/sec.",
            "instance/s",
            10,
            40.2,
        ),
        (
            "[05/27 09:56:29] ppdet INFO: Epoch: [0] [ 20/1000] learning_rate: 0.1 loss: 7.5"
            " eta: 1:00:00 batch_cost: 0.5 data_cost: 0.1 ips: 16.2 images/s",
            "images/s",
            20,
            16.2,
        ),
    ],
)
def test_other_suites_of_paddle_are_read_where_no_format_of_their_own_fits(
    line, unit, step, throughput
):
    reading = logs.read(line + "\n")
    assert (reading["reader"], reading["unit"]) == ("paddle_suites", unit)
    (one,) = reading["observations"]
    assert (one["step"], one["throughput"]) == (step, throughput)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("fp16 : False  static_loss_scale : 1  dynamic_loss_scale : True  amp : True", "dynamic"),
        ("fp16 : False  static_loss_scale : 128  dynamic_loss_scale : False  amp : True", "static"),
        ("fp16 : True  static_loss_scale : 128  dynamic_loss_scale : False  amp : False", "static"),
        ("fp16 : False  static_loss_scale : 1  dynamic_loss_scale : True  amp : False", None),
        ("fp16 : False  amp : True", None),
    ],
)
def test_pytorchs_parameters_say_how_the_loss_is_scaled(options, expected):
    head = f"DLL 2020-09-15 14:28:53.498443 - PARAMETER arch : resnet50  {options} \n"
    identity = logs.read(head + "".join(lines("pytorch_ngc")))["identity"]
    assert identity.get("loss_scaling") == expected


@pytest.mark.parametrize(
    ("reader", "head", "expected"),
    [
        ("oneflow", "use_fp16 = True\n", ("amp", None)),
        ("oneflow", "use_fp16 = False\n", ("fp32", None)),
        (
            "paddle_fluid",
            "use_dynamic_loss_scaling : True\nuse_fp16 : True\n",
            ("amp", "dynamic"),
        ),
        (
            "paddle_fluid",
            "use_dynamic_loss_scaling : False\nuse_fp16 : True\n",
            ("amp", "static"),
        ),
        ("paddle_fluid", "use_dynamic_loss_scaling : True\nuse_fp16 : False\n", ("fp32", None)),
        ("tensorflow_official", "'train_dataset': {'dtype': 'float16'}\n", ("amp", None)),
        ("tensorflow_official", "'train_dataset': {'dtype': 'float32'}\n", ("fp32", None)),
    ],
)
def test_a_switch_called_fp16_that_mixes_precisions_is_amp(reader, head, expected):
    identity = logs.read(head + "".join(lines(reader)))["identity"]
    assert (identity["precision"], identity.get("loss_scaling")) == expected


@pytest.mark.parametrize(
    ("ranks", "world_size", "batch_size"),
    [(0, None, None), (1, 1, 1024), (8, 8, 128), (16, 16, 64)],
)
def test_mxnet_with_horovod_believes_the_tags_more_than_the_list_of_devices(
    ranks, world_size, batch_size
):
    tags = [f"[1,{rank}]<stdout>:" for rank in range(ranks)] or [""]
    text = (
        f"{tags[0]}DLL 2022-11-30 03:37:19.195847 - PARAMETER arch : resnetv15  num_layers : 50"
        "  gpus : [0, 1, 2, 3, 4, 5, 6, 7]  kv_store : horovod  dtype : float16  amp : False"
        "  batch_size : 1024  data_backend : dali-gpu  image_shape : [4, 224, 224] \n"
        + "".join(f"{tag}host:1:2 [0] NCCL INFO ok\n" for tag in tags)
        + f"{tags[0]}DLL 2022-11-30 03:38:44.632005 - Epoch: 0 Iteration: 39  train.loss : 7.0 "
        " train.ips : 1376.8 images/s train.lr : 0.1 \n"
    )
    identity = logs.read(text)["identity"]
    assert identity.get("world_size") == world_size
    assert identity.get("batch_size_per_device") == batch_size
    assert (identity["precision"], identity["image_size"]) == ("fp16", 224)


def test_mxnets_ranks_are_counted_in_the_observations_too():
    """A rank's settings may be lost, or stand before the start of the first."""
    tags = [f"[1,{rank}]<stderr>:" for rank in range(3)]
    given = "gpus=[0], kv_store='horovod', dtype='float32', amp=False, batch_size=12"
    text = "".join(
        f"{tag}2025-11-21 01:53:20,250:INFO: Start with arguments Namespace(arch='r', {given})\n"
        for tag in tags[:2]
    ) + "".join(
        f"{tag}2025-11-21 01:53:3{line},250:INFO: Epoch[0] Batch [{line}]\t"
        f"Speed: 13.5 samples/sec\tLR: 0.1\n"
        for line in range(3)
        for tag in tags
    )
    reading = logs.read(text)
    expected = {"world_size": 3, "batch_size_per_device": 4, "global_batch_size": 12}
    assert expected.items() <= reading["identity"].items()
    assert expected.items() <= reading["runs"][-1]["assumed"].items()


@pytest.mark.parametrize(
    ("amp", "fp16", "precision"),
    [
        ("False", "False", "fp32"), ("True", "False", "amp"),
        ("False", "True", "fp16"), ("True", "True", "amp"),
    ],
)  # fmt: skip
def test_the_precision_of_nvidias_pytorch_is_that_of_its_two_switches(amp, fp16, precision):
    given = {"amp": amp, "fp16": fp16, "batch_size": "64", "world_size": "8"}
    head = "".join(f"DLL 2020-12-11 03:00:00 - PARAMETER {k} : {v} \n" for k, v in given.items())
    head = "DLL 2020-12-11 03:00:00 - PARAMETER data : /data \n" + head
    identity = logs.read(head + "".join(lines("pytorch_ngc")))["identity"]
    assert identity["precision"] == precision
    assert identity["global_batch_size"] == 512


def test_what_oneflow_prints_of_itself_gives_the_sizes_and_the_evaluations():
    head = (
        "num_nodes = 2\ngpu_num_per_node = 4\nbatch_size_per_device = 32\n"
        "val_batch_size_per_device = 50\nuse_fp16 = None\ntrain_data_dir = None\n"
    )
    end = (
        "validation: epoch 0, iter 195, top_1: 0.250000, top_k: 0.5, samples/s: 9.0 1599761999.5\n"
    )
    reading = logs.read(head + "".join(lines("oneflow")) + end)
    wanted = {
        "nodes": 2, "devices_per_node": 4, "world_size": 8, "batch_size_per_device": 32,
        "global_batch_size": 256, "precision": "fp32", "data": "synthetic",
    }  # fmt: skip
    assert reading["identity"].items() >= wanted.items()
    assert reading["summary"]["evaluations"] == [
        {"epoch": 0, "timestamp": 1599761999.5, "accuracy": 25.0}
    ]
