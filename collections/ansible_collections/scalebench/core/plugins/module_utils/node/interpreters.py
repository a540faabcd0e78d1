"""Python interpreters of this node: one of a wanted version, and the packages of each.

Versions are searched on the PATH, then in pyenv's, then in uv's folders. Packages are read from
the names in site-packages, ten times faster than by starting the interpreter.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import shutil
import sysconfig
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from .programs import run_program

__all__ = [
    "environment_facts",
    "filled",
    "find",
    "nccl_version",
    "packages",
    "platform_tag",
    "why_not",
    "wrong_machine",
]

# An interpreter on a file server may take seconds to start.
_PATIENCE_SECONDS = 60
# https://packaging.python.org/en/latest/specifications/recording-installed-packages/
_INSTALLED = re.compile(r"(?P<name>.+?)-(?P<version>[0-9][^-]*)(-py[0-9.]+)?\.(dist|egg)-info")


def find(
    versions: Sequence[str], needed: str = "ensurepip, venv"
) -> Tuple[Optional[Tuple[str, str]], List[str]]:
    """Return (version, path) of the first usable interpreter, and why the others are not.

    :param versions: such as ``3.11``, the preferred one first.
    :param needed: the modules that it must have, as ``import`` takes them.
    """
    unusable: List[str] = []
    for version in versions:
        for where, path in _candidates(version):
            problem = _problem(path, version, needed) if path else "not there"
            if problem is None and path is not None:
                return (version, path), unusable
            unusable.append(f"python{version} {where}: {problem}")
    return None, unusable


def wrong_machine(machines: Sequence[str], machine: str) -> Optional[str]:
    """Return why packages that are built for some machines do not run on one; None if they do.

    :param machines: as ``platform.machine`` names them; none: packages for any.
    """
    if not machines or machine in machines:
        return None
    known = " or ".join(machines)
    return f"needs a machine of {known}, for which alone it has packages (this one is {machine})"


def why_not(python: str) -> Optional[str]:
    """Return why the interpreter of an environment cannot be used; None if it can.

    The reason is read from the file that role framework leaves in an unavailable environment, which
    may have an interpreter and lack the packages.

    :param python: path of the interpreter, such as ``/venvs/pytorch/bin/python``.
    """
    try:
        note = os.path.join(os.path.dirname(os.path.dirname(python)), "unavailable")
        with open(note, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        if os.access(python, os.X_OK):
            return None
        return "it is not executable" if os.path.exists(python) else "there is no such file"


def filled(environment: str, requirements: Iterable[str]) -> Optional[str]:
    """Return a digest of what was to be installed into a virtual environment and of what is there.

    It changes with every package that is removed, has another version or other metadata, whoever
    asked for it, and with the interpreter. None of an environment that cannot be used, as
    ``why_not`` says, and for a requirement of no exact version, which only pip can look for.

    :param environment: its folder.
    :param requirements: as pip takes them.
    """
    wanted = sorted(requirements)
    python = f"{environment}/bin/python"
    if not all("==" in requirement for requirement in wanted) or why_not(python) is not None:
        return None
    there = sorted([os.path.basename(path), _metadata(path)] for path in _infos(environment, "3*"))
    state = [wanted, os.path.realpath(python), there]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()


def _metadata(info: str) -> int:
    """Return the bytes of a package's metadata; 0 where pip takes the package for absent."""
    for path in (f"{info}/METADATA", f"{info}/PKG-INFO", info):
        if os.path.isfile(path):
            return os.path.getsize(path)
    return 0


def platform_tag() -> str:
    """Return the platform of compiled files: machine and C library, ``linux-x86_64-glibc2.36``.

    Without the C library where that does not report its version.
    """
    library = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else ""
    return "-".join(
        part for part in (sysconfig.get_platform(), (library or "").replace(" ", "")) if part
    )


def _candidates(version: str) -> Iterator[Tuple[str, Optional[str]]]:
    yield "on the PATH", shutil.which(f"python{version}")
    home = os.path.expanduser("~")
    pyenv = os.environ.get("PYENV_ROOT", f"{home}/.pyenv")
    uv = os.environ.get("UV_PYTHON_INSTALL_DIR", f"{home}/.local/share/uv/python")
    for where, folder in (("pyenv", f"{pyenv}/versions/"), ("uv", f"{uv}/cpython-")):
        paths = glob.glob(f"{folder}{version}.*/bin/python{version}")
        # All: a home on a file server has those of other machines, which do not run here.
        yield from ((f"of {where}", path) for path in sorted(paths, reverse=True))
        if not paths:
            yield f"of {where}", None


def _problem(path: str, version: str, needed: str) -> Optional[str]:
    """Return why an interpreter is unusable; it may be a shim of pyenv without a version."""
    code = f"import {needed}, sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = run_program([path, "-c", code], _PATIENCE_SECONDS)
    except ValueError as error:
        return str(error)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return f"{path}: {last}"
    return None if done.stdout.strip() == version else f"{path} is Python {done.stdout.strip()}"


def environment_facts(python: str) -> Dict[str, Any]:
    """Return ``python`` (version), ``packages`` (version by name) and ``nccl`` of an interpreter.

    Where its folders are not found, the versions are None and there are no packages.

    :param python: path of the interpreter: of a virtual environment, of conda or of the system.
    """
    config = _config(python)
    match = re.search(r"python(3\.\d+)", os.path.basename(os.path.realpath(python)))
    version = match.group(1) if match else "3*"
    installed = packages(
        name
        # In reverse order, so that the first folder on the interpreter's path has precedence.
        for prefix in reversed(_prefixes(python, config))
        # Debian keeps its own packages in a folder for all versions.
        for name in _names(prefix, "3") + _names(prefix, version)
    )
    return {
        "python": config.get("version_info") or config.get("version") or (match and version),
        "packages": installed,
        "nccl": nccl_version(installed),
    }


def _prefixes(python: str, config: Dict[str, str]) -> List[str]:
    """Return the folders above bin/ and lib/, in the interpreter's order."""
    own = _above(os.path.abspath(python))
    if config.get("include-system-site-packages") == "true":
        return [own, os.path.dirname(config["home"])]
    if config:
        return [own]
    real = _above(os.path.realpath(python))
    return ["/usr/local", real] if real == "/usr" else [real]


def _above(program: str) -> str:
    return os.path.dirname(os.path.dirname(program))


def _config(python: str) -> Dict[str, str]:
    """Return pyvenv.cfg of a virtual environment; empty for another interpreter."""
    try:
        with open(f"{_above(os.path.abspath(python))}/pyvenv.cfg", encoding="utf-8") as file:
            pairs = [line.partition("=") for line in file]
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in pairs}


def _names(prefix: str, version: str) -> List[str]:
    return [os.path.basename(path) for path in _infos(prefix, version)]


def _infos(prefix: str, version: str) -> List[str]:
    return glob.glob(f"{glob.escape(prefix)}/lib*/python{version}/*-packages/*-info")


def packages(names: Iterable[str]) -> Dict[str, str]:
    """Return version by package, sorted by name.

    :param names: of files in site-packages, such as ``torch-2.9.1+cpu.dist-info``; other names
        are ignored.
    """
    versions = {}
    for name in names:
        match = _INSTALLED.fullmatch(name)
        if match:
            versions[match["name"].replace("_", "-").lower()] = match["version"]
    return dict(sorted(versions.items()))


def nccl_version(installed: Mapping[str, str]) -> Optional[str]:
    """Return the version of an NCCL installed as a package (``nvidia-nccl-cu12``), else None.

    A framework in a container uses the system's library instead.
    """
    for name, version in installed.items():
        if name.startswith("nvidia-nccl-"):
            return version
    return None
