"""Door to MU published: a document of published/ to rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: published_rows
version_added: 0.1.0
short_description: Check a document of published results and give one row per figure
description:
  - Fails with the place in the document and what is allowed there.
  - A row has the conditions (benchmark, framework, gpu, precision, batch_size_per_device, xla,
    data_backend, data, topology, …; null where the source does not state one), the figures, the
    source, the method, and the errata that touch it.
positional: name
options:
  _input:
    description: The document, as in C(published/).
    type: dict
    required: true
  name:
    description: What the rows are called after.
    type: str
    default: document
seealso:
  - plugin: published
    plugin_type: lookup
"""

EXAMPLES = r"""
- name: The misprint of seed 004
  ansible.builtin.debug:
    msg: "{{ rows | selectattr('speedup', 'eq', 10.2) | map(attribute='errata') | first }}"
  vars:
    document: "{{ lookup('ansible.builtin.file', 'published/seed_004_paddle.yml') | from_yaml }}"
    rows: "{{ document | published_rows('seed_004_paddle') }}"
"""

RETURN = r"""
_value:
  description: The rows, series and topologies in order.
  type: list
  elements: dict
"""

from ansible_collections.scalebench.core.plugins.module_utils.published.rows import published_rows


class FilterModule:
    """The filter published_rows."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"published_rows": published_rows}
