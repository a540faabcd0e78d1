"""Filters that turn the text of a training log into data.

Every filter of this file is documented in <filter>.yml beside it.
"""

from __future__ import annotations

from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import (
    facts_of_text,
    reading_of_text,
)


class FilterModule:
    """Registers the pure functions as filters."""

    def filters(self) -> dict:
        """Return the functions by filter name."""
        return {
            "training_log": reading_of_text,
            "training_log_facts": facts_of_text,
        }
