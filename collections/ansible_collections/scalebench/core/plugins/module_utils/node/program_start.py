"""The start of a program for a node: it imports modules from texts, and calls a function.

``plugin_utils.node_program`` sends the text of this file, which imports nothing of this project.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Dict, Optional

__all__ = ["start"]


class _Texts:
    """Imports modules from their texts, by full name; what others lie in is a package."""

    def __init__(self, texts: Dict[str, str]) -> None:
        self._texts = texts

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> Optional[ModuleSpec]:
        """Return how to import a module; None if it is not one of these."""
        is_package = any(known.startswith(f"{name}.") for known in self._texts)
        if is_package or name in self._texts:
            return ModuleSpec(name, self, is_package=is_package)  # type: ignore[arg-type]
        return None

    def create_module(self, _spec: ModuleSpec) -> None:
        """Have Python create the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's text; a package may have none."""
        name = module.__name__
        code = compile(self._texts.get(name, ""), name, "exec", dont_inherit=True)
        exec(code, vars(module))


def start(texts: Dict[str, str], module: str, function: str, arguments: str) -> None:
    """Print what a function returns, as the result of a module of Ansible.

    :param texts: by name, of all modules that are needed and are not Python's own.
    :param arguments: the function's only argument, as JSON.
    """
    sys.meta_path.insert(0, _Texts(texts))
    try:
        answer = getattr(import_module(module), function)(json.loads(arguments))
    except (OSError, ValueError) as error:
        answer = {"failed": True, "msg": str(error)}
    print(json.dumps(answer))
