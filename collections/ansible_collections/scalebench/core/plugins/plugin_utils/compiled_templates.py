"""Templates and conditions of this project's playbooks, compiled once and kept.

Ansible compiles each of them again for every task and node, in processes that forget it, a fifth of
the CPU time that a bench.yml costs the controller. As Ansible has Jinja fold no constants, what is
compiled depends on the text, on settings, on how filters are declared and on versions alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import marshal
import os
import threading
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible_collections.scalebench.core.plugins.plugin_utils.files import write_only
from ansible_collections.scalebench.core.plugins.plugin_utils.module_payload import (
    make_kept,
    private_folder,
    remove_old,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.plan_evidence import PROJECT
from jinja2 import nodes
from jinja2.environment import TemplateExpression

__all__ = ["CompiledTemplates"]

# What users write elsewhere may have secrets in it, and stays where it is.
_OURS = ("playbooks", "roles", "molecule", "inventory/local", "inventory/this_machine")
_OF_USERS = ("playbooks/group_vars", "playbooks/host_vars")
# Code, beside all versions: how filters are declared, and the form of what is kept.
_DEPENDS_ON = (
    "filter_plugins",
    "collections/ansible_collections/scalebench/core/plugins/plugin_utils",
)
_ENCRYPTED = b"$ANSIBLE_VAULT"
# Of the kind, the settings and the text.
_Key = tuple[Any, ...]
# The code, as bytes until it is asked for, and the declaration of each filter and test in it.
_Entry = tuple[CodeType | bytes, dict[tuple[str, str], str]]
# A file's modification time and size, and the entries of what is written there.
_File = tuple[tuple[int, int], dict[_Key, _Entry]]


class CompiledTemplates:
    """What this process, those that it forks and earlier playbooks have compiled."""

    def __init__(self, state: Path = PROJECT / ".state") -> None:
        # A folder that root made would stop the account that owns the rest.
        own = PROJECT.stat().st_uid == os.geteuid()
        self._kept = private_folder(state, "templates", *_DEPENDS_ON) if own else None
        self._compiled: dict[_Key, _Entry] = {}
        # What a thread compiles: Jinja is given the tree of an expression, which has no text.
        self._expression = threading.local()

    def use(self) -> None:
        """Have Ansible compile only what is not known.

        This replaces methods of ansible-core that are not public. With a version that has others,
        or whose code depends on more, all stays as it was.
        """
        with contextlib.suppress(ImportError, AttributeError):
            ansibles = _Ansibles()
            if self._kept:
                # Before others make the state folder with a umask that may let a group write.
                with contextlib.suppress(OSError):
                    make_kept(self._kept)
                    os.utime(self._kept)
                for _, entries in _read(self._kept).values():
                    self._compiled.update(entries)
            self._replace(ansibles)

    def keep(self) -> None:
        """Keep what this playbook has compiled of this project's own, for this account alone."""
        with contextlib.suppress(OSError, AnsibleActionFail):
            new = [entry for path in _of_this_run().iterdir() for entry in _whole(path)]
            if not new or not self._kept:
                return
            files = _read(self._kept)
            for origin, stamp, key, entry in new:
                if stamp == _stamp(origin):
                    files.setdefault(origin, (stamp, {}))[1][key] = entry
            write_only({self._kept / "compiled": _sealed(files)}, [], False, False)
            remove_old(self._kept)

    def _replace(self, ansibles: _Ansibles) -> None:
        compile_template = ansibles.environment.compile
        compile_expression = ansibles.environment.compile_expression

        def template(environment: Any, source: Any, *rest: Any, **options: Any) -> CodeType:
            expression = vars(self._expression).pop("of", None)
            if rest or options or not ansibles.fits(environment):
                return compile_template(environment, source, *rest, **options)
            if not isinstance(source, str):
                code = compile_template(environment, source)
                if expression:
                    self._add(*expression, code, ansibles.declared(environment, source))
                return code
            key = ansibles.key(environment, "template", source)
            code = self._known(key, environment, ansibles)
            if code is None:
                code = compile_template(environment, source)
                if origin := ansibles.origin(source):
                    used = ansibles.declared(environment, environment.parse(str(source)))
                    self._add(key, origin, code, used)
            return code

        def expression(
            environment: Any, source: str, undefined_to_none: bool = True
        ) -> TemplateExpression:
            if not ansibles.fits(environment):
                return compile_expression(environment, source, undefined_to_none)
            key = ansibles.key(environment, "expression", source)
            code = self._known(key, environment, ansibles)
            if code is not None:
                variables = environment.make_globals(None)
                made = environment.template_class.from_code(environment, code, variables, None)
                return TemplateExpression(made, undefined_to_none)
            if origin := ansibles.origin(source):
                self._expression.of = (key, origin)
            try:
                return compile_expression(environment, source, undefined_to_none)
            finally:
                vars(self._expression).clear()

        ansibles.environment.compile = template
        ansibles.environment.compile_expression = expression

    def _known(self, key: _Key, environment: Any, ansibles: _Ansibles) -> CodeType | None:
        code, used = self._compiled.get(key, (None, {}))
        if code is None or any(
            ansibles.declaration(environment, *plugin) != kind for plugin, kind in used.items()
        ):
            return None
        if isinstance(code, bytes):
            code = marshal.loads(code)
            self._compiled[key] = (code, used)
        return code

    def _add(self, key: _Key, origin: str, code: CodeType, used: dict[Any, str]) -> None:
        """Keep it in this process and in a file for the end of the playbook."""
        self._compiled[key] = (code, used)
        if self._kept and _is_plain(origin):
            with contextlib.suppress(OSError):
                _of_this_run().mkdir(0o700, exist_ok=True)
                named = hashlib.sha256(repr(key).encode()).hexdigest()
                # Of the processes that compile it at once, one writes.
                with (_of_this_run() / named).open("xb") as file:
                    file.write(_sealed((origin, _stamp(origin), key, (marshal.dumps(code), used))))


class _Ansibles:
    """What is used of ansible-core that is not public.

    :raises ImportError: this version has it not; also AttributeError.
    """

    def __init__(self) -> None:
        self._bits = importlib.import_module("ansible._internal._templating._jinja_bits")
        self._tags = importlib.import_module("ansible._internal._datatag._tags")
        self._tagging = importlib.import_module("ansible.module_utils._internal._datatag")
        self.environment = self._bits.AnsibleEnvironment
        self._declared: dict[tuple[str, str], str] = {}
        self._one = self.environment()
        own = [name for name in self._one.extensions if not name.startswith("jinja2.ext.")]
        if own or self._one.optimized or self._one._debuggable_template_source:
            raise AttributeError("what is compiled depends on more")
        self.fits(self._one)
        self.key(self._one, "template", "")
        self.origin("")

    def fits(self, environment: Any) -> bool:
        """Return whether an environment is as Ansible makes it, but for what the key has."""
        return type(environment) is self.environment and all(
            getattr(environment, name) == getattr(self._one, name)
            for name in ("autoescape", "finalize", "intercepted_binops", "is_async", "optimized")
        )

    def key(self, environment: Any, kind: str, source: str) -> _Key:
        """Return all that the code depends on, but for filters and tests."""
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
        """Return the file of this project of a text that was no secret there; "" for none."""
        if self._tagging.AnsibleTagHelper.tag_types(source) != {
            self._tags.Origin,
            self._tags.TrustedAsTemplate,
        }:
            return ""
        path = self._tags.Origin.get_tag(source).path or ""
        ours = path.startswith(tuple(f"{PROJECT / folder}/" for folder in _OURS))
        of_users = path.startswith(tuple(f"{PROJECT / folder}" for folder in _OF_USERS))
        return path if ours and not of_users else ""

    def declared(self, environment: Any, tree: nodes.Node) -> dict[tuple[str, str], str]:
        """Return how each filter and test of a template is declared."""
        used = [("filters", one.name) for one in tree.find_all(nodes.Filter)]
        used += [("tests", one.name) for one in tree.find_all(nodes.Test)]
        return {plugin: self.declaration(environment, *plugin) for plugin in used}

    def declaration(self, environment: Any, kind: str, name: str) -> str:
        """Return what a filter or test is given before its value; "missing" where it is not."""
        known = self._declared.get((kind, name))
        if known is None:
            try:
                found = getattr(environment, kind)[name]
                known = str(getattr(found, "jinja_pass_arg", ""))
            except Exception:
                return "missing"
            self._declared[(kind, name)] = known
        return known


def _of_this_run() -> Path:
    return Path(constants.DEFAULT_LOCAL_TMP) / "templates"


@cache
def _is_plain(path: str) -> bool:
    """Return whether a file that is there is no secret as a whole."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_ENCRYPTED)) != _ENCRYPTED
    except OSError:
        return False


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _sealed(value: Any) -> bytes:
    content = marshal.dumps(value)
    return hashlib.sha256(content).digest() + content


def _whole(path: Path) -> list[Any]:
    """Return what was sealed, in a list; nothing for a file that is not whole."""
    try:
        content = path.read_bytes()
    except OSError:
        return []
    digest, content = content[:32], content[32:]
    return [marshal.loads(content)] if hashlib.sha256(content).digest() == digest else []


def _read(kept: Path) -> dict[str, _File]:
    """Return what was kept of files that are as they were."""
    for files in _whole(kept / "compiled"):
        return {origin: file for origin, file in files.items() if file[0] == _stamp(origin)}
    return {}
