"""Look up the rows of published results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

DOCUMENTATION = r"""
name: published
short_description: Read published results from the documents of published/
description:
  - Reads and checks the documents and gives one row per published figure, with its conditions,
    source, method and errata.
  - A document that cannot be read or is not right is an error that names the file and the place.
options:
  _terms:
    description: Names of documents without the file extension; by default all.
    type: list
    elements: str
  folder:
    description: Folder of the documents; by default C(published) of this project.
    type: path
"""

EXAMPLES = r"""
- name: Show all throughputs of one document
  ansible.builtin.debug:
    msg: "{{ lookup('published', 'reference_000_tensorflow_ngc') | map(attribute='throughput') }}"

- name: Count the published figures of OneFlow
  ansible.builtin.debug:
    msg: "{{ lookup('published') | selectattr('framework', 'eq', 'OneFlow') | length }}"
"""

RETURN = r"""
_raw:
  description: The rows.
  type: list
  elements: dict
"""

from ansible.errors import AnsibleLookupError  # type: ignore[import-untyped]
from ansible.plugins.lookup import LookupBase  # type: ignore[import-untyped]
from ansible_collections.scalebench.core.plugins.plugin_utils.files import user_path
from ansible_collections.scalebench.core.plugins.plugin_utils.results_reading import (
    read_published,
)

_FOLDER = Path(__file__).resolve().parents[1] / "published"


class LookupModule(LookupBase):  # type: ignore[misc]
    """Implements lookup published."""

    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[Any]:
        """Return a list that contains the list of rows."""
        self.set_options(var_options=variables, direct=kwargs)
        try:
            folder = user_path(self.get_option("folder") or _FOLDER)
            return [read_published(folder, terms)]
        except ValueError as error:
            raise AnsibleLookupError(str(error)) from None
