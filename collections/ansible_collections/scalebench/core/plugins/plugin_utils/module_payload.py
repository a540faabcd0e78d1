"""What Ansible sends for a module: a zip of its sources, and here of their bytecode too.

Ansible builds the zip once a playbook and module, for which it parses some sixty files, and every
run of the module compiles these files again: a node has no cache of them. Python takes the bytecode
of a zip where it is of its own version, and the source where it is not.
"""

from __future__ import annotations

import datetime
import importlib.util
import io
import marshal
import types
import warnings
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from ansible.executor import module_common
from ansible.modules import ping

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
