"""Door to MU record: writes a repeat's run record on the controller, last and atomically."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.record import record


class ActionModule(ActionBase):
    """Runs on the controller alone: it touches the campaign's folder and no node."""

    _requires_connection = False
    _supports_check_mode = False

    def run(self, tmp=None, task_vars=None):
        """Return the record's summary; the record lies beside the log."""
        result = super().run(tmp, task_vars)
        args = self._task.args
        made = record(args["campaign"], args["repeat"], args["runs"], args["facts"])
        path = Path(args["directory"], made["log"]).with_suffix(".run.json")
        part = path.with_name(path.name + ".part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
            os.replace(part, path)
        except OSError as error:
            raise AnsibleError(f"{path}: {error.strerror}") from error
        result.update(
            changed=True,
            path=str(path),
            ending=made["ending"],
            reason=made["reason"],
            seconds=made["seconds"],
            throughput=(made["facts"] or {}).get("throughput"),
            unit=(made["facts"] or {}).get("unit"),
        )
        return result
