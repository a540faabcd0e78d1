"""Templates that are compiled once a playbook, and not in every process that it forks.

Ansible runs every task on every node in a process of its own, and each compiles all templates that
it meets: some twenty, a third of its CPU time. Here they share what they have compiled in a folder
of this playbook.
"""

from __future__ import annotations

import hashlib
import marshal
import os
from contextlib import suppress
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

from jinja2.environment import TemplateExpression

# Of the expression that is being compiled, since Jinja passes its tree on and not its text.
_EXPRESSION: ContextVar[str] = ContextVar("expression", default="")


class _Folder:
    """Compiled templates by the hash of all that they depend on."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._read: dict[str, CodeType] = {}

    def get(self, key: str) -> CodeType | None:
        """Return a template's code; None if no process has compiled it."""
        if key not in self._read:
            try:
                self._read[key] = marshal.loads((self._folder / key).read_bytes())
            except OSError:
                return None
        return self._read[key]

    def put(self, key: str, code: CodeType) -> None:
        """Keep a template's code for the other processes too, where the disk has room for it."""
        self._read[key] = code
        part = self._folder / f"{key}.{os.getpid()}"
        with suppress(OSError):
            part.write_bytes(marshal.dumps(code))
            part.replace(self._folder / key)


def prepare(folder: Path) -> None:
    """Have this process, and those forked from it, share compiled templates in a folder.

    This replaces methods of ansible-core that are not public. With a version that has others, all
    stays as it was.

    :param folder: only this user's, and removed with the playbook.
    """
    try:
        vaulted = import_module("ansible._internal._datatag._tags").VaultedValue
        bits = import_module("ansible._internal._templating._jinja_bits")
        compile_template = bits.AnsibleEnvironment.compile
        compile_expression = bits.AnsibleEnvironment.compile_expression
        options_of = bits._TEMPLATE_OVERRIDE_FIELD_NAMES
        context = bits._TemplateCompileContext
        kept = _Folder(folder)
    except (ImportError, AttributeError, OSError):
        return

    def key_of(environment: Any, kind: str, source: str) -> str:
        """Return the hash of what the code depends on; empty for what shall not be on a disk."""
        if vaulted.is_tagged_on(source):
            return ""
        current = context.current(optional=True)
        escapes = bool(current and current.escape_backslashes)
        options = [getattr(environment, name) for name in options_of]
        text = repr((type(environment), kind, str(source), escapes, options))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def cached_template(self: Any, source: Any, *rest: Any, **more: Any) -> Any:
        if rest or more:
            key = ""
        elif isinstance(source, str):
            key = key_of(self, "template", source)
        else:
            key = _EXPRESSION.get()
        code = kept.get(key) if key else None
        if code is None:
            code = compile_template(self, source, *rest, **more)
            if key:
                kept.put(key, code)
        return code

    def cached_expression(self: Any, source: str, undefined_to_none: bool = True) -> Any:
        key = key_of(self, "expression", source)
        code = kept.get(key) if key else None
        if code is not None:
            template = self.template_class.from_code(self, code, self.make_globals(None), None)
            return TemplateExpression(template, undefined_to_none)
        token = _EXPRESSION.set(key)
        try:
            return compile_expression(self, source, undefined_to_none)
        finally:
            _EXPRESSION.reset(token)

    bits.AnsibleEnvironment.compile = cached_template
    bits.AnsibleEnvironment.compile_expression = cached_expression
