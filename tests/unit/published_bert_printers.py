"""Runs the printing code of the published BERT trainers; see ``published_printers.py``.

``python published_bert_printers.py PROGRAM FOLDER STEP_SECONDS ARGUMENTS...``, where torch and
oneflow are empty objects too. NVIDIA's PyTorch trainer prints in the middle of its training: of it
the loggers run, with the names of the values that it gives them.
"""
# ruff: noqa: PLC0415 (the programs can be imported only once their frameworks are stood in for)

from __future__ import annotations

import importlib
import os
import runpy
import sys
import time
import types
from unittest.mock import MagicMock

import published_printers
from published_printers import RANK, SIZE, Base, Clock, Finder, simulated_time

published_printers.STUBS += ("torch", "oneflow", "pandas")


def tensorflow(clock: Clock, _folder: str) -> None:
    """NVIDIA's run_pretraining.py: its hook, its logger, and what it prints around them."""
    import tensorflow as tf

    tf.estimator.SessionRunHook = type("SessionRunHook", (Base,), {})
    import run_pretraining as program
    import utils.dllogger_class

    given = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
    program.FLAGS.use_fp16, program.FLAGS.manual_fp16 = "use_fp16" in given, False
    batch, steps = int(given["train_batch_size"]), int(given["num_train_steps"])
    print(f"INFO:tensorflow:  Batch size = {batch}")
    log = utils.dllogger_class.dllogger_class(os.devnull)
    hook = program._LogSessionRunHook(batch * SIZE, 1, log, 10, 10000, True)
    session = MagicMock()
    session.run.return_value = 0
    hook.after_create_session(session, None)
    for step in range(steps):
        hook.before_run(None)
        clock.step()
        results = (step, 10.9 - step / 100, 3e-5, 0.7, 10.2 - step / 100)
        scaler = (2.0**32,) if program.FLAGS.use_fp16 else ()
        hook.after_run(None, types.SimpleNamespace(results=results + scaler))
    done = (steps - hook.skipped) * batch * SIZE / hook.total_time
    log.logger.log(step=(), data={"throughput_train": done}, verbosity=0)


def pytorch(clock: Clock, _folder: str) -> None:
    """NVIDIA's run_pretraining.py: DLLogger with the step's form of its utils.py."""
    import dllogger
    from utils import format_step

    given = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
    batch, steps = int(given["train_batch_size"]), int(given["max_steps"])
    dllogger.init(backends=[dllogger.StdOutBackend(verbosity=1, step_format=format_step)])
    options = {"bert_model": "bert-base-uncased", "fp16": "fp16" in given}
    options = types.SimpleNamespace(**options, gradient_accumulation_steps=1)
    dllogger.log(step="PARAMETER", data={"Config": [str(options)]})
    dllogger.log(step="PARAMETER", data={"batch_size_per_gpu": batch})
    started = clock.now
    for step in range(1, steps):
        clock.step()
        loss = 11.2 - step / 100
        values = {"average_loss": loss, "step_loss": loss, "learning_rate": step / 1000}
        dllogger.log(step=(0, step), data=values)
    clock.step()
    dllogger.log(step=(0, steps), data={"final_loss": 10.9})
    speed = batch * SIZE * steps / (clock.now - started)
    data = {"e2e_train_time": clock.now - started, "training_sequences_per_second": speed}
    dllogger.log(step=(), data=data)


def oneflow(clock: Clock, _folder: str) -> None:
    """OneFlow-Benchmark's run_pretraining.py prints with config.py and util.py."""
    import config
    import numpy as np
    import util

    parser = config.get_parser()
    # Its own arguments, which run_pretraining.py adds.
    for name, kind in (("data_dir", str), ("data_part_num", int), ("iter_num", int)):
        parser.add_argument(f"--{name}", type=kind)
    parser.add_argument("--batch_size_per_device", type=int, default=64)
    args = parser.parse_args()
    config.print_args(args)
    batch = args.num_nodes * args.gpu_num_per_node * args.batch_size_per_device
    keys = ["total_loss", "mlm_loss", "nsp_loss"]
    printed = args.loss_print_every_n_iter
    metric = util.Metric(desc="train", print_steps=printed, batch_size=batch, keys=keys)
    for step in range(args.iter_num):
        clock.step()
        metric.metric_cb(step)({key: np.array([9.7 * batch - step]) for key in keys})


def paddle(clock: Clock, folder: str) -> None:
    """PaddlePaddle's train.py, whose model, reader and executor do nothing."""
    import numpy as np
    import six

    # Not `from paddle import`, which takes a name of the stand-in.
    fluid = importlib.import_module("paddle.fluid")

    class Executor(Base):
        def run(self, *_programs: object, fetch_list=(), **_named: object) -> list[object]:
            if fetch_list:
                clock.step()
            return [np.array([0.5]), np.array([9.9]), np.array([10.6]), [1e-6], [128.0]][
                : len(fetch_list)
            ]

    six.iteritems, six.PY2 = lambda mapping: mapping.items(), False
    fluid.Executor = Executor
    fluid.core.get_cuda_device_count.return_value = int(os.environ["DEVICES"])
    fluid.core.EOFException = EOFError
    model = importlib.import_module("model.bert")
    model.BertModel, model.BertConfig = MagicMock(), MagicMock()
    model.BertModel.return_value.get_pretraining_output.return_value = [MagicMock()] * 3
    optimization = importlib.import_module("optimization")
    optimization.optimization = MagicMock(return_value=[MagicMock()] * 2)
    reader = importlib.import_module("reader.pretraining")
    reader.DataReader = MagicMock()
    reader.DataReader.return_value.get_progress.return_value = (1, 1, 1, "demo_wiki_train_50.gz")
    time.sleep = lambda _seconds: None
    runpy.run_path(os.path.join(folder, "train.py"), run_name="__main__")


def main() -> None:
    """Run one program."""
    program, folder, seconds, *arguments = sys.argv[1:]
    clock = Clock(float(seconds))
    sys.meta_path.insert(0, Finder())
    sys.path[:0] = [folder, *filter(None, os.environ.get("BESIDE", "").split(os.pathsep))]
    sys.dont_write_bytecode = True
    simulated_time(clock)
    sys.argv = [program, *arguments]
    assert RANK == 0
    {"tensorflow": tensorflow, "pytorch": pytorch, "oneflow": oneflow, "paddle": paddle}[program](
        clock, folder
    )


if __name__ == "__main__":
    main()
