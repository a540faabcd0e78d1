"""What the controller runs has the bytes that were locked: requirements.lock, used by `make`."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)")


def pins(text):
    """Return (name, version) of every pinned package, in order."""
    return [match.groups() for line in text.splitlines() if (match := PIN.match(line))]


def test_the_lock_has_every_requirement_in_its_version():
    wanted = pins((ROOT / "requirements.txt").read_text())
    assert wanted
    assert set(wanted) <= set(pins((ROOT / "requirements.lock").read_text()))


def test_every_package_of_the_lock_has_hashes():
    text = (ROOT / "requirements.lock").read_text()
    entries = re.split(r"\n(?=[^ #])", text)
    entries = [entry for entry in entries if not entry.startswith("#")]
    assert len(entries) == len(pins(text)) > 20
    for entry in entries:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry.splitlines()[0]


def test_make_installs_nothing_without_a_hash_for_the_controller():
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    (install,) = re.findall(r"^\$\(RUN\):.*\n(?:\t.*\n)+", text, re.MULTILINE)
    (pip,) = [line for line in install.splitlines() if " -m pip install" in line]
    assert "--require-hashes" in pip and pip.split()[-2:] == ["-r", "requirements.lock"]


def test_make_starts_ansible_without_the_paths_of_another_project():
    if shutil.which("make") is None:
        pytest.skip("no make here")
    text = (ROOT / "ansible.cfg").read_text()
    paths = re.findall(r"^(\w+_plugins|\w+_path|library) =", text, re.MULTILINE)
    assert len(paths) == 7
    given = {f"ANSIBLE_{name.upper()}": "/elsewhere" for name in paths}
    done = subprocess.run(
        ["make", "-s", "--eval=shown: ; @env", "shown"], cwd=ROOT, check=True, text=True,
        env={**os.environ, **given, "PYTHONPATH": "/elsewhere"}, capture_output=True,
    )  # fmt: skip
    assert "/elsewhere" not in done.stdout
    assert f"ANSIBLE_CONFIG={ROOT}/ansible.cfg" in done.stdout
