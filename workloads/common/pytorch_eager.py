"""Keep torch.compile's code out of ranks that compile nothing."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch

COMPILER = "torch._dynamo"
_LOADING = threading.Lock()


class LeftOut(ModuleType):
    """Stands for a module of torch.compile; what it does not have itself loads all of them."""

    def __init__(self, name: str, **own: Any) -> None:
        super().__init__(name)
        vars(self).update(own)

    def __getattr__(self, name: str) -> Any:
        # What looks through all modules (inspect.getmodule) asks for other such names.
        if name.startswith("__") and name != "__path__":
            raise AttributeError(name)
        with _LOADING:
            if isinstance(sys.modules.get(COMPILER), LeftOut):
                del sys.modules[COMPILER]
                delattr(torch, COMPILER.rpartition(".")[2])
        value = getattr(importlib.import_module(self.__name__), name)
        if name == "__path__":
            sys.meta_path.insert(0, _Loaded())
        return value


class _Loaded(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the submodule for whose import `__path__` was asked: it is loaded with the others."""

    own: Any

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith(f"{COMPILER}."):
            return None
        sys.meta_path.remove(self)
        if name not in sys.modules:
            return None
        self.own = sys.modules[name].__spec__
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        # Not as an attribute, which torch._dynamo.config takes for an unknown option.
        vars(module)["__spec__"] = self.own


def leave_out_compiler() -> None:
    """Have a process that never compiles not import torch.compile's code.

    Optimizers, DDP and groups of ranks import it to say what not to compile, and that import takes
    longer than PyTorch's own (https://github.com/pytorch/pytorch/pull/162595).
    """
    if COMPILER in sys.modules:
        return
    stand_in = LeftOut(
        COMPILER,
        __spec__=importlib.util.find_spec(COMPILER),
        disable=_same,
        graph_break=_nothing,
        trace_rules=LeftOut(f"{COMPILER}.trace_rules", clear_lru_cache=_nothing),
        utils=LeftOut(f"{COMPILER}.utils", get_optimize_ddp_mode=lambda: "no_optimization"),
    )
    sys.modules[COMPILER] = stand_in
    setattr(torch, COMPILER.rpartition(".")[2], stand_in)


def _same(fn: Callable[..., Any] | None = None, *_: Any, **__: Any) -> Callable[..., Any]:
    return _same if fn is None else fn


def _nothing(*_: Any, **__: Any) -> None:
    pass
