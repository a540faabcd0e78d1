"""What training_run and training_runs do with what nodes answer, and without an answer."""

import base64
import zlib

import pytest
from action_calls import plugin, result
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible_collections.scalebench.core.plugins.module_utils.node import runs
from ansible_collections.scalebench.core.plugins.plugin_utils.carrier import EndedByCarrierError

from action_plugins import training_run, training_runs


class Watch:
    """Stands in for RunWatch: notes its limits, and what the run was failed with."""

    ended = None

    def __init__(self, seconds, failed):
        self.seconds, self.failed_file, self.failures = seconds, failed, []
        Watch.last = self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def fail(self, *delay):
        self.failures.append(delay)


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """Return a function that runs training_run with a node that gives these answers."""
    monkeypatch.setattr(training_run, "RunWatch", Watch)
    for name in ("end_with_playbook", "adopt_orphans"):
        monkeypatch.setattr(training_run, name, lambda: None)

    def train(*answers, ended=None, **args):
        monkeypatch.setattr(Watch, "ended", ended)
        told = list(answers)

        def execute(_, module_name, module_args, **__):
            train.asked.append((module_name, module_args))
            answer = told.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(training_run.ActionModule, "_execute_module", execute)
        train.asked = []
        given = {"work_dir": "/w", "directory": "d", "name": "n", **args}
        action = plugin(training_run, given)
        action._connection.fetch_file = lambda _, part: open(part, "w").write("log")  # noqa: SIM115
        return action.run(task_vars={"inventory_hostname": "node1"})

    return train


def test_a_run_that_went_well_is_fetched(tmp_path, trained):
    target = tmp_path / "logs" / "x.log"
    answer = trained(
        {"ending": "ok", "log": "/w/d/n.log"}, fetch_to=str(target), timeout="60", grace=5
    )
    assert answer["ending"] == "ok" and target.read_text() == "log"
    assert [path.name for path in target.parent.iterdir()] == ["x.log"]
    assert (Watch.last.seconds, Watch.last.failed_file, Watch.last.failures) == (65.0, None, [])
    trained({"ending": "ok", "log": "/w/d/n.log"}, failed_file=str(tmp_path / "failed"))
    assert (Watch.last.seconds, Watch.last.failed_file) == (0.0, tmp_path / "failed")
    trained({"failed": True, "log": "/w/d/n.log"}, fetch_to=str(tmp_path / "none.log"))
    assert not (tmp_path / "none.log").exists()


def test_a_log_that_came_with_the_answer_is_not_fetched(tmp_path, trained):
    source, target = tmp_path / "x", tmp_path / "x.log"
    source.write_bytes(b"iteration 1\n\xff\x00")
    answer = {"ending": "ok", "log": "/w/d/n.log", "packed_log": runs.packed(str(source))}
    assert "packed_log" not in trained(answer, fetch_to=str(target))
    assert target.read_bytes() == source.read_bytes()
    source.write_bytes(bytes((1 << 20) + 1))
    answer["packed_log"] = runs.packed(str(source))
    trained(answer, fetch_to=str(target))
    assert target.read_text() == "log"


@pytest.mark.parametrize("content", [bytes((1 << 20) + 1), b"cut"])
def test_a_log_that_came_damaged_or_too_large_is_fetched(tmp_path, trained, content):
    text = base64.b64encode(zlib.compress(content)).decode()
    for packed in (text if len(content) > 9 else text[:-8], "no base64"):
        target = tmp_path / "x.log"
        trained({"ending": "ok", "log": "/w/d/n.log", "packed_log": packed}, fetch_to=str(target))
        assert target.read_text() == "log"
        target.unlink()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"packed_log": 5}, "answer.packed_log is 5, not a text"),
        ({"packed_log": ["x"]}, "answer.packed_log is ['x'], not a text"),
        ({"log": ["/w/d/n.log"]}, "answer.log is ['/w/d/n.log'], not a text"),
        ({"log": {"a": 1}, "packed_log": None}, "answer.log is {'a': 1}, not a text"),
    ],
)
def test_a_log_of_another_type_is_a_failed_repeat_that_ends_its_peers(trained, wrong, said):
    answer = trained({"ending": "ok", "log": "/w/d/n.log", **wrong}, fetch_to="/nowhere")
    assert answer == {"failed": True, "msg": said}
    assert Watch.last.failures == [(0,)]


def test_a_node_cannot_speak_for_its_carrier_or_for_ansible(trained):
    told = {"ending": "interrupted", "reason": "x", "device_users": ["1, x"]}
    more = {"carrier_over": True, "unreachable": True, "gone": "no route", "runs": {}}
    assert trained({**told, **more, "_ansible_x": 1}) == told


def test_the_end_of_a_run_may_be_told_without_a_usable_log(trained):
    for log in ({}, {"log": 5}):
        answer = trained(
            AnsibleConnectionFailure("gone"), {"ended": True, **log},
            ended="timeout", timeout=60, grace=5, fetch_to="/nowhere",
        )  # fmt: skip
        assert (answer["ending"], answer["log"]) == ("timeout", None)


@pytest.mark.parametrize(
    "log",
    [
        "/etc/d/x.log",
        "/w/a\\'\" /w/b\n!id\n/d/n.log",
        "/w/a\\/d/n.log",
        "/w/\ud800/d/n.log",
        "d/n.log",
    ],
)
def test_a_log_elsewhere_is_not_fetched(tmp_path, trained, log):
    with pytest.raises(AnsibleError, match="the node says that the log is"):
        trained({"ending": "ok", "log": log}, fetch_to=str(tmp_path / "x.log"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("answer", "delay"),
    [
        ({"ending": "crashed"}, training_run.PEER_GRACE),
        ({"ending": "timeout"}, training_run.PEER_GRACE),
        ({"ending": "stalled"}, 0),
        ({"failed": True, "msg": "x"}, 0),
    ],
)
def test_a_run_that_did_not_ends_its_peers(trained, answer, delay):
    assert trained(answer).items() >= answer.items()
    assert Watch.last.failures == [(delay,)]


@pytest.mark.parametrize("ended", ["timeout", "cancelled"])
def test_a_run_that_is_ended_from_here_waits_for_its_end_there(trained, ended):
    lost = AnsibleConnectionFailure("gone")
    answer = trained(lost, {"ended": True, "log": "/w/x"}, ended=ended, timeout=60, grace=5)
    reason = {
        "timeout": "the node gave no answer within 60 s and 5 s more",
        "cancelled": "ended, because another node of the repeat failed",
    }
    assert (answer["ending"], answer["reason"], answer["log"]) == (ended, reason[ended], "/w/x")
    assert trained.asked[1] == (
        "training_run_end",
        {"work_dir": "/w", "run": "/w/d/n", "patience": 5.0},
    )
    by_module = trained({"failed": True}, {"ended": False, "msg": "x"}, ended=ended)
    assert (by_module["ending"], by_module["log"]) == (ended, None)


def test_a_node_that_is_lost_fails_its_peers_and_is_unreachable(trained):
    with pytest.raises(AnsibleConnectionFailure, match="gone"):
        trained(AnsibleConnectionFailure("gone"))
    assert Watch.last.failures == [()]


def test_a_run_that_outlives_its_connection_is_waited_for(trained):
    error = EndedByCarrierError("launch_failed", "srun was killed", over=False, lingers=True)
    with pytest.raises(EndedByCarrierError):
        trained(error, {"ended": True, "log": None}, grace=5)
    assert [(name, args.get("patience")) for name, args in trained.asked] == [
        ("training_run", None),
        ("training_run_end", 10.0),
    ]


def test_the_runs_of_a_wave_are_told_apart_and_a_node_is_lost_only_with_all(monkeypatch):
    asked = []

    def train(_, name, args, __):
        asked.append((name, args))
        if args["name"] == "lost":
            raise AnsibleConnectionFailure("gone")
        return {"ending": "ok", "changed": args["name"] == "new"}

    monkeypatch.setattr(training_runs, "run_action", train)
    monkeypatch.setattr(
        training_runs, "side_by_side", lambda calls: {log: call() for log, call in calls.items()}
    )
    common = {key: key for key in training_runs.COMMON_KEYS}
    campaign = {"name": "c", "directory": "/c", "session": "now"}

    def run(*names):
        shares = [
            {"argv": [], "environment": {}, "rank": 0, "devices": [], "name": name,
             "log": f"{name}.log", "directory": "d", "output": f"{name}.out"}
            for name in names
        ]  # fmt: skip
        options = {**common, "campaign": campaign}
        given = {"shares": shares, "without": ["skipped.log"], "options": options}
        return result(training_runs, given)

    found = run("new", "lost")
    assert found["changed"] and "unreachable" not in found
    assert found["runs"]["lost.log"] == {"unreachable": True, "msg": "gone"}
    assert asked[0][0] == "training_run"
    assert asked[0][1].items() >= {
        **common, "name": "new", "rank": 0, "directory": "runs/c/d",
        "failed_file": "/c/new.log.failed-now", "fetch_to": "/c/new.out",
    }.items()  # fmt: skip
    assert not run("old")["changed"]
    asked.clear()
    assert [*run("new", "skipped")["runs"]] == ["new.log"] and len(asked) == 1
    assert run("skipped")["skipped"] and len(asked) == 1
    asked_again = {":": ""}
    monkeypatch.setattr(
        training_runs.ActionModule,
        "_low_level_execute_command",
        lambda _, command: asked_again[command],
    )
    lost = run("lost")
    assert (lost["unreachable"], lost["msg"], lost["gone"]) == (True, "gone", "")

    def still_gone(*_):
        raise AnsibleConnectionFailure("no route to host")

    monkeypatch.setattr(training_runs.ActionModule, "_low_level_execute_command", still_gone)
    assert run("lost")["gone"] == "no route to host"
