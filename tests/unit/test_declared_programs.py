"""scripts/programs.txt: what is installed for a part of the tests, and what a part may start."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from declared_programs import ROOT, declared, declared_for, of_every_debian
from external_commands import of_shell
from held_commands import HELD, HELP

PARTS = ("unit", "integration", "report", "faults", "testbed", "bare")
INSTALL = ROOT / "scripts/system-packages"


def machine(folder: Path, *programs: str) -> dict[str, str]:
    """Return the environment of a machine with a shell, Python and these programs only."""
    folder.mkdir()
    # As an ordinary user, so that nothing is installed.
    (folder / "id").write_text("#!/bin/sh\necho 1000\n")
    (folder / "id").chmod(0o755)
    for name in (name for name in programs if "/" not in name):
        (folder / name).symlink_to("/bin/true")
    return {"PATH": str(folder)}


def told(environment: dict[str, str], *parts: str) -> tuple[int, str]:
    """Return the exit status of system-packages and what it says, without this machine's sbin."""
    text = INSTALL.read_text().replace(":/usr/sbin:/sbin", "")
    assert text != INSTALL.read_text()
    done = subprocess.run(
        ["/bin/sh", "-c", text, str(INSTALL), sys.executable, *parts],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_what_a_part_needs_is_asked_for_and_nothing_else(tmp_path):
    status, said = told(machine(tmp_path / "bare"), "run")
    assert status == 1
    assert said.endswith("sudo apt-get install -y openssh-client openssh-server\n")
    ready = machine(tmp_path / "ready", *declared_for("run"))
    assert told(ready, "run") == (0, "")


def test_what_tests_can_do_without_is_named_and_does_not_end_the_run(tmp_path):
    ready = machine(tmp_path / "ready", *(declared_for("unit") - {"cmake", "gpg"}))
    status, said = told(ready, "run", "tests", "unit")
    assert (status, said.rpartition(": ")[2]) == (0, "cmake gpg\n")


def test_a_file_or_one_of_two_programs_is_enough(tmp_path):
    ready = machine(tmp_path / "ready", *(declared_for("report") - {"google-chrome"}))
    _, said = told(ready, "report")
    assert "chromium" not in said
    assert ("fonts-liberation" in said) != Path("/usr/share/fonts/truetype/liberation").exists()


def test_every_line_has_a_package_and_a_user_that_is_known():
    known = {"run", "tests", *PARTS}
    for line in declared():
        assert line.needed_by, line
        assert {word.rstrip("?") for word in line.needed_by} <= known, line
    names = [name for line in declared() for name in line.programs]
    assert len(names) == len(set(names))


def test_the_makefile_installs_what_each_part_needs_before_its_tests():
    text = (ROOT / "Makefile").read_text()
    for part in ("unit", "integration", "report", "faults"):
        assert re.search(rf"(?m)^test-{part}: programs-{part} ", text), part
    assert re.search(r"(?m)^test-roles: programs-testbed ", text)


def test_the_help_of_every_program_that_the_code_runs_can_be_read():
    """What is held against an installed program's help is installed, or every Debian has it."""
    held = {name for name, entry in HELD.items() if entry.by == HELP} - {"python3"}
    held -= declared_for("unit")
    assert [name for name in sorted(held) if not _everywhere(name)] == []


def _everywhere(name: str) -> bool:
    path = shutil.which(name, path=f"{os.defpath}:/usr/sbin:/sbin")
    return path is not None and of_every_debian(path)


# Files whose commands run on this machine, by the part that runs them.
STARTING = {
    "run": [ROOT / "scripts/system-packages"],
    "testbed": [
        *sorted(set((ROOT / "tests/testbed").glob("*.py")) - {ROOT / "tests/testbed/bare.py"}),
        *sorted((ROOT / "molecule").glob("*/tests/*.py")),
        ROOT / "molecule/shared/stand_ins/make_repository",
    ],
    "bare": [ROOT / "tests/testbed/bare.py"],
    "integration": [ROOT / f"tests/testbed/{name}.py" for name in ("daemon", "image")],
}
FOUND = {"run": "apt-get", "testbed": "ssh-keygen", "bare": "unshare", "integration": "dockerd"}


@pytest.mark.parametrize("part", STARTING)
def test_what_runs_outside_pytest_is_declared_too(part):
    started: dict[str, Path] = {}
    for path in STARTING[part]:
        text = path.read_text()
        shell = text.startswith("#!/bin/sh")
        names = (words[0] for words in of_shell(text)) if shell else _started(ast.parse(text))
        started |= dict.fromkeys(names, path)
    known = declared_for(part) | {path.name for path in Path(sys.prefix, "bin").iterdir()}
    # apt-get installs them.
    unknown = {name: path for name, path in started.items() if name not in known | {"apt-get"}}
    assert {name: path for name, path in unknown.items() if not _everywhere(name)} == {}
    assert FOUND[part] in started


def _started(tree: ast.Module) -> Iterator[str]:
    """Yield the programs that calls of functions named so start, by their first word."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if getattr(getattr(node.func, "value", None), "id", "") == "host":
                continue  # Testinfra starts it on a node.
            first = node.args[0]
            if isinstance(first, (ast.List, ast.Tuple)) and first.elts:
                first = first.elts[0]
            word = first.value if isinstance(first, ast.Constant) else None
            if name in ("run", "succeeds", "Popen", "call", "check_output") and word:
                yield str(word)
