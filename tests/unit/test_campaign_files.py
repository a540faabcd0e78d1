"""The files of a campaign, as a killed controller leaves them."""

import json

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.plugin_utils import campaign_files as files
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import read_campaign
from campaign_data import benchmarks, cluster


def test_a_partial_first_plan_does_not_block_the_campaign(tmp_path):
    (tmp_path / ".plan.json.42.part").write_text('{"schema"')
    assert files.kept_plan(tmp_path) == {}
    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(ValueError, match="is not a campaign"):
        files.kept_plan(tmp_path)


def plan_of(folder, **changes):
    """Write a plan with these changes; return the folder."""
    made = plan.build(benchmarks(), parse_options({"topology": "1n1g"}), cluster(1))
    (folder / "plan.json").write_text(json.dumps({**made, **changes}))
    return folder


@pytest.mark.parametrize("changes", [{"nodes": [1]}, {"options": None}, {"cells": {}}])
def test_a_damaged_plan_is_named_to_bench_and_to_the_report(tmp_path, changes):
    (key,) = changes
    with pytest.raises(ValueError, match=f"plan.json is not a plan: .*{key} is .*, not a"):
        files.read_plan(plan_of(tmp_path, **changes))
    with pytest.raises(ValueError, match=r"plan.json is not a plan: .*another -e campaign=NAME"):
        files.kept_plan(tmp_path)
    with pytest.raises(ValueError, match=f"not a campaign: plan.json: .*{key} is "):
        read_campaign(tmp_path, "auto", {})


def test_a_plan_without_commands_is_reported_and_not_continued(tmp_path):
    plan_of(tmp_path)
    assert files.kept_plan(tmp_path) == files.read_plan(tmp_path)
    made = files.kept_plan(tmp_path)
    del made["cells"][0]["commands"]
    plan_of(tmp_path, **made)
    assert len(read_campaign(tmp_path, "auto", {}).results["cells"]) == 1
    with pytest.raises(ValueError, match=r"plan.json .* has no commands\. Restore the file"):
        files.kept_plan(tmp_path)


@pytest.mark.parametrize("text", ["[1, 2", "[" * 100_000, b"\xff\xfe"])
def test_a_plan_that_is_no_json_is_refused_by_name(tmp_path, text):
    (tmp_path / "plan.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=r"plan.json is not a plan"):
        files.read_plan(tmp_path)


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
