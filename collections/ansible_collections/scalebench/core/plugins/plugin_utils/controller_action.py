"""Base class of action plugins that work on the controller alone, and how any runs another."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from ansible import constants as C  # noqa: N812
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

__all__ = ["ControllerAction", "needs_matplotlib", "run_action"]


class ControllerAction(ActionBase):
    """Validates the task's arguments; a ValueError or OSError of ``answer`` fails the task.

    A subclass defines ``answer`` and ``ARGUMENTS``, the argument spec of its module.
    """

    ARGUMENTS: ClassVar[Mapping[str, Any]] = {}
    _requires_connection = False

    def answer(self, args: dict[str, Any]) -> dict[str, Any]:
        """Do the work and return the task's result.

        :param args: the validated arguments, with defaults.
        """
        raise NotImplementedError

    def run(self, tmp=None, task_vars=None):
        """Return the task's result."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(self.ARGUMENTS)
        try:
            result.update(self.answer(args))
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            raise AnsibleActionFail(f"{place}{error.strerror or error}") from None
        return result


@contextmanager
def needs_matplotlib(switch: str) -> Iterator[None]:
    """Fail the task if an import in the block does; what the user set for matplotlib has no part.

    :param switch: the variable that turns plots off.
    """
    # Jupyter names its own to all that is started from it, which matplotlib here may not know.
    os.environ.pop("MPLBACKEND", None)
    # Where the home folder cannot be written, matplotlib warns and leaves a folder in /tmp, as a
    # worker of Ansible ends without its exit handlers.
    home = C.config.get_config_value("ANSIBLE_HOME")
    os.environ.setdefault("MPLCONFIGDIR", os.path.join(home, "matplotlib"))
    try:
        yield
    except ImportError as error:
        raise AnsibleActionFail(
            f"the plots need {error.name}: install it on the controller with"
            f" pip install -r requirements.txt, or turn plots off with -e {switch}=false"
        ) from None


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
