"""Filters for the scaling of repeats over topologies and for tables.

Every filter of this file is documented in <filter>.yml beside it.
"""

from __future__ import annotations

from ansible_collections.scalebench.core.plugins.module_utils.layout.table import text_table
from ansible_collections.scalebench.core.plugins.module_utils.results.scaling import reference_facts


class FilterModule:
    """Registers the pure functions as filters."""

    def filters(self) -> dict:
        """Return the functions by filter name."""
        return {
            "scaling_facts": reference_facts,
            "text_table": text_table,
        }
