"""The programs that tests may start: those of scripts/programs.txt, and of every Debian."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "scripts/programs.txt"


class Declared(NamedTuple):
    """A line of the table; a name with ``?`` in ``needed_by`` can do without."""

    programs: tuple[str, ...]
    package: str
    needed_by: tuple[str, ...]


@cache
def declared() -> tuple[Declared, ...]:
    """Return the table."""
    lines = [line.split() for line in TABLE.read_text().splitlines() if re.match("[^#]", line)]
    return tuple(Declared(tuple(first.split("|")), name, tuple(by)) for first, name, *by in lines)


@cache
def declared_for(part: str) -> frozenset[str]:
    """Return the names that a part of the tests has installed before it starts."""
    words = {"run", "tests", part}
    return frozenset(
        name
        for line in declared()
        if words & {word.rstrip("?") for word in line.needed_by}
        for name in line.programs
    )


@cache
def of_every_debian(path: str) -> bool:
    """Return whether a package of priority required has a program; True where dpkg cannot say."""
    if not shutil.which("dpkg-query"):
        return True
    # A package may name a file by its folder before /bin became a link to /usr/bin.
    paths = {path, path.removeprefix("/usr"), os.path.realpath(path)}
    owners = _dpkg("--search", *sorted(paths)).replace(", ", "\n").splitlines()
    names = [line.partition(":")[0] for line in owners if not line.startswith("diversion")]
    return "required" in _dpkg("--show", "--showformat=${Priority}\n", *names).split()


def _dpkg(*words: str) -> str:
    command = ["dpkg-query", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
