"""Keep torch.compile's code out of ranks that compile nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

COMPILER = "torch._dynamo"


class LeftOut(ModuleType):
    """Stands for a module of torch.compile; what it does not have itself loads all of them."""

    def __init__(self, name: str, **own: Any) -> None:
        super().__init__(name)
        vars(self).update(own)

    def __getattr__(self, name: str) -> Any:
        # What looks through all modules (inspect.getmodule) asks for such names; submodules are
        # imported by __path__.
        if name.startswith("__") and name != "__path__":
            raise AttributeError(name)
        if isinstance(sys.modules.get(COMPILER), LeftOut):
            del sys.modules[COMPILER]
            delattr(torch, COMPILER.rpartition(".")[2])
        return getattr(importlib.import_module(self.__name__), name)


def leave_out_compiler() -> None:
    """Have a process that never compiles not import torch.compile's code.

    Optimizers, DDP and groups of ranks import it to say what not to compile, and that import takes
    longer than PyTorch's own (https://github.com/pytorch/pytorch/pull/162595).
    """
    if COMPILER in sys.modules:
        return
    stand_in = LeftOut(
        COMPILER,
        disable=_same,
        graph_break=_nothing,
        trace_rules=LeftOut(f"{COMPILER}.trace_rules", clear_lru_cache=_nothing),
        utils=LeftOut(f"{COMPILER}.utils", get_optimize_ddp_mode=lambda: "no_optimization"),
    )
    sys.modules[COMPILER] = stand_in
    setattr(torch, COMPILER.rpartition(".")[2], stand_in)


def _same(function: Callable[..., Any], *_: Any, **__: Any) -> Callable[..., Any]:
    return function


def _nothing(*_: Any, **__: Any) -> None:
    pass
