"""Small logs of every format for the tests: count lines of data, nothing else."""

from __future__ import annotations

from collections.abc import Callable

DAY = "2020-12-11 03"


def _clock(n: int) -> str:
    return f"{DAY}:{n // 60 % 60:02d}:{n % 60:02d}"


LINE: dict[str, Callable[[int], str]] = {
    "ai_rank": lambda n: (
        f"- AI-Rank-log {1558631910 + n}.424 eval_accuracy:{n / 1000}, total_epoch_cnt:{n}"
    ),
    "bert_oneflow": lambda n: (
        f"step: {n * 20 - 1}, total_loss: 9.725, mlm_loss: 8.960, nsp_loss: 0.766,"
        f" throughput: {50 + n}.982 {1598056519 + n}.8844702"
    ),
    "bert_paddle": lambda n: (
        f"epoch: 1, progress: 1/1, step: {n}, loss: 10.350000, ppl: 31257.040000,"
        f" next_sent_acc: 0.500000, speed: {2 + n / 1000:.6f} steps/s, file: demo_wiki_train_50.gz"
    ),
    "bert_pytorch": lambda n: (
        f"DLL {_clock(n)}.000000 - Training Epoch: 0 Training Iteration: {n}  average_loss : 11.2 "
        " step_loss : 11.2  learning_rate : 0.0001 "
    ),
    "bert_tensorflow": lambda n: (
        f"DLL {_clock(n)}.383043 - Iteration: {n}  throughput_train : {140 + n}.5 seq/s mlm_loss :"
        " 10.0606  nsp_loss : 0.6892  total_loss : 10.7  learning_rate : 3.0375e-05 "
    ),
    "collective": lambda n: (
        f"all_reduce {n} bytes 1048576 duration {2000 + n}.5 us algbw 524.1600 MB/s"
        f" busbw {700 + n}.2500 MB/s time {1795397394 + n}.624489"
    ),
    "mxnet_dllogger": lambda n: (
        f"DLL {_clock(n)}.632005 - Epoch: 0 Iteration: {n * 20 - 1}  train.loss : 7.0  train.ips :"
        f" {1000 + n}.8 images/s train.lr : 0.1 "
    ),
    "mxnet_speedometer": lambda n: (
        f"{_clock(n)},742:INFO: Epoch[0] Batch [{n * 20 - 20}-{n * 20 - 1}]\tSpeed: {300 + n}.5"
        " samples/sec\tLR: 0.0039936\t"
    ),
    "oneflow": lambda n: (
        f"train: epoch 0, iter {n}, loss: 5.736447, top_1: 0.020313, top_k: 0.117578,"
        f" samples/s: {380 + n}.628 {1599761677 + n}.6515865"
    ),
    "paddle_fluid": lambda n: (
        f"{_clock(n)},101-INFO: [Pass 0, train batch {n}] \tloss 7.1, acc1 0.00098, acc5 0.00488,"
        " lr 0.00100, elapse 0.3600 sec"
    ),
    "paddle_suites": lambda n: (
        f"{_clock(n)} [INFO]\t[TRAIN] epoch: 1, iter: {n}/800, loss: 0.4331, lr: 0.009956,"
        f" batch_cost: 0.5623, reader_cost: 0.31216, ips: {7 + n}.1137 samples/sec | ETA 00:07:01"
    ),
    "paddleclas": lambda n: (
        f"[{_clock(n)}] ppcls INFO: epoch:0   train step:{n}  lr: 0.100000, loss:  6.3189 top1: "
        " 0.0078 top5:  0.0625 batch_cost: 0.65070 s, reader_cost: 0.00051 s,"
        f" ips: {390 + n}.42356 samples/sec."
    ),
    "paddlenlp": lambda n: (
        f"[{_clock(n)},144] [    INFO] - global step {n}, epoch: 0, batch: {n - 1}, loss: 11.091,"
        " avg_reader_cost: 0.00010 sec, avg_batch_cost: 0.21293 sec, avg_samples: 32.00000,"
        f" ips: {150 + n}.28443 sequences/sec"
    ),
    "pytorch_ngc": lambda n: (
        f"DLL {_clock(n)}.269735 - Epoch: 0 Iteration: {n}  train.loss : 7.14010 "
        f" train.total_ips : {3000 + n}.54 img/s"
    ),
    "scalebench": lambda n: (
        f"iteration {n} epoch 0 loss 6.9 throughput {20 + n}.50 images/s step_time 0.650000 s"
        f" time {1763690000 + n}.123456"
    ),
    "tensorflow_ngc_benchmark": lambda n: f"DLL {_clock(n)}.0 - (0, {n}) total_ips : {397 + n}.4 ",
    "tensorflow_ngc_nvlog": lambda n: (
        f":::NVLOGv0.2.3 resnet {1621935988 + n}.25 (benchmark_hooks.py:59) iteration: {n}\n"
        f":::NVLOGv0.2.3 resnet {1621935988 + n}.5 (benchmark_hooks.py:60) total_ips: {n}.25"
    ),
    "tensorflow_ngc_train": lambda n: (
        f"DLL {_clock(n)}.0 - (0, {n}) imgs_per_sec : {397 + n}.4 cross_entropy : 7.0 l2_loss :"
        " 0.5 total_loss : 7.5 learning_rate : 0.001 "
    ),
    "tensorflow_official": lambda n: (
        f"I0826 15:{n // 60 % 60:02d}:{n % 60:02d}.256277 140405777909504 keras_utils.py:133]"
        f" TimeHistory: 39.13 seconds, {327 + n}.08 examples/second between steps"
        f" {n * 100 - 100} and {n * 100}"
    ),
}


def lines(name: str, count: int = 30) -> list[str]:
    """Return ``count`` observations of one format, each with its line end."""
    return [LINE[name](n) + "\n" for n in range(1, count + 1)]
