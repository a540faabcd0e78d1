"""The files of a campaign, as a killed controller leaves them."""

import json

import pytest
from ansible_collections.scalebench.core.plugins.plugin_utils import campaign_files as files


def test_a_partial_first_plan_does_not_block_the_campaign(tmp_path):
    (tmp_path / ".plan.json.42.part").write_text('{"schema"')
    assert files.kept_plan(tmp_path) == {}
    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(ValueError, match="is not a campaign"):
        files.kept_plan(tmp_path)


def repeat(folder, text):
    """Write a repeat's record and log; return the record."""
    record = {"log": "logs/r50_1.log", "ending": "crashed", "reason": text}
    log = folder / record["log"]
    log.parent.mkdir(exist_ok=True)
    log.write_text(text)
    log.with_suffix(".run.json").write_text(json.dumps(record))
    return record


def test_what_is_set_aside_keeps_its_number_and_its_log(tmp_path):
    files.set_aside(tmp_path, repeat(tmp_path, "first"))
    files.set_aside(tmp_path, repeat(tmp_path, "second"))
    assert files.records(tmp_path) == {}
    for number, text in ((1, "first"), (2, "second")):
        base = tmp_path / f"logs/r50_1.attempt{number}"
        assert json.loads(base.with_suffix(base.suffix + ".json").read_text())["reason"] == text
        assert base.with_suffix(base.suffix + ".out").read_text() == text


def test_no_record_is_without_its_log_after_an_interrupted_rename(tmp_path, monkeypatch):
    record = repeat(tmp_path, "first")
    log = tmp_path / record["log"]
    with monkeypatch.context() as patch:
        patch.setattr(type(log), "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            files.set_aside(tmp_path, record)
    assert log.read_text() == "first"
    files.set_aside(tmp_path, record)
    assert log.with_suffix(".attempt1.out").read_text() == "first"
    assert not log.exists()


def test_a_log_without_a_record_is_renamed(tmp_path):
    log = tmp_path / "logs/r50_1.log"
    log.parent.mkdir()
    log.write_text("cut off")
    files.set_aside_unrecorded(tmp_path, "logs/r50_1.log")
    files.set_aside_unrecorded(tmp_path, "logs/r50_2.log")
    assert not log.exists()
    assert (tmp_path / "logs/r50_1.unrecorded.out").read_text() == "cut off"
