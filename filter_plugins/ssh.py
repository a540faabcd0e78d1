"""Filters for the lines of authorized_keys and known_hosts files.

Every filter of this file is documented in <filter>.yml beside it.
"""

from __future__ import annotations

from ansible_collections.scalebench.core.plugins.module_utils.records.node_names import (
    by_words,
    folded,
)
from ansible_collections.scalebench.core.plugins.module_utils.running.cluster_nodes import (
    authorized_keys_lines,
    known_hosts_lines,
    other_controllers,
    with_public_keys,
)


class FilterModule:
    """Registers the pure functions as filters."""

    def filters(self) -> dict:
        """Return the functions by filter name."""
        return {
            "authorized_keys_lines": authorized_keys_lines,
            "folded_names": folded,
            "folded_words": by_words,
            "known_hosts_lines": known_hosts_lines,
            "other_controllers": other_controllers,
            "with_public_keys": with_public_keys,
        }
