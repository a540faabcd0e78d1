"""Runs a published trainer's own printing code, with its framework and its clock stood in for.

``python published_printers.py PROGRAM FOLDER STEP_SECONDS ARGUMENTS...`` prints what the program in
the folder prints with these arguments, where every step takes STEP_SECONDS and a little more.
Argument parser, hooks, loggers and format strings are the program's; tensorflow, mxnet, paddle,
horovod and nvidia.dali are empty objects that take any call, so that rates and losses are invented.
RANK and SIZE of the environment are the rank and the number of ranks.
"""
# ruff: noqa: PLC0415 (the programs can be imported only once their frameworks are stood in for)

from __future__ import annotations

import datetime
import importlib.abc
import importlib.machinery
import os
import runpy
import sys
import time
import types
from unittest.mock import MagicMock

STUBS = ("tensorflow", "mxnet", "paddle", "horovod", "nvidia", "six")
RANK, SIZE = int(os.environ.get("RANK", "0")), int(os.environ.get("SIZE", "1"))


class Clock:
    """A clock that only steps move, each by a little more than the one before."""

    def __init__(self, seconds: float) -> None:
        self.now, self.seconds, self.steps = 1763690000.25, seconds, 0

    def step(self) -> None:
        self.now += self.seconds + 0.0001 * (self.steps % 7)
        self.steps += 1


class Base:
    """A class of a framework that a program's class inherits from."""

    def __init__(self, *_args: object, **_named: object) -> None: ...

    def __getattr__(self, _name: str) -> MagicMock:
        return MagicMock()

    def __call__(self, *_args: object, **_named: object) -> MagicMock:
        return MagicMock()


class Stub(types.ModuleType):
    """A module that has every name: classes by their capital, modules and functions otherwise."""

    __path__ = ()

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        value = type(name, (Base,), {}) if name[0].isupper() else MagicMock()
        setattr(self, name, value)
        return value


class Parameters(types.SimpleNamespace):
    """The parameters of a run, as tf.contrib.training.HParams has them."""

    def values(self) -> dict[str, object]:
        return vars(self)

    def add_hparam(self, name: str, value: object) -> None:
        setattr(self, name, value)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        return importlib.machinery.ModuleSpec(name, self) if top in STUBS else None

    def create_module(self, spec):
        return Stub(spec.name)

    def exec_module(self, module): ...


def tensorflow(clock: Clock, images: int) -> None:
    """NVIDIA's main.py: an estimator that calls the program's hooks at every step."""
    import horovod.tensorflow as hvd
    import tensorflow as tf

    class Estimator(Base):
        def train(self, input_fn, steps, hooks) -> None:
            for step in range(1, int(steps) + 1):
                self.run(hooks, (step, 6.9 - step / 1000, 0.84, 7.74 - step / 1000, 0.001))

        def evaluate(self, input_fn, steps, hooks) -> dict[str, float]:
            for _ in range(int(steps)):
                self.run(hooks, None)
            return {"top1_accuracy": 0.7697, "top5_accuracy": 0.9335}

        def get_variable_value(self, name: str) -> None:
            raise ValueError("no checkpoint")

        def run(self, hooks, results) -> None:
            own = [hook for hook in hooks if "LoggingHook" in type(hook).__name__]
            for hook in own:
                hook.before_run(None)
            clock.step()
            for hook in own:
                hook.after_run(None, types.SimpleNamespace(results=results))

    hvd.size.return_value, hvd.rank.return_value = SIZE, RANK
    tf.float32, tf.float16 = "<dtype: 'float32'>", "<dtype: 'float16'>"
    tf.OptimizerOptions = MagicMock()
    tf.train.SessionRunHook = type("SessionRunHook", (Base,), {})
    tf.estimator.Estimator = Estimator
    tf.gfile.Glob.return_value = ["train-0"]
    tf.python_io.tf_record_iterator.return_value = range(images)
    tf.contrib.training.HParams = Parameters


def mxnet(clock: Clock, _images: int) -> None:
    """NVIDIA's train.py: batches without content, and a metric of invented values."""
    import data
    import horovod.mxnet as hvd
    import models
    import mxnet as mx
    import numpy as np

    class Batches:
        batch_size, _num_gpus = 4, 1

        def __iter__(self) -> Batches:
            return self

        def reset(self) -> None: ...

        def next(self) -> list[MagicMock]:
            clock.step()
            return [MagicMock()]

        __next__ = next

    names, values = ["accuracy", "top_k_accuracy_5"], [0.25, 0.5]
    if "--no-metrics" in sys.argv:
        names, values = [], []
    metric = mx.metric.create.return_value
    metric.get.return_value = metric.get_global.return_value = names, values
    metric.get_global_name_value.return_value = list(zip(names, values))

    class Loss(Base):
        sum_metric = global_sum_metric = 0.0
        num_inst = global_num_inst = 0

        def get(self) -> tuple[str, float]:
            return "loss", self.sum_metric / max(1, self.num_inst)

        get_global = get

        def reset(self) -> None: ...

        def reset_local(self) -> None: ...

    mx.metric.Loss, mx.metric.EvalMetric = Loss, type("EvalMetric", (Base,), {})
    mx.ndarray.array.return_value = MagicMock()
    hvd.allreduce.return_value.as_in_context.return_value.asnumpy.return_value = np.array(values)
    loss = MagicMock()
    loss.return_value.asnumpy.return_value = np.array(6.9)
    mx.gluon = sys.modules["mxnet"].gluon
    mx.gluon.loss.SoftmaxCrossEntropyLoss.return_value = loss
    trainer = hvd.DistributedTrainer = MagicMock()
    trainer.return_value.learning_rate = 0.0039
    hvd.size.return_value, hvd.rank.return_value, hvd.local_rank.return_value = SIZE, RANK, 0
    models.get_model = lambda **_named: MagicMock()
    data.get_data_loader = lambda _args: lambda _a, _kv: (Batches(), Batches())


def paddle(clock: Clock, _images: int) -> None:
    """PaddlePaddle's train.py prints with these two functions of its utils/utility.py."""
    import numpy as np
    import six

    six.iteritems = lambda mapping: mapping.items()
    from utils import utility

    args = utility.parse_args()
    if RANK == 0:
        utility.print_arguments(args)
    for batch in range(args.max_iter):
        started = clock.now
        clock.step()
        metrics = [7.1 - batch / 100, 0.001, 0.005, 0.001][:: 3 if args.use_mixup else 1]
        if RANK == 0:
            elapse = clock.now - started
            utility.print_info("batch", np.array(metrics), elapse, 0, batch, args.print_step)
    if args.validate and RANK == 0:
        utility.print_info("batch", np.array([6.1, 0.4, 0.6]), 0.2, 0, 0, args.print_step)
        of_epoch = [6.9, 0.01, 0.05, 0.001, 5.1, 0.41, 0.66]
        utility.print_info("epoch", of_epoch, 0.2, class_dim=args.class_dim)


def simulated_time(clock: Clock) -> None:
    """Make the clock that of modules time and datetime."""
    time.time = lambda: clock.now

    class Now(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(clock.now, datetime.UTC).replace(tzinfo=None)

    datetime.datetime = Now


def main() -> None:
    """Run one program."""
    program, folder, seconds, *arguments = sys.argv[1:]
    clock = Clock(float(seconds))
    sys.meta_path.insert(0, Finder())
    sys.path[:0] = [folder, *filter(None, os.environ.get("BESIDE", "").split(os.pathsep))]
    sys.dont_write_bytecode = True
    os.environ.update(PADDLE_TRAINER_ID=str(RANK), PADDLE_TRAINERS_NUM=str(SIZE))
    simulated_time(clock)
    name = {"tensorflow": "main.py", "mxnet": "train.py"}.get(program)
    sys.argv = [name or program, *arguments]
    {"tensorflow": tensorflow, "mxnet": mxnet, "paddle": paddle}[program](
        clock, int(os.environ.get("IMAGES", "0"))
    )
    if name:
        runpy.run_path(os.path.join(folder, name), run_name="__main__")


if __name__ == "__main__":
    main()
