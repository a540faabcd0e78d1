#!/usr/bin/env python3
"""Name what failed in the logs of ``make test``, and end with 1 if anything did.

Usage: failed_tests.py FOLDER. It holds PART.log of each part, and PART.failed of each that failed.
"""

import re
import sys
from pathlib import Path

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# The lines by which pytest and make name a failure, and Molecule, after those that tell why.
# Of a scenario default, which there is not, Molecule says that its glob failed.
FAILURE = re.compile(r"(FAILED|ERROR) |CRITICAL(?!.* glob failed)|make.*\*\*\*")
BEFORE = {"CRITICAL": 12}
MOST, WIDTH = 60, 300

marks = sorted(Path(sys.argv[1]).glob("*.failed"))
for mark in marks:
    log = mark.with_suffix(".log")
    print(f"\n{mark.stem} failed, see {log}:")
    lines = COLOUR.sub("", log.read_text(errors="replace")).splitlines()
    shown = {
        place
        for number, line in enumerate(lines)
        if (found := FAILURE.match(line))
        for place in range(max(0, number - BEFORE.get(found[0], 0)), number + 1)
    }
    print("\n".join([lines[place][:WIDTH] for place in sorted(shown)][-MOST:]))
sys.exit(bool(marks))
