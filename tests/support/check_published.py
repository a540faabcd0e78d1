#!/usr/bin/env python3
"""Read the published rows again in the repositories that they were taken from.

Usage: check_published.py FOLDER [DOCUMENT...]. FOLDER holds copies of the repositories, each as
OWNER+NAME@COMMIT (files) or OWNER+NAME/repo (a git directory). A row that states a line must have
its figures there. Ends with 1 where a figure is not where the row says, and counts what it read.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.scalebench.core.plugins.module_utils.published.rows import (
    published_rows,
)

Row = Mapping[str, Any]
# A number with separators of thousands, and what may stand around it.
TIME = re.compile(r'"time_ms": (\d+)')
NUMBER = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?")


def printed_number(cell: str) -> float | None:
    """Return the number in a cell of a table: ``~1,234.5 img/s``, ``7.70x``, ``40%``."""
    found = NUMBER.search(cell)
    return float(found[0].replace(",", "")) if found else None


def cells(line: str) -> list[str]:
    """Return the cells of a line of a Markdown table, or the words of another line."""
    if "|" not in line:
        return line.split()
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


@cache
def source_lines(folder: Path, repository: str, commit: str, path: str) -> list[str] | None:
    """Return the lines of a file at a commit, None where there is no copy of it."""
    name = repository.replace("/", "+")
    for copy in folder.glob(f"{name}@{commit}*"):
        if (copy / path).is_file():
            return (copy / path).read_text(encoding="utf-8", errors="replace").splitlines()
    git = folder / name / "repo"
    if not git.is_dir():
        return None
    shown = subprocess.run(
        ["git", "--git-dir", str(git), "show", f"{commit}:{path}"], capture_output=True, check=False
    )
    return None if shown.returncode else shown.stdout.decode(errors="replace").splitlines()


def row_problems(row: Row, lines: list[str]) -> list[str]:
    """Return what the row says that its source does not."""
    runs_at = row.get("runs_line") or 0
    stated = {
        name: row.get(name, (row.get("own_factors") or {}).get(name)) for name in row["columns"]
    }
    if row.get("per_device") and stated.get("throughput"):
        stated["throughput"] /= row["world_size"]
    if row.get("scale") and stated.get("throughput"):
        stated["throughput"] /= row["scale"]
    wanted = [
        (*(column if isinstance(column, list) else (row["line"], column)), name, stated[name])
        for name, column in row["columns"].items()
    ]
    wanted += [
        (runs_at + place, row["columns"]["throughput"], "throughput", speed)
        for place, speed in enumerate(row["runs"].values() if runs_at else ())
    ]
    return [
        problem
        for line, column, name, value in wanted
        if value is not None or name == "throughput"
        for problem in _cell_problem(lines, line, column, name, value)
    ]


def _cell_problem(lines: list[str], line: int, column: int, name: str, value: Any) -> list[str]:
    found = cells(lines[line - 1]) if line <= len(lines) else []
    cell = found[column - 1] if column <= len(found) else ""
    if value is None:
        same = bool(cell) and printed_number(cell) is None
    elif isinstance(value, str):
        same = cell == value
    else:
        number = printed_number(cell)
        same = number is not None and abs(number - value) <= 1e-9 * abs(value)
    return (
        [] if same else [f"line {line}, cell {column}: {name} {value} expected, {cell!r} printed"]
    )


def score(times: Mapping[str, list[Any]]) -> float:
    """Return MLPerf's score: the mean without fastest and slowest; a failed run is the slowest."""
    good = sorted(one[0] for one in times.values() if one[0] is not None)
    kept = good[1 : len(times) - 1]
    return round(sum(kept) / len(kept), 3)


def _time_problems(row: Row, folder: Path) -> list[str] | None:
    """Return what the result files of a training say otherwise, None where there is no copy."""
    problems = []
    for repeat, (seconds, *places) in row["times"].items():
        name = f"{row['path']}/result_{repeat}.txt"
        lines = source_lines(folder, row["repository"], row["commit"], name)
        if lines is None:
            return None
        read = [lines[place - 1] for place in places]
        keys = [f'"run_{key}"' in line for key, line in zip(("start", "stop"), read, strict=False)]
        converged = len(read) == 2 and '"status": "success"' in read[1]
        start, *stop = (int(found[1]) for line in read if (found := TIME.search(line)))
        elapsed = (stop[0] - start) / 1000 if converged else None
        if not all(keys) or elapsed != seconds:
            problems.append(f"result_{repeat}.txt: {seconds} s expected, {elapsed} s logged")
    if score(row["times"]) != row["time_to_train_seconds"]:
        problems.append(f"{score(row['times'])} s from the runs, {row['time_to_train_seconds']} s")
    return problems


def _printed_problems(row: Row, folder: Path) -> list[str] | None:
    lines = source_lines(folder, row["repository"], str(row["commit"]), row["path"])
    return None if lines is None else row_problems(row, lines)


def check_rows(rows: list[dict[str, Any]], folder: Path) -> tuple[Counter[str], list[str]]:
    """Return how many rows were confirmed, wrong, absent (no copy) and without a line; and why."""
    counts: Counter[str] = Counter()
    problems = []
    for row in rows:
        if not row.get("line") and not row.get("times"):
            counts["without a line"] += 1
            continue
        found = (_time_problems if row.get("times") else _printed_problems)(row, folder)
        counts["absent" if found is None else "wrong" if found else "confirmed"] += 1
        problems += [f"{row['id']}: {row['path']} at {row['commit']}, {one}" for one in found or ()]
    return counts, problems


def main() -> int:
    """Check the documents that were named, or all."""
    folder, *names = sys.argv[1:]
    total: Counter[str] = Counter()
    for path in sorted((ROOT / "published").glob("*.yml")):
        if names and path.stem not in names:
            continue
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        counts, problems = check_rows(published_rows(document, path.stem), Path(folder))
        total += counts
        print(f"{path.stem}: {', '.join(f'{n} {what}' for what, n in sorted(counts.items()))}")
        for problem in problems:
            print(f"  {problem}")
    print(f"all {sum(total.values())} rows: {dict(total)}")
    return bool(total["wrong"])


if __name__ == "__main__":
    sys.exit(main())
