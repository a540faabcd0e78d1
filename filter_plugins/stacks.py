"""Filters for GPU software stacks and hardware, packages, repository keys, engines and the clock.

Every filter of this file is documented in <filter>.yml beside it.
"""

from __future__ import annotations

from ansible_collections.scalebench.core.plugins.module_utils.stacks.packages import (
    kernel_changes,
    key_fingerprints,
    removed_packages,
    replaced_packages,
)
from ansible_collections.scalebench.core.plugins.module_utils.stacks.pci import hardware
from ansible_collections.scalebench.core.plugins.module_utils.stacks.problems import stack_problems
from ansible_collections.scalebench.core.plugins.module_utils.stacks.replacement import (
    clock_kept,
    daemon_settings,
    engine_found,
    replacement,
)
from ansible_collections.scalebench.core.plugins.module_utils.stacks.schema import resolved_stack
from ansible_collections.scalebench.core.plugins.module_utils.stacks.way_out import (
    way_named,
    way_out,
)


class FilterModule:
    """Registers the pure functions as filters."""

    def filters(self) -> dict:
        """Return the functions by filter name."""
        return {
            "clock_kept": clock_kept,
            "daemon_settings": daemon_settings,
            "engine_found": engine_found,
            "gpu_hardware": hardware,
            "kernel_changes": kernel_changes,
            "key_fingerprints": key_fingerprints,
            "removed_packages": removed_packages,
            "replaced_packages": replaced_packages,
            "replacement": replacement,
            "resolved_stack": resolved_stack,
            "stack_problems": stack_problems,
            "way_named": way_named,
            "way_out": way_out,
        }
