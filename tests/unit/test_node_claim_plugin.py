"""Who the action plugin node_claim takes a node for."""

import multiprocessing
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleActionFail

from action_plugins.node_claim import ActionModule

CONNECTION = SimpleNamespace(_shell=SimpleNamespace(tmpdir=""))
ENDED = {"campaign": "first", "pid": 2**22 + 1, "start": 1}


class Claim(ActionModule):
    """The plugin, with a node that answers what the test says, in order."""

    answers: list[dict[str, str]]

    def _execute_module(self, module_args=None, **_):
        held = self.answers.pop(0)
        return {"held_by": {**held, "boot_id": module_args["holder"]["boot_id"]} if held else None}


def claim(answers, queue):
    """Run the plugin in a worker; tell how it ended."""
    task = SimpleNamespace(args={"work_dir": "/nowhere"}, async_val=0, check_mode=False)
    plugin = Claim(task, CONNECTION, None, None, None, None)
    plugin.answers = answers
    queue.put({**plugin.run(), "asked": 3 - len(answers)})


def test_a_node_is_taken_from_the_dead_as_often_as_one_more_turns_up():
    fork = multiprocessing.get_context("fork")
    queue = fork.SimpleQueue()
    worker = fork.Process(target=claim, args=([ENDED, {**ENDED, "start": 2}, None], queue))
    worker.start()
    worker.join()
    answer = queue.get()
    assert not answer.get("failed")
    assert answer["asked"] == 3


def test_nobody_takes_a_node_without_an_ansible_playbook_above():
    task = SimpleNamespace(args={"work_dir": "/nowhere"}, async_val=0, check_mode=False)
    with pytest.raises(AnsibleActionFail, match="has ended"):
        Claim(task, CONNECTION, None, None, None, None).run()
