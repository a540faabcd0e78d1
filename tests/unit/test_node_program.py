"""A function of module_utils as a program for a node, and the repeat that is sent as one."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.scalebench.core.plugins.module_utils.node.repeat import (
    ARGUMENTS,
    run_repeat,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import attended, unpacked
from ansible_collections.scalebench.core.plugins.plugin_utils.node_program import (
    FLAGS,
    module_texts,
    node_program,
)

from action_plugins import training_run


def told(program, **environment):
    """Return the answer of a program, of a Python that knows nothing but itself."""
    done = subprocess.run(
        [sys.executable, *FLAGS],
        input=program,
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        check=False,
    )
    assert done.stdout, done.stderr.decode()
    return json.loads(done.stdout)


def arguments(folder, **given):
    """Return all arguments of a repeat."""
    defaults = {name: option.get("default") for name, option in ARGUMENTS.items()}
    own = {"work_dir": str(folder), "directory": "runs", "name": "one", "fetch_to": "x"}
    return {**defaults, **own, **given}


def test_a_repeat_needs_nothing_on_the_node_but_python(tmp_path):
    texts = module_texts(run_repeat)
    assert all(".module_utils." in name for name in texts)
    given = arguments("~", argv=["echo", 'it\'s \\ "ü"'], sample_interval=0.1)
    answer = told(node_program(run_repeat, texts, given), HOME=str(tmp_path))
    assert (answer["ending"], answer["argv"]) == ("ok", given["argv"])
    assert answer["log"] == f"{tmp_path}/runs/one.log"
    assert unpacked(answer["packed_log"]) == (given["argv"][1] + "\n").encode()


def test_a_repeat_writes_nothing_through_a_link(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "another").write_text("another's")
    for name in ("one.log", "one.run.json.part", "one.run.json"):
        (tmp_path / "runs" / name).symlink_to(tmp_path / "another")
    given = arguments(tmp_path, argv=["echo", "ours"], sample_interval=0)
    assert told(node_program(run_repeat, module_texts(run_repeat), given))["ending"] == "ok"
    assert (tmp_path / "another").read_text() == "another's"
    assert (tmp_path / "runs/one.log").read_text() == "ours\n"
    assert json.loads((tmp_path / "runs/one.run.json").read_text())["ending"] == "ok"


def test_an_error_of_the_repeat_is_a_failed_result(tmp_path):
    program = node_program(run_repeat, module_texts(run_repeat), arguments(tmp_path, argv=["true"]))
    with attended(str(tmp_path), "another"):
        answer = told(program)
    assert answer == {
        "failed": True,
        "msg": f"{tmp_path}/runs/one: the node is busy with another",
    }


@pytest.fixture
def sent(monkeypatch):
    """Return a function that returns what action training_run sends to a node."""
    base = training_run.ActionModule.__mro__[1]
    built = SimpleNamespace(shebang="#!/usr/bin/python 3", serialization_profile="legacy")
    for name, answer in {
        "_configure_module": lambda *_: (built, "path"),
        "_compute_environment_string": lambda _: "A=b",
        "_low_level_execute_command": lambda _, command, in_data: {"sent": (command, in_data)},
        "_parse_returned_data": lambda _, told, profile: {**told, "profile": profile},
        "_execute_module": lambda *_, **__: {"sent": "as usual"},
    }.items():
        monkeypatch.setattr(base, name, answer)

    def send(given, check_mode=False, module="training_run"):
        task = SimpleNamespace(check_mode=check_mode, args=given, async_val=0)
        action = training_run.ActionModule(task, None, None, None, None, None)
        return action._execute_module(module_name=module, module_args=given, task_vars={})["sent"]

    return send


def test_the_action_sends_the_program_with_valid_arguments(sent, tmp_path):
    given = {"argv": ["true"], "work_dir": str(tmp_path), "directory": "d", "name": "n"}
    command, program = sent({**given, "timeout": "5", "devices": ["1"]})
    assert command == "A=b '/usr/bin/python 3' -I -S"
    answer = told(program)
    assert answer["ending"] == "ok" and answer["packed_log"] is None
    with pytest.raises(AnsibleActionFail, match="timeout"):
        sent({**given, "timeout": "soon"})
    with pytest.raises(AnsibleActionFail, match="argv"):
        sent({**given, "argv": None})


def test_other_modules_and_check_mode_go_as_usual(sent, tmp_path):
    given = {"argv": ["true"], "work_dir": str(tmp_path), "directory": "d", "name": "n"}
    assert sent(given, check_mode=True) == sent(given, module="training_run_end") == "as usual"
