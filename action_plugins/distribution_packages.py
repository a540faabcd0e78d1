"""Ask dpkg or rpm which packages are missing, and install those."""

from __future__ import annotations

import shlex

from ansible.errors import AnsibleActionFail
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import run_action

# Prints "by dpkg" where that answers, "installed NAME" for each installed package, other lines for
# the rest.
_ASK = (
    "if command -v dpkg-query >/dev/null;"
    " then echo by dpkg;"
    " dpkg-query --show --showformat='${{db:Status-Status}} ${{Package}}\\n' {names};"
    " else rpm --query --queryformat='installed %{{NAME}}\\n' {names}; fi"
)


class ActionModule(ActionBase):
    """The whole of distribution_packages; ansible.builtin.package installs."""

    def run(self, tmp=None, task_vars=None):
        """Return ``missing`` and, if there are any, the result of ansible.builtin.package."""
        result = super().run(tmp, task_vars)
        names = self._task.args.get("name")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise AnsibleActionFail(f"name must be a list of packages, not {names!r}")
        lines = self._ask(names)
        missing = [name for name in names if f"installed {name}" not in lines]
        result.update(changed=False, missing=missing)
        if missing:
            may_remove = boolean(self._task.args.get("removal_allowed", False))
            result.update(self._install(missing, "by dpkg" in lines, may_remove, task_vars))
        return result

    def _ask(self, names):
        """Return a line for each package; of none if the node has neither dpkg nor rpm."""
        asked = _ASK.format(names=" ".join(map(shlex.quote, names)))
        # With standard input the command gets no terminal, as modules.
        return self._low_level_execute_command(asked, in_data=b"\n")["stdout"].splitlines()

    def _install(self, names, dpkg, may_remove, task_vars):
        args = {"name": names, "state": "present"}
        if dpkg:
            # What is only recommended may change the site: docker.io recommends needrestart.
            args["install_recommends"] = False
        if dpkg and not may_remove:
            # apt would remove what conflicts, as docker-ce for docker.io; dnf refuses by itself.
            args["fail_on_autoremove"] = True
        result = run_action(self, "ansible.builtin.package", args, task_vars)
        node = task_vars["inventory_hostname"]
        if result.get("failed") and "remove is disabled" in str(result):
            result["msg"] = (
                f"{node}: {' '.join(names)} would remove packages that"
                f" are there, and what is there stays. `apt-get install --simulate"
                f" {' '.join(names)}` names them: remove them yourself, or do without"
            )
        elif result.get("failed") and "No package" in str(result):
            # What apt's and dnf's modules say of one that no source has.
            result["msg"] = (
                f"{node}: {result['msg']}. It is sought in the sources of packages that the node"
                " has: add it to the mirror that they name"
            )
        return result
