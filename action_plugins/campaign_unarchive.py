"""Door to MU archive_limits: verifies and unpacks the archive of a campaign, on the controller."""

from __future__ import annotations

import os
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.plugin_utils import archive_reading
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_reading import head


class ActionModule(ActionBase):
    """Runs on the controller alone, where the archive is."""

    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        """Return the campaign and its folder; unpack it where it is not there yet."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "archive": {"type": "path", "required": True},
                "directory": {"type": "str", "default": ""},
            }
        )
        archive = Path(args["archive"])
        try:
            campaign, sums = head(archive)
            folder = Path(
                os.path.abspath(Path(args["directory"] or f"result/{campaign}").expanduser())
            )
            there = archive_reading.unpacked_before(archive, sums, folder)
            if self._task.check_mode:
                archive_reading.verify(archive)
            elif not there:
                archive_reading.unpack(archive, folder)
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        except OSError as error:
            raise AnsibleActionFail(f"{error.filename or archive}: {error.strerror}") from None
        result.update(changed=not there, campaign=campaign, directory=str(folder))
        return result
