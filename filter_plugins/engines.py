"""Filters for the container engine of a node.

Every filter of this file is documented in <filter>.yml beside it.
"""

from __future__ import annotations

from ansible_collections.scalebench.core.plugins.module_utils.stacks.engines import (
    daemon_settings,
    engine_found,
)


class FilterModule:
    """Registers the pure functions as filters."""

    def filters(self) -> dict:
        """Return the functions by filter name."""
        return {"daemon_settings": daemon_settings, "engine_found": engine_found}
