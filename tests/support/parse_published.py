"""Parse arguments with the parser of a published program; run as a program of its own.

Modules that are not installed (the frameworks) are empty stand-ins: any name of theirs is there
and does nothing. Options must be written out, unless ``abbreviations`` is true. Standard input is
JSON with ``kind``, ``folder`` and ``commands``; standard output has an error for each command,
empty where the parser takes it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import re
import sys
import types
from pathlib import Path
from typing import Any


class _Anything(type):
    """The class of a name in an empty module: it can be called, subclassed and asked for more."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name, (), {"__init__": lambda self, *words, **named: None})


class _Empty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        # No public names, for `import *`.
        vars(module).update(__path__=[], __all__=[], __getattr__=_of)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Leave it empty."""


def _of(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Anything(name, (), {"__init__": lambda self, *words, **named: None})


def _tensorflow(folder: Path) -> Any:
    sys.path.insert(0, str(folder / "utils"))
    parse = importlib.import_module("cmdline_helper").parse_cmdline
    text = (folder / "model/resnet.py").read_text()
    names = re.findall(r"^    '(\S+)': \{$", text.split("model_architectures = {", 1)[1], re.M)
    return lambda: parse(names)


def _mxnet(folder: Path) -> Any:
    sys.path.insert(0, str(folder))
    return importlib.import_module("train").parse_args


def _paddle(folder: Path) -> Any:
    sys.path.insert(0, str(folder))
    return importlib.import_module("utils.utility").parse_args


def _pytorch(folder: Path) -> Any:
    sys.path.insert(0, str(folder))
    add = importlib.import_module("main").add_parser_arguments

    def parse() -> None:
        parser = argparse.ArgumentParser()
        add(parser)
        parser.parse_args()

    return parse


def _pytorch_bert(folder: Path) -> Any:
    sys.path.insert(0, str(folder))
    return importlib.import_module("run_pretraining").parse_arguments


def _oneflow_bert(folder: Path) -> Any:
    """Return the parser of config.py with the options that run_pretraining.py adds to it."""
    sys.path.insert(0, str(folder))
    config = importlib.import_module("config")
    text = (folder / "run_pretraining.py").read_text()
    added = re.findall(r'^parser\.add_argument\("(--\w+)", type=(int|str)', text, re.M)

    def parse() -> None:
        parser = config.get_parser()
        for name, kind in added:
            parser.add_argument(name, type={"int": int, "str": str}[kind])
        parser.parse_args()

    return parse


def _paddle_bert(folder: Path) -> Any:
    """Return what imports train.py, which parses its arguments then."""
    sys.path.insert(0, str(folder))
    importlib.import_module("six").PY2 = False  # type: ignore[attr-defined]

    def parse() -> None:
        sys.modules.pop("train", None)
        importlib.import_module("train")

    return parse


def _tensorflow_bert(folder: Path) -> Any:
    """Return a parser of the flags that run_pretraining.py defines, in place of TensorFlow's."""
    sys.path.insert(0, str(folder))
    kinds = {"string": str, "integer": int, "float": float, "bool": _truth}
    parser = argparse.ArgumentParser()
    flags = types.SimpleNamespace(FLAGS=None, mark_flag_as_required=lambda _name: None)
    for name, kind in kinds.items():

        def define(flag: str, _default: Any, about: str, kind: Any = kind) -> None:
            # A flag without a value is true.
            more = {"nargs": "?", "const": True} if kind is _truth else {}
            parser.add_argument(f"--{flag}", type=kind, help=about.replace("%", "%%"), **more)

        setattr(flags, f"DEFINE_{name}", define)
    tensorflow = importlib.import_module("tensorflow")
    tensorflow.flags = flags  # type: ignore[attr-defined]
    importlib.import_module("run_pretraining")
    return parser.parse_args


def _truth(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


PARSERS = {
    "tensorflow": _tensorflow,
    "mxnet": _mxnet,
    "paddle": _paddle,
    "pytorch": _pytorch,
    "pytorch_bert": _pytorch_bert,
    "oneflow_bert": _oneflow_bert,
    "paddle_bert": _paddle_bert,
    "tensorflow_bert": _tensorflow_bert,
}


def main() -> None:
    """Answer for every command."""
    asked = json.load(sys.stdin)
    sys.meta_path.append(_Empty())
    create = argparse.ArgumentParser.__init__

    def exact(self: argparse.ArgumentParser, *words: Any, **named: Any) -> None:
        create(self, *words, **{**named, "allow_abbrev": asked.get("abbreviations", False)})

    argparse.ArgumentParser.__init__ = exact  # type: ignore[method-assign]
    parse = PARSERS[asked["kind"]](Path(asked["folder"]))
    errors = []
    for command in asked["commands"]:
        sys.argv = ["program", *command]
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
                parse()
            errors.append("")
        except (SystemExit, ValueError, KeyError) as error:
            errors.append(f"{error} {said.getvalue()}".strip())
    json.dump(errors, sys.stdout)


if __name__ == "__main__":
    main()
