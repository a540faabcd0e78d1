"""Door to MU archive: packs a campaign into one file, on the controller."""

from __future__ import annotations

import os
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_writing import archive


class ActionModule(ActionBase):
    """Runs on the controller alone, where the campaign's folder is."""

    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        """Return where the archive is and what is in it; write it where it differs."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "directory": {"type": "path", "required": True},
                "path": {"type": "str", "default": ""},
            }
        )
        folder = Path(os.path.abspath(args["directory"]))
        place = Path(args["path"]).expanduser() if args["path"] else folder.parent
        path = place / f"{folder.name}.tar.gz" if place.is_dir() else place
        try:
            result.update(archive(folder, path, self._task.check_mode, self._task.diff))
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        except OSError as error:
            raise AnsibleActionFail(f"{error.filename or path}: {error.strerror}") from None
        return result
