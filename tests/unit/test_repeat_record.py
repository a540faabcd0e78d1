"""What action plugin repeat_record writes of a wave."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan, schedule
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from campaign_data import benchmarks, cluster

from action_plugins import repeat_record

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures/logs"
OUT_OF_MEMORY = {"ending": "crashed", "reason": "exit code 1", "seconds": 1.0}
TOLD = {"ending": {"kind": "out_of_memory", "detail": "out of memory"}, "throughput": None}


@pytest.fixture
def recorded(monkeypatch):
    """Return the function that returns the plugin's answer to one wave with logs of these facts."""

    def recorded(folder, wave, runs, facts, **more):
        left = list(facts)
        monkeypatch.setattr(repeat_record, "_facts_of", lambda *_: left.pop(0))
        return answer(folder, wave, runs, **more)

    return recorded


def answer(folder, wave, runs, **more):
    """Return the answer of the action plugin to one wave."""
    args = {
        "directory": str(folder),
        "campaign": "c",
        "session": "now",
        "repeats": wave["repeats"],
        "runs": runs,
        "skipped": [],
        **more,
    }
    task = SimpleNamespace(args=args, async_val=0, check_mode=False)
    connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir=""))
    return repeat_record.ActionModule(task, connection, None, None, None, None).run()


def test_what_ran_beside_a_smaller_batch_that_did_not_fit_keeps_its_own_ending(tmp_path, recorded):
    nodes = cluster(2)
    options = parse_options(
        {"topology": "1n1g", "batch_size_per_device": "4,8", "repeats": 2, "packing": "nodes"}
    )
    planned = plan.build(benchmarks(), options, nodes)
    (tmp_path / "plan.json").write_text(json.dumps(planned))
    repeats = [
        {**repeat, "kind": "measured", "why": "", "attempt": 1, "seconds": 1.0}
        for repeat in plan.repeats(planned["cells"])
    ]
    wave = schedule.build_waves(repeats, "nodes", benchmarks(), nodes)[0]
    assert [repeat["cell"]["batch_size_per_device"] for repeat in wave["repeats"]] == [4, 8]
    facts = [TOLD, {"msg": "the log is empty"}]
    answer = recorded(tmp_path, wave, dict.fromkeys(nodes, OUT_OF_MEMORY), facts)
    assert [record["ending"] for record in answer["records"]] == ["out_of_memory", "crashed"]
    assert [log.rpartition("/")[2] for log in answer["skipped_logs"]] == ["r50_b8_fp32_2.log"]


def test_a_record_and_its_summary_have_neither_secrets_nor_terminal_commands(tmp_path, recorded):
    nodes = cluster(1)
    planned = plan.build(benchmarks(), parse_options({"topology": "1n1g", "repeats": 1}), nodes)
    repeats = [
        {**repeat, "kind": "measured", "why": "", "attempt": 1, "seconds": 1.0}
        for repeat in plan.repeats(planned["cells"])
    ]
    wave = schedule.build_waves(repeats, "none", benchmarks(), nodes)[0]
    run = {
        "ending": "crashed",
        "reason": "KeyError: api_key=hunter22hunter22 \x1b]0;title\x07",
        "seconds": 1.0,
        "env": {"WANDB_API_KEY": "hunter22hunter22"},
        "argv": ["--token", "x"],
    }
    answer = recorded(tmp_path, wave, {"node1": run}, [{"msg": "the log is empty"}])
    text = (tmp_path / wave["repeats"][0]["log"]).with_suffix(".run.json").read_text()
    for shown in (text, answer["records"][0]["reason"]):
        assert "hunter22" not in shown
        assert "\x1b" not in shown and "u001b" not in shown
        assert "api_key=[redacted" in shown


def test_the_run_stops_after_the_record_where_the_carrier_can_start_nothing_more(
    tmp_path, recorded
):
    nodes = cluster(1)
    planned = plan.build(benchmarks(), parse_options({"topology": "1n1g", "repeats": 1}), nodes)
    repeats = [
        {**repeat, "kind": "measured", "why": "", "attempt": 1, "seconds": 1.0}
        for repeat in plan.repeats(planned["cells"])
    ]
    wave = schedule.build_waves(repeats, "none", benchmarks(), nodes)[0]
    lost = {"ending": "interrupted", "reason": "Slurm job 7 on n1: timeout", "carrier_over": True}
    runs = {name: {"runs": {repeats[0]["log"]: lost}} for name in nodes}
    with pytest.raises(AnsibleActionFail, match=r"job 7 on n1: timeout\. .* -e campaign=c$"):
        recorded(tmp_path, wave, runs, [{"msg": "the log is empty"}])
    (path,) = tmp_path.rglob("*.run.json")
    assert json.loads(path.read_text())["ending"] == "interrupted"


def test_a_node_is_lost_if_it_was_unreachable_and_does_not_answer_either(tmp_path, recorded):
    nodes = cluster(2)
    planned = plan.build(benchmarks(), parse_options({"topology": "2n1g", "repeats": 1}), nodes)
    repeats = [
        {**repeat, "kind": "measured", "why": "", "attempt": 1, "seconds": 1.0}
        for repeat in plan.repeats(planned["cells"])
    ]
    wave = schedule.build_waves(repeats, "none", benchmarks(), nodes)[0]
    broken = {"unreachable": True, "msg": "Connection reset", "gone": ""}
    gone = {**broken, "gone": "Failed to connect\nssh: no route to host"}
    unread = [{"msg": "there is no log"}]
    answer = recorded(tmp_path, wave, {"node1": broken, "node2": gone}, unread)
    assert [record["ending"] for record in answer["records"]] == ["launch_failed"]
    assert [*answer["lost"]] == ["node2"]
    assert answer["lost"]["node2"].endswith(" UTC: ssh: no route to host")
    next_wave = recorded(tmp_path, wave, {}, unread, lost=answer["lost"])
    (record,) = next_wave["records"]
    assert record["ending"] == "unavailable"
    assert record["reason"] == f"node2: {answer['lost']['node2']}"
    assert next_wave["lost"] == answer["lost"]


def test_a_log_is_read_by_the_rule_and_against_the_target_of_its_cell(tmp_path):
    nodes = cluster(1)
    planned = plan.build(benchmarks(), parse_options({"topology": "1n1g", "repeats": 1}), nodes)
    (repeat,) = plan.repeats(planned["cells"])
    reading = {"reader": "auto", "strategy": "ngc_last_throughput", "parameters": {}}
    repeat["cell"].update(reading=reading, target_accuracy=76.1)
    repeat.update(kind="measured", why="", attempt=1, seconds=1.0, expect={})
    run = {"runs": {repeat["log"]: {"ending": "ok", "reason": "", "seconds": 1.0}}}

    def facts():
        answer(tmp_path, {"repeats": [repeat]}, {"node1": run})
        return json.loads((tmp_path / repeat["log"]).with_suffix(".run.json").read_text())

    missing = facts()
    assert missing["facts"] is None and "No such file" in missing["reason"]
    log = tmp_path / repeat["log"]
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes((FIXTURES / "tensorflow_time_to_train.log").read_bytes())
    assert facts()["facts"]["time_to_train"]["time_to_target"] == 44.059
