"""Door to MU preparation: what the chosen recipes need on the nodes beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

DOCUMENTATION = r"""
name: benchmark_preparations
short_description: The sources and images of the published programs that were chosen
description:
  - Reads C(benchmark) and C(recipe) as given with C(-e), as the playbook C(bench.yml) does.
  - Recipes of our own trainers need nothing and are not among the result.
options:
  mirror:
    description: A registry, perhaps with a path, that stands for the images' own.
    type: str
    default: ""
  folder:
    description: Folder of the benchmark files; by default C(benchmarks) of this project.
    type: path
"""

EXAMPLES = r"""
- name: Show what -e benchmark=tensorflow_ngc -e recipe=upstream needs
  ansible.builtin.debug:
    msg: "{{ lookup('benchmark_preparations', mirror='registry.example/ngc') }}"
"""

RETURN = r"""
_raw:
  description:
    - One list with a mapping a recipe - C(name), C(sources) and, where it runs in a container,
      C(container) with C(name), C(reference) (what to pull), C(built) (what the image that is made
      from it is called) and all that the benchmark file says.
  type: list
  elements: list
"""

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase
from ansible.utils.vars import load_extra_vars
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.preparation import (
    preparations,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.campaign_files import load_benchmarks

_FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
# What chooses recipes; other options may not fit before the nodes are known.
_CHOOSING = ("benchmark", "recipe")


class LookupModule(LookupBase):
    """The lookup benchmark_preparations."""

    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[Any]:
        """Return the preparations, as one list."""
        self.set_options(var_options=variables, direct=kwargs)
        folder = Path(self.get_option("folder") or _FOLDER).expanduser()
        given = load_extra_vars(self._loader)
        chosen = parse_options({name: given[name] for name in _CHOOSING if name in given})
        try:
            return [preparations(load_benchmarks(folder), chosen, self.get_option("mirror"))]
        except ValueError as error:
            raise AnsibleLookupError(str(error)) from None
