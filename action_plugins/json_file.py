"""Writes a JSON file on the controller, atomically and without secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import shown
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import write_texts


class ActionModule(ControllerAction):
    """Implements module json_file."""

    ARGUMENTS: ClassVar = {
        "path": {"type": "path", "required": True},
        "content": {"type": "dict", "required": True},
    }

    def answer(self, args):
        """Write the file if it differs."""
        text = json.dumps(shown(args["content"]), indent=4, sort_keys=True) + "\n"
        return write_texts({Path(args["path"]): text}, self._task.check_mode, self._task.diff)
