"""What Ansible sends for a module: a zip of sources, here with their bytecode, and kept.

Ansible builds the zip once a playbook and module, for which it parses some sixty files, and puts it
into a folder of its own that ends with the playbook. Every run of the module compiles these files
again: a node has no cache of them. Python takes the bytecode of a zip where it is of its own
version, and the source where it is not.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import importlib.util
import io
import marshal
import os
import re
import shutil
import stat
import sys
import types
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import ansible
import jinja2
from ansible import constants
from ansible.executor import module_common
from ansible.modules import ping
from ansible_collections.scalebench.core.plugins.module_utils.node import durable
from ansible_collections.scalebench.core.plugins.plugin_utils.plan_evidence import PROJECT

__all__ = ["KeptPayloads", "make_kept", "prepare", "private_folder", "remove_old"]

_PARSE = "_compile_module_ast"
# PEP 552: bytecode that is found by a hash of its source, which is not looked at.
_UNCHECKED = (1).to_bytes(4, "little")
# The first file that is imported. Ansible finds out by the path of code who says that something is
# deprecated, and the bytecode does not know where the zip will be. Imports leave no cycles
# of objects, and to look for them takes a twentieth of the CPU time of a short module.
_FIRST = "ansible/__init__.py"
_BEFORE_THE_REST = b"""
import _imp, gc, zipimport
gc.set_threshold(100_000)
def _named(importer, path, *rest, _read=zipimport._unmarshal_code):
    code = _read(importer, path, *rest)
    if code is not None:
        _imp._fix_co_filename(code, path.removesuffix("c"))
    return code
zipimport._unmarshal_code = _named
"""
# Folders for other versions of this code that stay, for a run that needs them.
_MOST = 3
# Of Ansible's own modules and those of this project, which are what the key is of.
_KEPT = re.compile(r"ansible\.(?:modules\.\w+|legacy\.(?P<own>\w+))-ZIP_\w+-none")


class _WithBytecode(zipfile.ZipFile):
    """Writes the bytecode of each source beside it."""

    def writestr(self, zinfo_or_arcname: Any, data: str | bytes, *rest: Any) -> None:
        super().writestr(zinfo_or_arcname, data, *rest)
        name = getattr(zinfo_or_arcname, "filename", "")
        if name.endswith(".py"):
            beside = zipfile.ZipInfo(f"{name}c", zinfo_or_arcname.date_time)
            beside.compress_type = zinfo_or_arcname.compress_type
            source = data.encode() if isinstance(data, str) else bytes(data)
            if compiled := _bytecode(name, source):
                super().writestr(beside, compiled)


@cache
def _bytecode(name: str, source: bytes) -> bytes:
    """Return the file of bytecode, empty for a source that only its run shall complain about."""
    run = source + _BEFORE_THE_REST if name == _FIRST else source
    with warnings.catch_warnings(action="ignore"):
        try:
            code = compile(run, name, "exec", dont_inherit=True, optimize=0)
        except (SyntaxError, ValueError):
            return b""
    digest = importlib.util.source_hash(source)
    return importlib.util.MAGIC_NUMBER + _UNCHECKED + digest + marshal.dumps(code)


def prepare(parse: bool = True) -> None:
    """Send bytecode from this process and those forked from it.

    :param parse: parse here what all modules share.

    This replaces names of ansible-core that are not public. With a version that has others, all
    stays as it was.
    """
    original = {name: getattr(module_common, name, None) for name in ("zipfile", _PARSE)}
    zipped = types.ModuleType("zipfile")
    zipped.__dict__.update(vars(zipfile), ZipFile=_WithBytecode)
    try:
        vars(module_common).update({"zipfile": zipped, _PARSE: cache(original[_PARSE])})
        if not parse:
            return
        with _WithBytecode(io.BytesIO(), "w") as unused:
            module_common.recursive_finder(
                "ping",
                ping.__name__,
                Path(ping.__file__).read_text(),
                unused,
                datetime.datetime.now(datetime.UTC),
                module_common._builder.ExtensionManager.create(task_vars={}),
            )
    except Exception:
        vars(module_common).update(original)


class KeptPayloads:
    """The payloads of one playbook, from its start on."""

    def __init__(self, state: Path = PROJECT / ".state") -> None:
        self._state = state
        # Of the code that this playbook begins with, which may be changed while it runs.
        self._kept = _folder(state)
        self._restored: set[str] = set()

    def restore(self) -> bool:
        """Give Ansible what earlier playbooks built; return whether there was something."""
        with contextlib.suppress(OSError):
            if self._kept and self._kept.is_dir():
                os.utime(self._kept)
                _ansibles().mkdir(exist_ok=True)
                for file in self._kept.iterdir():
                    _link(file, _ansibles() / file.name)
                    self._restored.add(file.name)
        return bool(self._restored)

    def keep(self) -> None:
        """Keep what this playbook has built, for this account alone."""
        with contextlib.suppress(OSError):
            built = [
                path
                for path in _ansibles().iterdir()
                if path.name not in self._restored and _is_ours(path.name)
            ]
            kept = self._kept
            if not built or not kept or kept != _folder(self._state):
                return
            make_kept(kept)
            for path in built:
                # An empty one after a power failure would end every playbook.
                durable.sync(path)
                _link(path, kept / path.name, durable.replace)
            durable.sync(kept)
            remove_old(kept)


def _folder(state: Path) -> Path | None:
    """Return the folder for payloads; None where they have modules of the user's in them."""
    if any(Path(path).is_dir() for path in constants.DEFAULT_MODULE_UTILS_PATH):
        return None
    return private_folder(state, "payloads", "library", "collections")


def private_folder(state: Path, kind: str, *sources: str) -> Path | None:
    """Return the folder for what is made of this version of Ansible and sources; None for no such.

    What Ansible reads from it is run: it must be nobody else's. A link has all rights set.

    :param sources: folders of the project.
    """
    try:
        kept = state / kind / _key(sources)
        for folder in (state, kept.parent, kept):
            with contextlib.suppress(FileNotFoundError):
                found = folder.lstat()
                shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
                if found.st_uid != os.geteuid() or shared:
                    return None
    except OSError:
        # Such as the link that an editor leaves beside a file.
        return None
    return kept


def make_kept(kept: Path) -> None:
    """Make a private folder, for this account alone.

    :raises OSError: it cannot be made.
    """
    for folder, mode in ((kept.parent.parent, 0o755), (kept.parent, 0o700), (kept, 0o700)):
        folder.mkdir(mode, exist_ok=True)


def remove_old(kept: Path) -> None:
    """Remove the folders beside a private one that were not used for longest.

    :raises OSError: they cannot be listed.
    """
    others = sorted(kept.parent.iterdir(), key=lambda path: path.stat().st_mtime)
    for old in others[: -_MOST - 1]:
        shutil.rmtree(old, ignore_errors=True)


def _key(sources: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    versions = (ansible.__version__, jinja2.__version__, sys.version)
    for part in (*versions, ansible.__file__, str(PROJECT)):
        digest.update(f"{part}\0".encode())
    for folder in sources:
        for path in sorted((PROJECT / folder).rglob("*.py")):
            digest.update(f"{path}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _ansibles() -> Path:
    return Path(constants.DEFAULT_LOCAL_TMP) / "ansiballz_cache"


def _is_ours(name: str) -> bool:
    match = _KEPT.fullmatch(name)
    return match is not None and (
        not match["own"] or (PROJECT / "library" / f"{match['own']}.py").is_file()
    )


def _link(source: Path, target: Path, put: Callable[[Path, Path], None] = os.replace) -> None:
    """Give a complete file a second place; the file itself where both are on one file system.

    :param put: how a copy, where they are not, takes its name.
    """
    try:
        os.link(source, target)
    except FileExistsError:
        pass
    except OSError:
        part = target.with_name(f"{target.name}-{os.getpid()}")
        shutil.copyfile(source, part)
        put(part, target)
