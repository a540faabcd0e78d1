"""Look up the sources and images that the chosen recipes need on the nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

DOCUMENTATION = r"""
name: benchmark_preparations
short_description: List the sources and images of the chosen recipes
description:
  - Reads C(benchmark), C(recipe) and C(variants) as role C(campaign) does, given with C(-e) or as
    variables. A variant with an image of its own has a container of its own.
  - Recipes of our own trainers need nothing and are not among the result.
options:
  device:
    description: What the nodes have, for recipes that differ by device.
    type: str
    choices: [cpu, gpu]
  mirror:
    description: Registry, optionally with a path, to use instead of the images' own.
    type: str
    default: ""
  folder:
    description: Folder of the benchmark files; by default C(benchmarks) of this project.
    type: str
"""

EXAMPLES = r"""
- name: Show the sources and images of -e benchmark=tensorflow_ngc -e recipe=upstream
  ansible.builtin.debug:
    msg: "{{ lookup('benchmark_preparations', mirror='registry.example/ngc') }}"
"""

RETURN = r"""
_raw:
  description:
    - One list with a mapping per recipe - C(name), C(sources) and, if it runs in a container,
      C(container) with C(name), C(reference) (the image to pull), C(built) (the name of the image
      built from it) and the keys of the benchmark file.
  type: list
  elements: list
"""

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase
from ansible.utils.vars import load_extra_vars
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import preparations
from ansible_collections.scalebench.core.plugins.plugin_utils.campaign_files import load_benchmarks
from ansible_collections.scalebench.core.plugins.plugin_utils.files import user_path
from ansible_collections.scalebench.core.plugins.plugin_utils.given_options import (
    given_options,
    with_given_variants,
    with_sources,
)

_FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
# The other options are not checked, because their defaults depend on the nodes.
_OPTIONS = ("benchmark", "recipe", "variants")


class LookupModule(LookupBase):
    """Implements lookup benchmark_preparations."""

    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[Any]:
        """Return a list that contains the list of preparations."""
        self.set_options(var_options=variables, direct=kwargs)
        extra, template = load_extra_vars(self._loader), self._templar.template
        chosen, of_variables = given_options(extra, variables or {}, _OPTIONS, template)
        mirror, device = self.get_option("mirror"), self.get_option("device")
        try:
            folder = user_path(self.get_option("folder") or _FOLDER)
            options = parse_options(chosen)
            benchmarks = with_given_variants(load_benchmarks(folder), options)
            return [preparations(benchmarks, options, mirror, device)]
        except ValueError as error:
            raise AnsibleLookupError(with_sources(str(error), of_variables)) from None
