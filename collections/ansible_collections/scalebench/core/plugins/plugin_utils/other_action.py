"""Run another action plugin from an action plugin."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase


def run_action(
    caller: ActionBase, name: str, args: dict[str, Any], task_vars: dict[str, Any]
) -> dict[str, Any]:
    """Return the result of action ``name`` with ``args`` on the node of the caller's task.

    :raises AnsibleError: the action fails, or the node cannot be reached.
    """
    task = caller._task.copy()
    task.args = args
    action = caller._shared_loader_obj.action_loader.get(
        name,
        task=task,
        connection=caller._connection,
        play_context=caller._play_context,
        loader=caller._loader,
        templar=caller._templar,
        shared_loader_obj=caller._shared_loader_obj,
    )
    return action.run(task_vars=task_vars)
