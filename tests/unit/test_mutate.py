"""The mutation tool: what kills, what does not, and the names of the mutations."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "mutations"))
import mutate
from places import mutations
from selection import Selection

FORM = "test_a.py::test_a[1]"


def test_equal_changes_of_a_function_have_places_of_their_own():
    found = mutations("a.py", "def f():\n    return g(1), g(1)\n")
    places = [mutation.place for mutation in found if mutation.kind == "number"]
    assert places == ["a.py:f: 1 -> 2", "a.py:f: 1 -> 2 (2)"]


@pytest.mark.parametrize("test", ["TYPE_CHECKING", "__name__ == '__main__'"])
def test_what_no_import_runs_is_not_changed(test):
    assert mutations("a.py", f"if {test}:\n    main(1)\n") == []


@pytest.mark.parametrize(
    ("statuses", "result"),
    [
        ([0, 0], "survived"),
        ([0, 1], "killed"),
        ([0, None], "killed"),
        *[([0, status], "error") for status in (2, 3, 5)],
        # What fails, or is not found, without the mutation.
        *[([status], "error") for status in (1, 2, 4, None)],
        # The names of the tests have changed.
        ([0, 4, 0, 1], "killed"),
        ([0, 4, 0, 0], "survived"),
        ([0, 4, 1], "error"),
        # The file of the tests cannot be imported any more, or it can.
        ([0, 4, 0, 4, 0, 1], "killed"),
        ([0, 4, 0, 4, 0, 0], "error"),
    ],
)
def test_only_a_failed_test_or_one_without_end_kills(tmp_path, monkeypatch, statuses, result):
    (tmp_path / "a.py").write_text("A = 1\n")
    left = list(statuses)
    monkeypatch.setattr(mutate, "outcome", lambda *_: left.pop(0))
    (mutation,) = mutations("a.py", "A = 1\n")
    selection = SimpleNamespace(chosen=lambda *_: ([FORM], 1.0))
    assert mutate.tried(mutation, tmp_path, selection, 30, {}) == result
    assert left == [] and (tmp_path / "a.py").read_text() == "A = 1\n"


def test_tests_that_end_without_a_summary_have_failed(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "test_a.py").write_text(
        "import os\ndef test_a():\n    pass\ndef test_b():\n    os._exit(0)"
    )
    assert mutate.outcome(tree, ["test_a.py::test_a"], 1) == 0
    assert mutate.outcome(tree, ["--collect-only", "test_a.py"], 1) == 0
    assert mutate.outcome(tree, ["test_a.py"], 1) == 1


def test_the_tests_that_run_a_filter_come_before_those_that_only_name_it(tmp_path):
    path = "filter_plugins/a.py"
    source = "class FilterModule:\n    def filters(self):\n        return {'a': 1}\n"
    for name, text in ((path, source), ("test_a.py", "a = 1\n"), ("test_all.py", "")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    running = {f"{path}:FilterModule.filters": ["test_all.py::test_all"]}
    measured = {
        "test_a.py": {"seconds": {"test_a.py::test_a": 1.0}, "runs": {}},
        "test_all.py": {"seconds": {"test_all.py::test_all": 2.0}, "runs": running},
    }
    (tmp_path / "tests.json").write_text(json.dumps(measured))
    selection = Selection(tmp_path, [path], tmp_path / "tests.json")
    mutation = mutations(path, source)[0]
    assert selection.chosen(mutation, 2.5) == (["test_all.py::test_all"], 2.0)
    assert selection.chosen(mutation, 30)[0] == ["test_all.py::test_all", "test_a.py::test_a"]


def test_a_selection_of_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["mutate.py", "--only", "typo"])
    monkeypatch.setattr(mutate, "results_of", lambda *_: [])
    with pytest.raises(SystemExit, match="No mutation is selected"):
        mutate.main()
