"""Every cell of every recipe in benchmarks/, on nodes with GPUs and on nodes without."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import Any, NamedTuple

import campaign_data
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.benchmark_file import (
    check_benchmark,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from upstream_data import v100_nodes


class Rendered(NamedTuple):
    """A planned cell, with its commands, and the recipe that it is of."""

    recipe: dict[str, Any]
    cell: dict[str, Any]

    @property
    def where(self) -> str:
        """Return what a message calls it."""
        return f"{self.cell['benchmark']} {self.cell['recipe']} {self.cell['topology']}"


def _nodes(device: str) -> dict[str, dict[str, Any]]:
    nodes = v100_nodes() if device == "gpu" else campaign_data.cluster(4)
    for node in nodes.values():
        node["pythons"] = defaultdict(lambda: "/opt/scalebench/venvs/any/bin/python")
        node["data_dir"] = "/datasets/ImageNet"
    return nodes


@lru_cache(maxsize=1)
def rendered_cells() -> tuple[Rendered, ...]:
    """Return the default cells of every recipe on each kind of node that it has defaults for."""
    found = []
    for name, content in campaign_data.benchmarks().items():
        checked = check_benchmark(content, name)
        for recipe, described in checked["recipes"].items():
            for device in described["defaults"]:
                options = parse_options({"benchmark": name, "recipe": recipe})
                cells = plan.build({name: checked}, options, _nodes(device))["cells"]
                found += [Rendered(described, cell) for cell in cells]
    return tuple(found)
