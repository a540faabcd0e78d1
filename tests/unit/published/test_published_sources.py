"""Every published row that states its line, read again in a copy of its source."""

import os
from pathlib import Path

import check_published as check
import pytest
from ansible_collections.scalebench.core.plugins.module_utils.published.rows import published_rows
from published_data import documents, rows

ROOT = Path(__file__).resolve().parents[3]
COPIES = [ROOT.parent / "shared/upstream", Path(os.environ.get("SCALEBENCH_SOURCES", "/nowhere"))]
DOCUMENT = {
    "schema": 1,
    "source": {"kind": "extra", "repository": "a/b", "commit": "c0ffee", "path": "README.md"},
    "method": {"statistic": "median", "text": "Median."},
    "common": {"benchmark": "bert", "framework": "f", "model": "m", "repeats": 3},
    "series": [
        {
            "id": "s",
            "batch_size_per_device": 32,
            "columns": {"nodes": 1, "world_size": 2, "throughput": 3, "speedup": 4},
            "results": {
                "2n8g": {
                    **{"throughput": 1404.04, "speedup": 13.08, "line": 3, "runs_line": 5},
                    "runs": {1: 1.0, 2: 1404.04, 3: 2000.0},
                }
            },
        }
    ],
}
TABLE = (
    "| nodes | gpus | seq/s | speedup |\n| -- | -- | -- | -- |\n| 2 | 16 | 1,404.04 | 13.08x |\n\n"
)
RUNS = "|2|16|1.00|\n|2|16|1404.04|\n|2|16|2,000|\n"


def problems(folder, text):
    copy = folder / "a+b@c0ffee12"
    copy.mkdir()
    (copy / "README.md").write_text(text)
    return check.check_rows(published_rows(DOCUMENT, "d"), folder)


def test_a_row_that_stands_where_it_says(tmp_path):
    assert problems(tmp_path, TABLE + RUNS) == ({"confirmed": 1}, [])


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("1,404.04 | 13", "1,404.05 | 13", "line 3, cell 3: throughput 1404.04 expected"),
        ("| 16 |", "| 8 |", "line 3, cell 2: world_size 16 expected, '8' printed"),
        ("13.08x", "-", "cell 4: speedup 13.08 expected, '-' printed"),
        ("|2|16|1.00", "|2|16|1.01", "line 5, cell 3: throughput 1.0 expected, '1.01' printed"),
        ("| nodes", "\n| nodes", "line 3, cell 1: nodes 2 expected, '--' printed"),
        (RUNS, "", "line 7, cell 3: throughput 2000.0 expected, '' printed"),
    ],
)
def test_a_row_that_does_not(tmp_path, old, new, problem):
    counts, found = problems(tmp_path, (TABLE + RUNS).replace(old, new))
    assert counts == {"wrong": 1} and any(problem in one for one in found), found


def test_a_source_that_is_not_here(tmp_path):
    assert check.check_rows(published_rows(DOCUMENT, "d"), tmp_path) == ({"absent": 1}, [])


def stating_lines():
    return [path.stem for path in documents() if " line: " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", stating_lines())
def test_the_rows_of_a_document_stand_in_its_source(name):
    placed = [row for row in rows(name) if row.get("line")]
    counts, found = max(
        (check.check_rows(placed, folder) for folder in COPIES), key=lambda one: -one[0]["absent"]
    )
    assert found == []
    if counts["absent"]:
        pytest.skip(
            f"{counts['absent']} of {len(placed)} rows: no copy of {placed[0]['repository']}"
        )
