"""docs/unproven.md: every stand-in has a row, and every row names what is there."""

import re
import subprocess
from pathlib import Path

import pytest
from held_commands import HELD, NOTHING

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "docs/unproven.md").read_text().splitlines()
WORDS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in LINES if line.startswith("|")]
ROWS = [row for row in WORDS if len(row) == 4 and row[0] not in ("claim", "---")]
KINDS = {row[0] for row in WORDS if len(row) == 2} - {"word", "---"}
OURS = ("stand_in", "stand-in")


def paths(row):
    """Return the files and folders that the third column names."""
    return re.findall(r"`([\w./-]+/[\w./-]+)`", row[2])


def tracked():
    """Return the files of the repository that stand in for something, without their README."""
    done = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("not a checkout of git")
    return {
        name
        for name in done.stdout.splitlines()
        if any(word in name for word in OURS) and not name.endswith("README.md")
    }


def test_the_tables_have_rows_of_known_kinds():
    assert len(ROWS) > 40
    assert {row[1] for row in ROWS} == KINDS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_a_row_names_what_is_there_and_what_would_prove_more(row):
    claim, kind, by, better = row
    assert claim
    missing = [path for path in paths(row) if not (ROOT / path).exists()]
    assert missing == []
    if kind == "nothing":
        # A test beside the claim stands in parentheses: it does not prove it.
        assert not by or by.startswith("("), by
        assert better, claim
    else:
        assert paths(row), claim
    assert (kind == "stand-in") <= any(word in by for word in OURS), by


def test_every_stand_in_has_a_row():
    named = {path for row in ROWS for path in paths(row)}
    assert tracked() - named == set()


def test_programs_whose_options_nothing_holds_have_a_row():
    # POSIX says what these do, and the last are the user's own words.
    certain = {"cat", "kill", "sh", "sleep", "drain and resume"}
    unheld = {name for name, held in HELD.items() if held.by == NOTHING} - certain
    (row,) = [row for row in ROWS if row[0].startswith("The options given to")]
    assert set(re.findall(r"`([^`]+)`", row[0])) == unheld
