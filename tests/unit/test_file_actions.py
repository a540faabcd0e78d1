"""What the actions do that read and write single files, and read a clock."""

import json

import pytest
from action_calls import result
from ansible.errors import AnsibleActionFail
from written_logs import write_log

from action_plugins import (
    campaign_unarchive,
    json_file,
    preflight_facts,
    text_tree,
    training_log_facts,
)


def test_an_error_of_an_action_has_its_file(tmp_path):
    with pytest.raises(AnsibleActionFail, match=r"nowhere\.tgz: No such file or directory"):
        result(campaign_unarchive, {"archive": str(tmp_path / "nowhere.tgz")})


def test_a_json_file_is_written_once_and_without_secrets(tmp_path):
    path = tmp_path / "new/verdicts.json"
    args = {"path": str(path), "content": {"found": "process 7 (x --token=hf_" + "a1" * 20 + ")"}}
    assert result(json_file, args, check=True)["changed"] and not path.parent.exists()
    assert result(json_file, args)["changed"]
    assert not result(json_file, args)["changed"]
    found = json.loads(path.read_text())["found"]
    assert found == "process 7 (x --token=[redacted: Hugging Face token])"
    (tmp_path / "file").write_text("")
    with pytest.raises(
        AnsibleActionFail, match=r"file/a\.json: cannot be written: Not a directory"
    ):
        result(json_file, {**args, "path": str(tmp_path / "file/a.json")})


def test_logs_are_read_here_only_where_they_are_and_may_be_read(tmp_path, monkeypatch):
    write_log(tmp_path / "a.log")
    args = {"path": str(tmp_path / "a.log")}
    asked = []
    monkeypatch.setattr(
        training_log_facts.ActionModule,
        "_execute_module",
        lambda *_, **given: asked.append(given) or {"there": True},
    )
    assert result(training_log_facts, args)["throughput"] and not asked
    for elsewhere in ({"transport": "ssh"}, {"become": True}):
        assert result(training_log_facts, args, **elsewhere)["there"]
    assert len(asked) == 2
    (tmp_path / "a.log").write_text("nothing\n")
    failed = result(training_log_facts, args)
    assert failed["failed"] and "no known format" in failed["msg"]


def test_texts_are_read_by_pattern_and_added_to_those_given(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.py").write_text("b")
    (tmp_path / "c.yml").write_text("c")
    (tmp_path / "folder.py").mkdir()
    monkeypatch.setattr(
        text_tree.ActionModule, "_execute_module", lambda *_, module_args, **__: module_args
    )
    args = {"source": str(tmp_path), "texts": {"own": "o"}}
    assert result(text_tree, args)["texts"] == {"own": "o", "a/b.py": "b"}
    assert result(text_tree, {**args, "pattern": "*.yml"})["texts"] == {"own": "o", "c.yml": "c"}
    assert result(text_tree, {"texts": {"own": "o"}})["texts"] == {"own": "o"}
    with pytest.raises(AnsibleActionFail, match=r"no file matches \*\.txt"):
        result(text_tree, {**args, "pattern": "*.txt"})


def test_the_skew_of_a_clock_is_between_before_and_after(monkeypatch):
    answers = [
        {"clock": 105.0, "other": 1},
        {"other": 1},
        {"clock": "x"},
        {"clock_skew": [0, 0]},
    ]
    monkeypatch.setattr(
        preflight_facts.ActionModule, "_execute_module", lambda *_, **__: answers.pop(0)
    )
    times = [100.0, 102.0, *(0.0,) * 6]
    monkeypatch.setattr(preflight_facts.time, "time", lambda: times.pop(0))
    assert result(preflight_facts, {})["clock_skew"] == [3.0, 5.0]
    # A node that does not tell its clock cannot say how wrong it is.
    for _ in range(3):
        assert "clock_skew" not in result(preflight_facts, {})
