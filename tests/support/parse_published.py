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


PARSERS = {"tensorflow": _tensorflow, "mxnet": _mxnet, "paddle": _paddle}


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
        except (SystemExit, ValueError) as error:
            errors.append(f"{error} {said.getvalue()}".strip())
    json.dump(errors, sys.stdout)


if __name__ == "__main__":
    main()
