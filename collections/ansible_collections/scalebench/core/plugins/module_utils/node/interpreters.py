"""Find a Python of a wanted version: on the PATH, then pyenv's, then uv's."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
from typing import Iterator, List, Optional, Sequence, Tuple

__all__ = ["find"]


def find(versions: Sequence[str]) -> Tuple[Optional[Tuple[str, str]], List[str]]:
    """Return (version, path) of the first interpreter that will do, and what was looked at.

    :param versions: as ``3.11``, the preferred one first.
    """
    looked_at: List[str] = []
    for version in versions:
        for where, path in _candidates(version):
            problem = _problem(path, version) if path else "not there"
            if problem is None and path is not None:
                return (version, path), looked_at
            looked_at.append(f"python{version} {where}: {problem}")
    return None, looked_at


def _candidates(version: str) -> Iterator[Tuple[str, Optional[str]]]:
    yield "on the PATH", shutil.which(f"python{version}")
    home = os.path.expanduser("~")
    pyenv = os.environ.get("PYENV_ROOT", f"{home}/.pyenv")
    yield "of pyenv", _latest(f"{pyenv}/versions/{version}.*/bin/python{version}")
    uv = os.environ.get("UV_PYTHON_INSTALL_DIR", f"{home}/.local/share/uv/python")
    yield "of uv", _latest(f"{uv}/cpython-{version}.*/bin/python{version}")


def _latest(pattern: str) -> Optional[str]:
    return max(glob.glob(pattern), default=None)


def _problem(path: str, version: str) -> Optional[str]:
    """Return why the interpreter will not do; a shim of pyenv may stand for nothing."""
    code = "import ensurepip, venv, sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return f"{path}: {last}"
    return None if done.stdout.strip() == version else f"{path} is Python {done.stdout.strip()}"
