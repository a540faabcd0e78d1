"""Every published row that states its line, read again in a copy of its source."""

import copy
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


@pytest.mark.parametrize(("cell", "counts"), [("-", "confirmed"), ("7", "wrong"), ("", "wrong")])
def test_a_dash_is_a_figure_that_is_not_printed(tmp_path, cell, counts):
    empty = copy.deepcopy(DOCUMENT)
    empty["common"]["repeats"] = None
    empty["series"][0]["results"]["2n8g"] = {"throughput": None, "reason": "a dash", "line": 3}
    copied = tmp_path / "a+b@c0ffee12/README.md"
    copied.parent.mkdir()
    copied.write_text(f"| nodes | gpus | seq/s |\n| -- | -- | -- |\n| 2 | 16 | {cell} |\n")
    assert check.check_rows(published_rows(empty, "d"), tmp_path)[0] == {counts: 1}


def test_a_source_that_is_not_here(tmp_path):
    assert check.check_rows(published_rows(DOCUMENT, "d"), tmp_path) == ({"absent": 1}, [])


def trained(folder, times, seconds, logs):
    """Check a training of three runs against its result files."""
    place = folder / "a+b@c0ffee/r50"
    place.mkdir(parents=True)
    for repeat, text in enumerate(logs):
        (place / f"result_{repeat}.txt").write_text(text)
    document = copy.deepcopy(DOCUMENT)
    document["method"]["statistic"] = "olympic"
    document["series"] = [
        {
            **{"id": "s", "path": "r50"},
            "results": {"1n8g": {"time_to_train_seconds": seconds, "times": times}},
        }
    ]
    return check.check_rows(published_rows(document, "d"), folder)


def log(seconds, status="success"):
    line = '\n:::MLLOG {"time_ms": %d, "key": "run_%s", "metadata": {"status": "%s"}}'
    return "#" + line % (1000, "start", "") + line % (1000 + 1000 * seconds, "stop", status)


TIMES = {0: [90.0, 2, 3], 1: [100.0, 2, 3], 2: [120.0, 2, 3]}
LOGS = [log(90), log(100), log(120)]


def test_a_time_to_train_is_scored_from_its_logs(tmp_path):
    assert trained(tmp_path, TIMES, 100.0, LOGS) == ({"confirmed": 1}, [])


def test_a_run_that_did_not_converge_is_the_slowest(tmp_path):
    times, logs = {**TIMES, 0: [None, 2, 3]}, [log(90, "aborted"), *LOGS[1:]]
    assert trained(tmp_path, times, 120.0, logs) == ({"confirmed": 1}, [])


@pytest.mark.parametrize(
    ("times", "seconds", "logs", "problem"),
    [
        (TIMES, 100.0, [log(91), *LOGS[1:]], "result_0.txt: 90.0 s expected, 91.0 s logged"),
        (TIMES, 101.0, LOGS, "100.0 s from the runs, 101.0 s"),
        (TIMES, 100.0, [LOGS[0], log(100, "aborted"), LOGS[2]], "100.0 s expected, None s logged"),
        ({**TIMES, 1: [-100.0, 3, 2]}, 100.0, LOGS, "result_1.txt"),
    ],
)
def test_a_time_that_is_not_in_the_logs(tmp_path, times, seconds, logs, problem):
    counts, found = trained(tmp_path, times, seconds, logs)
    assert counts == {"wrong": 1} and any(problem in one for one in found), found


@pytest.mark.parametrize("name", [path.stem for path in documents()])
def test_the_rows_of_a_document_stand_in_its_source(name):
    placed = rows(name)
    counts, found = max(
        (check.check_rows(placed, folder) for folder in COPIES), key=lambda one: -one[0]["absent"]
    )
    assert found == []
    if counts["absent"]:
        pytest.skip(
            f"{counts['absent']} of {len(placed)} rows: no copy of {placed[0]['repository']}"
        )
