"""Templates and conditions of this project's playbooks, compiled once and kept.

Ansible compiles each of them again for every task and node, in processes that forget it, a fifth of
the CPU time that a bench.yml costs the controller. As Ansible has Jinja fold no constants, what is
compiled depends on the text, on settings, on how filters are declared and on versions alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import marshal
import os
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from ansible import constants
from ansible_collections.scalebench.core.plugins.module_utils.node import durable
from ansible_collections.scalebench.core.plugins.plugin_utils.module_payload import (
    make_kept,
    private_folder,
    remove_old,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.plan_evidence import PROJECT
from jinja2.environment import TemplateExpression

__all__ = ["CompiledTemplates"]

# What users write elsewhere may have secrets in it, and stays where it is.
_OURS = ("playbooks", "roles", "molecule", "inventory/local", "inventory/this_machine")
_ENCRYPTED = b"$ANSIBLE_VAULT"
# Of the kind, the settings and the text.
_Key = tuple[Any, ...]


class CompiledTemplates:
    """What this process, those that it forks and earlier playbooks have compiled."""

    def __init__(self, state: Path = PROJECT / ".state") -> None:
        self._kept = private_folder(state, "templates", "filter_plugins")
        self._compiled: dict[_Key, CodeType | bytes] = {}
        # What a thread compiles: Jinja is given the tree of an expression, which has no text.
        self._expression = threading.local()

    def use(self) -> None:
        """Have Ansible compile only what is not known.

        This replaces methods of ansible-core that are not public. With a version that has others,
        or that folds constants, all stays as it was.
        """
        with contextlib.suppress(ImportError, AttributeError):
            ansibles = _Ansibles()
            if self._kept:
                self._compiled.update(_read(self._kept / "compiled"))
            self._replace(ansibles)

    def keep(self) -> None:
        """Keep what this playbook has compiled of this project's own, for this account alone."""
        with contextlib.suppress(OSError):
            new: dict[_Key, bytes] = {}
            plain = cache(_is_plain)
            for path in _of_this_run().iterdir():
                for key, code, origin in _entries(path.read_bytes()):
                    if plain(origin):
                        new[key] = code
            if not new or not self._kept:
                return
            make_kept(self._kept)
            content = marshal.dumps({**_read(self._kept / "compiled"), **new})
            part = self._kept / f"part-{os.getpid()}"
            try:
                part.write_bytes(hashlib.sha256(content).digest() + content)
                durable.replace(part, self._kept / "compiled")
            finally:
                part.unlink(missing_ok=True)
            remove_old(self._kept)

    def _replace(self, ansibles: _Ansibles) -> None:
        compile_template = ansibles.environment.compile
        compile_expression = ansibles.environment.compile_expression

        def template(environment: Any, source: Any, *rest: Any, **options: Any) -> CodeType:
            expression = vars(self._expression).pop("of", None)
            if rest or options or type(environment) is not ansibles.environment:
                return compile_template(environment, source, *rest, **options)
            if not isinstance(source, str):
                code = compile_template(environment, source)
                if expression:
                    self._add(*expression, code, ansibles)
                return code
            key = ansibles.key(environment, "template", source)
            code = self._known(key)
            if code is None:
                code = compile_template(environment, source)
                self._add(key, source, code, ansibles)
            return code

        def expression(
            environment: Any, source: str, undefined_to_none: bool = True
        ) -> TemplateExpression:
            key = ansibles.key(environment, "expression", source)
            code = self._known(key)
            if code is not None and type(environment) is ansibles.environment:
                variables = environment.make_globals(None)
                made = environment.template_class.from_code(environment, code, variables, None)
                return TemplateExpression(made, undefined_to_none)
            self._expression.of = (key, source)
            try:
                return compile_expression(environment, source, undefined_to_none)
            finally:
                vars(self._expression).clear()

        ansibles.environment.compile = template
        ansibles.environment.compile_expression = expression

    def _known(self, key: _Key) -> CodeType | None:
        code = self._compiled.get(key)
        if isinstance(code, bytes):
            code = self._compiled[key] = marshal.loads(code)
        return code

    def _add(self, key: _Key, source: str, code: CodeType, ansibles: _Ansibles) -> None:
        """Keep what is this project's own, in this process and in a file of this process."""
        origin = ansibles.origin(source)
        if not origin.startswith(tuple(f"{PROJECT / ours}/" for ours in _OURS)):
            return
        self._compiled[key] = code
        if self._kept:
            with contextlib.suppress(OSError):
                _of_this_run().mkdir(0o700, exist_ok=True)
                with (_of_this_run() / str(os.getpid())).open("ab") as file:
                    file.write(marshal.dumps((key, marshal.dumps(code), origin)))


class _Ansibles:
    """What is used of ansible-core that is not public.

    :raises ImportError: this version has it not; also AttributeError.
    """

    def __init__(self) -> None:
        self._bits = importlib.import_module("ansible._internal._templating._jinja_bits")
        self._tags = importlib.import_module("ansible._internal._datatag._tags")
        self._tagging = importlib.import_module("ansible.module_utils._internal._datatag")
        self.environment = self._bits.AnsibleEnvironment
        one = self.environment()
        if one.optimized or one._debuggable_template_source:
            raise AttributeError("what is compiled depends on more")
        self.key(one, "template", "")
        self.origin("")

    def key(self, environment: Any, kind: str, source: str) -> _Key:
        """Return all that the code depends on."""
        context = self._bits._TemplateCompileContext.current(optional=True)
        return (
            kind,
            context and context.escape_backslashes,
            self._bits._TemplateConfig.allow_embedded_templates,
            *environment.extensions,
            *(getattr(environment, name) for name in self._bits._TEMPLATE_OVERRIDE_FIELD_NAMES),
            str(source),
        )

    def origin(self, source: str) -> str:
        """Return the file of a text that was no secret there; "" for none."""
        if self._tagging.AnsibleTagHelper.tag_types(source) != {
            self._tags.Origin,
            self._tags.TrustedAsTemplate,
        }:
            return ""
        return self._tags.Origin.get_tag(source).path or ""


def _of_this_run() -> Path:
    return Path(constants.DEFAULT_LOCAL_TMP) / "templates"


def _read(path: Path) -> dict[_Key, bytes]:
    """Return what was kept; nothing for a file that is not whole."""
    try:
        content = path.read_bytes()
    except OSError:
        return {}
    digest, content = content[:32], content[32:]
    return marshal.loads(content) if hashlib.sha256(content).digest() == digest else {}


def _entries(content: bytes) -> Iterator[tuple[_Key, bytes, str]]:
    """Yield what a process wrote; the last may be cut off where it was ended."""
    stream = io.BytesIO(content)
    with contextlib.suppress(EOFError, ValueError, TypeError):
        while True:
            yield marshal.load(stream)


def _is_plain(path: str) -> bool:
    """Return whether a file that is there was no secret as a whole."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_ENCRYPTED)) != _ENCRYPTED
    except OSError:
        return False
