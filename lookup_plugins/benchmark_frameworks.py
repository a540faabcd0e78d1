"""Look up the frameworks of the chosen benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

DOCUMENTATION = r"""
name: benchmark_frameworks
short_description: List the frameworks of the chosen benchmarks
description:
  - Reads the extra variables C(benchmark), C(recipe) and C(framework_version), as the playbook
    C(bench.yml) does, and returns every framework environment that they need once.
  - An unknown benchmark is an error that names the known ones.
options:
  folder:
    description: Folder of the benchmark files; by default C(benchmarks) of this project.
    type: path
"""

EXAMPLES = r"""
- name: Show what playbooks/provision.yml would install
  ansible.builtin.debug:
    msg: "{{ lookup('benchmark_frameworks') }}"
"""

RETURN = r"""
_raw:
  description: One list of framework names.
  type: list
  elements: list
"""

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase
from ansible.utils.vars import load_extra_vars
from ansible_collections.scalebench.core.plugins.module_utils.planning.chosen import frameworks
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.plugin_utils.campaign_files import load_benchmarks

_FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
# The other options are not checked, because their defaults depend on the nodes.
_OPTIONS = ("benchmark", "recipe", "framework_version")


class LookupModule(LookupBase):
    """Implements lookup benchmark_frameworks."""

    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[Any]:
        """Return a list that contains the list of frameworks."""
        self.set_options(var_options=variables, direct=kwargs)
        folder = Path(self.get_option("folder") or _FOLDER).expanduser()
        given = load_extra_vars(self._loader)
        chosen = {name: given[name] for name in _OPTIONS if name in given}
        try:
            return [frameworks(load_benchmarks(folder), parse_options(chosen))]
        except ValueError as error:
            raise AnsibleLookupError(str(error)) from None
