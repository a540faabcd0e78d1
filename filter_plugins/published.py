"""Filters that compare measurements with published results and verify those.

Every filter of this file is documented in <filter>.yml beside it.
"""

from __future__ import annotations

from ansible_collections.scalebench.core.plugins.module_utils.published.claims import claims_text
from ansible_collections.scalebench.core.plugins.module_utils.published.compare import (
    compare_published,
)


class FilterModule:
    """Registers the pure functions as filters."""

    def filters(self) -> dict:
        """Return the functions by filter name."""
        return {
            "claims_text": claims_text,
            "compare_published": compare_published,
        }
