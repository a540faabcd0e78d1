"""Packs a campaign into one file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.plugin_utils.archive_writing import archive
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
)


class ActionModule(ControllerAction):
    """Implements module campaign_archive."""

    ARGUMENTS: ClassVar = {
        "directory": {"type": "path", "required": True},
        "path": {"type": "path", "default": ""},
        "sign_key": {"type": "path", "default": ""},
    }

    def answer(self, args):
        """Write the archive if its content differs; return its path and a summary."""
        folder = Path(os.path.abspath(args["directory"]))
        path = Path(args["path"]) if args["path"] else folder.parent
        if path.is_dir():
            path /= f"{folder.name}.tar.gz"
        return archive(folder, path, self._task.check_mode, self._task.diff, args["sign_key"])
