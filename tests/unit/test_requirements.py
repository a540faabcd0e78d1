"""What the controller runs has the bytes that were locked: requirements.lock, used by `make`."""

import re
from pathlib import Path

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
