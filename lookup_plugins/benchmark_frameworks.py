"""Look up the frameworks of the chosen benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

DOCUMENTATION = r"""
name: benchmark_frameworks
short_description: List the frameworks of the chosen benchmarks
description:
  - Reads C(benchmark), C(recipe) and C(framework_version) as role C(campaign) does - given with
    C(-e) or as variables - and returns each set of packages that they need once.
  - A benchmark that is not there is an error that names those that are.
options:
  device:
    description: What the nodes have, for recipes that differ by device.
    type: str
    choices: [cpu, gpu]
  folder:
    description: Folder of the benchmark files; by default C(benchmarks) of this project.
    type: str
"""

EXAMPLES = r"""
- name: Show what playbooks/provision.yml would install
  ansible.builtin.debug:
    msg: "{{ lookup('benchmark_frameworks', device='cpu') }}"
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
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import (
    NO_FRAMEWORK,
    frameworks,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.campaign_files import load_benchmarks
from ansible_collections.scalebench.core.plugins.plugin_utils.files import user_path
from ansible_collections.scalebench.core.plugins.plugin_utils.given_options import (
    given_options,
    with_sources,
)

_FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
# The other options are not checked, because their defaults depend on the nodes.
_OPTIONS = ("benchmark", "recipe", "framework_version")


class LookupModule(LookupBase):
    """Implements lookup benchmark_frameworks."""

    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[Any]:
        """Return a list that contains the list of frameworks."""
        self.set_options(var_options=variables, direct=kwargs)
        extra, template = load_extra_vars(self._loader), self._templar.template
        chosen, of_variables = given_options(extra, variables or {}, _OPTIONS, template)
        try:
            folder = user_path(self.get_option("folder") or _FOLDER)
            device = self.get_option("device")
            needed = frameworks(load_benchmarks(folder), parse_options(chosen), device)
            return [[name for name in needed if name != NO_FRAMEWORK]]
        except ValueError as error:
            raise AnsibleLookupError(with_sources(str(error), of_variables)) from None
