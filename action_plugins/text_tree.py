"""Read a folder on the controller for module text_tree."""

from __future__ import annotations

from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """The controller's half of text_tree."""

    def run(self, tmp=None, task_vars=None):
        """Return the module's result."""
        result = super().run(tmp, task_vars)
        texts = {**self._task.args.get("texts", {})}
        if "source" in self._task.args:
            texts.update(self._read(Path(self._task.args["source"])))
        args = {**self._task.args, "texts": texts}
        result.update(self._execute_module(module_args=args, task_vars=task_vars))
        return result

    def _read(self, source: Path) -> dict[str, str]:
        """Return the texts of the source's files by relative path."""
        pattern = self._task.args.get("pattern", "**/*.py")
        texts = {
            str(path.relative_to(source)): path.read_text(encoding="utf-8")
            for path in sorted(source.glob(pattern))
            if path.is_file()
        }
        if not texts:
            raise AnsibleActionFail(f"{source}: no file matches {pattern}")
        return texts
