"""Filters for the statistics of repeats and of the observations within a run.

Every filter of this file is documented in <filter>.yml beside it.
"""

from __future__ import annotations

from ansible_collections.scalebench.core.plugins.module_utils.facts.within_run import (
    steady_state,
    within_run,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.rounding import round_as
from ansible_collections.scalebench.core.plugins.module_utils.stats.statistics import (
    median_interval,
    summarise,
)


class FilterModule:
    """Registers the pure functions as filters."""

    def filters(self) -> dict:
        """Return the functions by filter name."""
        return {
            "median_interval": median_interval,
            "round_as": round_as,
            "steady_state": steady_state,
            "summarise": summarise,
            "within_run": within_run,
        }
