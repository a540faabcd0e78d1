"""Ranks that compile nothing do without torch.compile's code, and whoever needs it gets it."""

from __future__ import annotations

import pytest
from torch_trainers import FOLDER, facts, fork, run

SHORT = ("--warmup=1", "--iterations=1", "--device=cpu", "--batch-size=2")
BEGIN = "import sys\nfrom common.pytorch_eager import leave_out_compiler\n"
# The trainer itself, and then what it has of torch.compile: a module that all of it needs.
TRAINED = """
import inspect, sys
from {package} import {trainer}
arguments = []
if "{package}" == "transformer":
    from common.figures import FirstStep
    arguments = [FirstStep()]
status = {trainer}.main(*arguments)
inspect.getmodule(sys._getframe())
# In one piece, as the ranks write to one file.
sys.stdout.write(f"compiler {{'torch._dynamo.eval_frame' in sys.modules}} {{status}}\\n")
from common.process import end_now
end_now(status)
"""


@pytest.mark.parametrize(
    ("trainer", "ranks", "options"),
    [
        ("resnet50.train_pytorch", 2, ()),
        ("transformer.train_decoder", 1, ("--sequence-length=32",)),
        ("transformer.train_bert", 2, ("--sequence-length=32",)),
    ],
)
def test_a_training_without_compile_does_not_load_it(tmp_path, trainer, ranks, options):
    package, _, name = trainer.partition(".")
    program = tmp_path / "program.py"
    program.write_text(TRAINED.format(package=package, trainer=name))
    ended = fork(program, *SHORT, *options, ranks=ranks, PYTHONPATH=str(FOLDER))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("compiler False 0\n") == ranks, ended.stdout


def test_one_rank_starts_without_what_it_does_not_need(python):
    """Neither torch.compile nor SymPy, whose imports are longer than PyTorch's own."""
    program = (
        "import sys\nfrom resnet50 import train_pytorch\nprint(train_pytorch.main())\n"
        "print([name for name in ('torch._dynamo.eval_frame', 'sympy') if name in sys.modules])\n"
        "from common.process import end_now\nend_now(0)\n"
    )
    ended = run([python, "-c", program, *SHORT])
    assert ended.stdout.splitlines()[-2:] == ["0", "[]"], ended.stderr


@pytest.mark.parametrize(
    "use",
    [
        "torch._dynamo.utils.dynamo_timed",
        "__import__('torch._dynamo.decorators')",
        "__import__('torch._dynamo.config')",
        "torch.compiler.disable(recursive=False)(torch.compile(lambda x: x, backend='eager'))(1)",
        "__import__('torch._dynamo.eval_frame')",
        "torch.compile(lambda x: x + 1, backend='eager')(torch.ones(1)).item()",
    ],
)
def test_what_needs_it_loads_it(use):
    ended = fork(
        "-c",
        f"{BEGIN}import torch\nleave_out_compiler()\nstand_in = torch._dynamo\n"
        "torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1).zero_grad()\n"
        "print('torch._dynamo.eval_frame' in sys.modules)\n"
        f"print({use})\n"
        "import torch._dynamo as real\n"
        "print(real is not stand_in, torch._dynamo is real, stand_in.config is real.config)\n"
        "modules = [real.config, real.eval_frame.config, real.utils.config, sys.meta_path[0]]\n"
        "print(len(set(modules[:3])), 'pytorch_eager' in repr(modules[3]))\n"
        "leave_out_compiler()\nprint(torch._dynamo is real)\n",
    )
    assert ended.returncode == 0, ended.stderr
    before, _, *after = ended.stdout.splitlines()
    assert [before, *after] == ["False", "True True True", "1 False", "True"]


def test_the_weights_are_those_of_a_training_that_has_it():
    ends = [
        fork(
            "-c",
            f"{BEGIN}import torch\n{load}\nfrom resnet50 import train_pytorch\n"
            "sys.exit(train_pytorch.main())\n",
            *SHORT,
        )
        for load in ("", "import torch._dynamo")
    ]
    without, having = (facts(end.stdout, "end")["weights_checksum"] for end in ends)
    assert without == having


def test_a_group_of_gloo_is_not_freed_before_its_process_ends():
    """DDP, freed with Python's lock held, would wait for threads that may wait for that lock."""
    ended = fork(
        "-c",
        "import sys, torch\nfrom datetime import timedelta\n"
        "from common import pytorch_ranks as ranks\nfrom common.process import end_now\n"
        "place = ranks.find_place()\n"
        "ranks.join(place, torch.device('cpu'), timedelta(seconds=60))\n"
        "ranks.leave(place)\n"
        "sys.stdout.write(f'left {torch.distributed.is_initialized()}\\n')\n"
        "end_now(0)\n",
        ranks=2,
    )
    assert (ended.returncode, ended.stdout) == (0, "left True\n" * 2), ended.stderr
