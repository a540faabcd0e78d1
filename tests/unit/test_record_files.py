"""Run records on the controller: what is damaged is left out, and attempts are in order."""

import json
import os

import pytest
from ansible_collections.scalebench.core.plugins.plugin_utils import campaign_files

CELL = {
    **{"benchmark": "b", "precision": "fp32", "variant": "bz4", "model": "r50"},
    **{"topology": "1n1g", "nodes": 1, "devices_per_node": 1, "batch_size_per_device": 4},
}
RECORD = {"cell": CELL, "repeat": 1, "log": "elsewhere.log", "ending": "ok", "reason": ""}


def write(folder, name, value):
    path = folder / f"logs/b/{name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def test_a_record_is_that_of_the_log_beside_it(tmp_path):
    write(tmp_path, "r50_1.run.json", RECORD)
    (record,) = campaign_files.records(tmp_path).values()
    assert record == {**RECORD, "log": "logs/b/r50_1.log", "facts": None}
    campaign_files.write_record(tmp_path, record)
    assert campaign_files.records(tmp_path) == {"logs/b/r50_1.log": record}


@pytest.mark.parametrize(
    "damaged",
    [
        *("", "[]", "{", "\udcff", {}, {**RECORD, "cell": None}, {**RECORD, "repeat": "first"}),
        *({**RECORD, "cell": {**CELL, "nodes": 2}}, {**RECORD, "facts": 3}),
    ],
)
def test_a_damaged_record_counts_as_none(tmp_path, damaged):
    if damaged == "\udcff":
        write(tmp_path, "r50_1.run.json", "")
        (tmp_path / "logs/b/r50_1.run.json").write_bytes(b'{"cell": "\xff"}')
    else:
        write(tmp_path, "r50_1.run.json", damaged)
    assert campaign_files.records(tmp_path) == {}


def test_a_record_of_schema_1_has_an_ending_and_a_reason(tmp_path):
    write(tmp_path, "r50_1.run.json", {"cell": CELL, "repeat": "2", "facts": {"throughput": 1.0}})
    (record,) = campaign_files.records(tmp_path).values()
    assert (record["ending"], record["reason"], record["repeat"]) == ("invalid", "", 2)


def test_attempts_are_in_order_of_their_numbers(tmp_path):
    for number in (10, 9, 1):
        write(tmp_path, f"r50_1.attempt{number}.json", {**RECORD, "reason": str(number)})
    (attempts,) = campaign_files.attempts(tmp_path).values()
    assert [record["reason"] for record in attempts] == ["1", "9", "10"]
    assert set(campaign_files.attempts(tmp_path)) == {"logs/b/r50_1.log"}


def test_damaged_records_are_named(tmp_path):
    write(tmp_path, "r50_1.run.json", {})
    write(tmp_path, "r50_2.attempt1.json", "{")
    problems = []
    assert campaign_files.records(tmp_path, problems) == {}
    assert campaign_files.attempts(tmp_path, problems) == {}
    assert [problem["path"] for problem in problems] == [
        "logs/b/r50_1.run.json",
        "logs/b/r50_2.attempt1.json",
    ]
    assert all(problem["reason"].startswith("it cannot be read: ") for problem in problems)


def test_a_record_is_not_read_through_a_link_out_of_the_campaign(tmp_path):
    write(tmp_path / "other", "r50_1.run.json", RECORD)
    write(tmp_path / "mine", "r50_2.run.json", RECORD)
    link = tmp_path / "mine/logs/b/r50_1.run.json"
    link.symlink_to(tmp_path / "other/logs/b/r50_1.run.json")
    problems = []
    assert set(campaign_files.records(tmp_path / "mine", problems)) == {"logs/b/r50_2.log"}
    assert "a link that leads out of the folder" in problems[0]["reason"]


def test_only_records_with_a_time_and_a_place_tell_how_long_repeats_take(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/plan.json").write_text("damaged")
    placed = {**CELL, "directory": "b/bz4/1n1g", "name": "r50"}
    for number, (cell, seconds) in enumerate([(CELL, 5.0), (placed, None), (placed, 7.0)], 1):
        record = {**RECORD, "cell": cell, **({"seconds": seconds} if seconds else {})}
        write(tmp_path / "mine", f"r50_{number}.run.json", record)
    assert list(campaign_files.earlier(tmp_path).values()) == [[7.0]]


def test_the_latest_campaigns_tell_how_long_repeats_take(tmp_path):
    cell = {**CELL, "directory": "b/bz4/1n1g", "name": "r50"}
    for age in range(1, 3 * campaign_files.RECENT):
        folder = tmp_path / f"campaign{age:02}"
        write(folder, "r50_1.run.json", {**RECORD, "cell": cell, "seconds": float(age)})
        (folder / "plan.json").write_text("{}")
        os.utime(folder / "plan.json", (2_000_000_000 - age, 2_000_000_000 - age))
    (seconds,) = campaign_files.earlier(tmp_path).values()
    assert sorted(seconds) == [1.0, 2.0, 3.0, 4.0, 5.0]
