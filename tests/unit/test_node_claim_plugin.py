"""Who the action plugin node_claim takes a node for."""

import multiprocessing
import os
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.scalebench.core.plugins.module_utils.node.processes import read_process

from action_plugins.node_claim import ActionModule

CONNECTION = SimpleNamespace(_shell=SimpleNamespace(tmpdir=""))
ENDED = {"campaign": "first", "pid": 2**22 + 1, "start": 1}


class Claim(ActionModule):
    """The plugin, with a node that answers what the test says, in order."""

    answers: list[dict[str, str]]

    def _execute_module(self, module_args=None, **_):
        held = self.answers.pop(0)
        # By default a process of this machine since it was started.
        here = {"boot_id": module_args["holder"]["boot_id"]}
        return {"held_by": {**here, **held} if held else None}


def claim(answers, queue, check):
    """Run the plugin in a worker; tell how it ended."""
    task = SimpleNamespace(args={"work_dir": "/nowhere"}, async_val=0, check_mode=check)
    plugin = Claim(task, CONNECTION, None, None, None, None)
    plugin.answers = answers
    queue.put({**plugin.run(None, {"inventory_hostname": "node1"}), "asked": 3 - len(answers)})


def claimed(*answers, check=False):
    """Return the answer of the plugin and how often it asked the node."""
    fork = multiprocessing.get_context("fork")
    queue = fork.SimpleQueue()
    answers = [*answers, *[None] * (3 - len(answers))]
    worker = fork.Process(target=claim, args=(answers, queue, check))
    worker.start()
    worker.join()
    return queue.get()


def test_a_node_is_taken_from_the_dead_as_often_as_one_more_turns_up():
    answer = claimed(ENDED, {**ENDED, "start": 2}, None)
    assert not answer.get("failed")
    assert answer["asked"] == 3


def test_check_mode_takes_nothing_from_the_dead_and_ends():
    answer = claimed(ENDED, ENDED, ENDED, check=True)
    assert (answer["asked"], answer.get("failed", False)) == (2, False)


OWN = {"campaign": "first", "pid": os.getpid()}


@pytest.mark.parametrize(
    ("holder", "asked"),
    [
        ({**OWN, "start": 1}, 2),  # Another process has the number of the dead one.
        ({**OWN, "start": read_process(os.getpid()).start}, 1),
        ({**ENDED, "boot_id": "another machine, or before a restart"}, 1),
        ({**ENDED, "pid_namespace": "pid:[1]"}, 1),  # Another container: nothing is seen of it.
        ({**ENDED, "pid_namespace": os.readlink("/proc/self/ns/pid")}, 2),
    ],
)
def test_only_the_process_that_was_started_then_holds_the_node(holder, asked):
    answer = claimed(holder)
    assert (answer["asked"], answer.get("failed", False)) == (asked, asked == 1)


def test_nobody_takes_a_node_without_an_ansible_playbook_above():
    task = SimpleNamespace(args={"work_dir": "/nowhere"}, async_val=0, check_mode=False)
    with pytest.raises(AnsibleActionFail, match="has ended"):
        Claim(task, CONNECTION, None, None, None, None).run()


@pytest.mark.parametrize(
    ("of_holder", "asked"), [({"job": "6"}, 2), ({"job": "7"}, 1), ({"job": ""}, 1), ({}, 1)]
)
def test_a_claim_of_another_machine_ends_with_the_job_that_held_the_node(
    monkeypatch, of_holder, asked
):
    monkeypatch.setattr(CONNECTION, "is_over", lambda job: job == "6", raising=False)
    answer = claimed({**ENDED, "boot_id": "another machine", **of_holder})
    assert (answer["asked"], answer.get("failed", False)) == (asked, asked == 1)
