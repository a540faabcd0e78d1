#!/usr/bin/env python3
"""Name what failed in the logs of ``make test``, and end with 1 if anything did.

Usage: failed_tests.py FOLDER. It holds PART.log of each part, and PART.failed of each that failed.
"""

import re
import sys
from pathlib import Path

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# The lines by which pytest, Ansible, Molecule and make name a failure.
FAILURE = re.compile(r"^(FAILED|ERROR) |fatal: |CRITICAL|^make.*\*\*\*")
MOST, WIDTH = 40, 300

marks = sorted(Path(sys.argv[1]).glob("*.failed"))
for mark in marks:
    log = mark.with_suffix(".log")
    print(f"\n{mark.stem} failed, see {log}:")
    lines = COLOUR.sub("", log.read_text(errors="replace")).splitlines()
    print("\n".join([line[:WIDTH] for line in lines if FAILURE.search(line)][-MOST:]))
sys.exit(bool(marks))
