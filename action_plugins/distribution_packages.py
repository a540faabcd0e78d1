"""Installs what is missing; asks dpkg or rpm what is."""

from __future__ import annotations

import shlex

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

# Each prints "installed NAME" for a package that is, and something else for one that is not.
_ASK = (
    "if command -v dpkg-query >/dev/null;"
    " then dpkg-query --show --showformat='${{db:Status-Status}} ${{Package}}\\n' {names};"
    " else rpm --query --queryformat='installed %{{NAME}}\\n' {names}; fi"
)


class ActionModule(ActionBase):
    """All of distribution_packages; what installs is ansible.builtin.package."""

    _requires_connection = True
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        """Return what ansible.builtin.package does, or nothing where nothing is missing."""
        result = super().run(tmp, task_vars)
        names = self._task.args.get("name")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise AnsibleActionFail(f"name must be a list of packages, not {names!r}")
        missing = self._missing(names)
        result.update(changed=False, missing=missing)
        if missing:
            result.update(self._install(missing, task_vars))
        return result

    def _missing(self, names):
        """Return those that are not installed; all of them where the node cannot tell."""
        asked = _ASK.format(names=" ".join(map(shlex.quote, names)))
        # With something to read the command gets no terminal, as modules.
        said = self._low_level_execute_command(asked, in_data=b"\n")["stdout"].splitlines()
        return [name for name in names if f"installed {name}" not in said]

    def _install(self, names, task_vars):
        task = self._task.copy()
        task.args = {"name": names, "state": "present"}
        package = self._shared_loader_obj.action_loader.get(
            "ansible.builtin.package",
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        return package.run(task_vars=task_vars)
