"""Find a Python of a wanted version: on the PATH, then pyenv's, then uv's."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sysconfig
from typing import Iterator, List, Optional, Sequence, Tuple

__all__ = ["find", "platform_tag", "why_not"]


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


def why_not(python: str) -> Optional[str]:
    """Return why an environment's interpreter cannot be used, None where it can.

    The reason that role framework left in the environment says more than a missing file.

    :param python: path of the interpreter, as ``/venvs/pytorch/bin/python``.
    """
    if os.access(python, os.X_OK):
        return None
    try:
        note = os.path.join(os.path.dirname(os.path.dirname(python)), "unavailable")
        with open(note, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return "it is no program" if os.path.exists(python) else "there is no such file"


def platform_tag() -> str:
    """Return what a compiled file is built for: machine and C library, ``linux-x86_64-glibc2.36``.

    :returns: only the machine where the C library does not tell its version.
    """
    library = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else ""
    return "-".join(
        part for part in (sysconfig.get_platform(), (library or "").replace(" ", "")) if part
    )


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
