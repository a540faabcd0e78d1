"""Filters of the roles that plan a campaign and check its nodes.

Every filter of this file is documented in <filter>.yml beside it.
"""

from __future__ import annotations

from ansible_collections.scalebench.core.plugins.module_utils.dataset.layouts import agreement
from ansible_collections.scalebench.core.plugins.module_utils.planning.container import (
    start_command,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.seating import chosen_gpus
from ansible_collections.scalebench.core.plugins.module_utils.preflight.framework_gpus import (
    framework_gpu_problem,
)
from ansible_collections.scalebench.core.plugins.module_utils.preflight.judge import judge
from ansible_collections.scalebench.core.plugins.module_utils.preflight.verdict import to_mend
from ansible_collections.scalebench.core.plugins.module_utils.running.cluster_nodes import (
    node_problems,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.given_options import misspelt


class FilterModule:
    """Registers the pure functions as filters."""

    def filters(self) -> dict:
        """Return the functions by filter name."""
        return {
            "chosen_gpus": chosen_gpus,
            "container_start_command": start_command,
            "dataset_agreement": agreement,
            "framework_gpu_problem": framework_gpu_problem,
            "misspelt": misspelt,
            "node_problems": node_problems,
            "preflight_to_mend": to_mend,
            "preflight_verdict": judge,
        }
