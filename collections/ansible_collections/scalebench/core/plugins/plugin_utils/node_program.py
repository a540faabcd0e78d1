"""A program for a node: a function of ``module_utils`` as one text that Python reads.

Ansible's own form of a module has Ansible's code in it too, and Python compiles all of it at every
call: 0.25 s of CPU time, where a function of a few modules needs 0.06 s.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable
from importlib.util import resolve_name
from inspect import getsource
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.node import program_start

__all__ = ["FLAGS", "module_texts", "node_program"]

# No variable of the login and no file of site-packages has a say; neither is needed.
FLAGS = ("-I", "-S")


def module_texts(function: Callable[..., Any]) -> dict[str, str]:
    """Return by name the texts of a function's module and of what it imports of its collection."""
    texts: dict[str, str] = {}
    waiting = [function.__module__]
    collection = ".".join(function.__module__.split(".")[:3])
    while waiting:
        name = waiting.pop()
        if name in texts or name not in sys.modules or not name.startswith(f"{collection}."):
            continue
        module = sys.modules[name]
        texts[name] = Path(module.__file__).read_text(encoding="utf-8") if module.__file__ else ""
        for node in ast.walk(ast.parse(texts[name])):
            if isinstance(node, ast.ImportFrom):
                base = resolve_name("." * node.level + (node.module or ""), module.__package__)
                waiting += [base, *(f"{base}.{imported.name}" for imported in node.names)]
    return texts


def node_program(
    function: Callable[[dict[str, Any]], dict[str, Any]],
    texts: dict[str, str],
    arguments: dict[str, Any],
) -> bytes:
    """Return the program that calls ``function`` with ``arguments`` and prints what it returns.

    A ValueError or OSError of the function is printed as a failed module's result.

    :param texts: of ``module_texts``, which takes longer than this.
    """
    call = (texts, function.__module__, function.__name__, json.dumps(arguments))
    return f"{getsource(program_start)}\nstart{call!r}\n".encode()
