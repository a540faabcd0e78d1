"""Ask dpkg or rpm which packages are missing, and install those."""

from __future__ import annotations

import shlex

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.plugin_utils.other_action import run_action

# Prints "installed NAME" for each installed package, and other lines for the rest.
_ASK = (
    "if command -v dpkg-query >/dev/null;"
    " then dpkg-query --show --showformat='${{db:Status-Status}} ${{Package}}\\n' {names};"
    " else rpm --query --queryformat='installed %{{NAME}}\\n' {names}; fi"
)


class ActionModule(ActionBase):
    """The whole of distribution_packages; ansible.builtin.package installs."""

    _requires_connection = True
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        """Return ``missing`` and, if there are any, the result of ansible.builtin.package."""
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
        """Return the packages that are not installed; all if the node has neither dpkg nor rpm."""
        asked = _ASK.format(names=" ".join(map(shlex.quote, names)))
        # With standard input the command gets no terminal, as modules.
        lines = self._low_level_execute_command(asked, in_data=b"\n")["stdout"].splitlines()
        return [name for name in names if f"installed {name}" not in lines]

    def _install(self, names, task_vars):
        args = {"name": names, "state": "present"}
        return run_action(self, "ansible.builtin.package", args, task_vars)
