"""The named strategies, as data: a source of numbers and the parameters that make the rule."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

__all__ = ["COMMON", "SOURCES", "STRATEGIES", "USUAL"]

# Parameters of every strategy. run: 1 = first in the file, -1 = last. scope: what the result
# counts, "global", "per_device" or "printed" (as in the log). devices: null = what the log says.
COMMON: Dict[str, Any] = {
    "run": -1,
    "ranks": "auto",
    "scope": "global",
    "devices": None,
    "rounding": "numpy_2",
}
# Parameters of each source of numbers. warmup: observations dropped first; iterations: how many
# are used then, null = all; batch_size: images a step on all devices, null = what the log says.
SOURCES: Dict[str, Dict[str, Any]] = {
    "observations": {
        "warmup": 0,
        "iterations": None,
        "drop_last": 0,
        "average": "mean",
        "trim": 0.05,
        "trim_least": 5,
        "round_each": "none",
    },
    "wall_clock": {"warmup": 20, "iterations": 100, "batch_size": None},
    "summary": {"key": None},
}
STRATEGIES: Dict[str, Dict[str, Any]] = {
    "mean": {"source": "observations", "about": "arithmetic mean of the throughputs printed"},
    "mean_after_warmup": {
        "source": "observations",
        "warmup": 20,
        "iterations": 100,
        "about": "drop 20, arithmetic mean of the next 100: the seeds' method",
    },
    "median": {"source": "observations", "average": "median", "about": "middle throughput printed"},
    "harmonic_mean": {
        "source": "observations",
        "average": "harmonic",
        "about": "n / sum(1/x): total images over total time",
    },
    "trimmed_mean": {
        "source": "observations",
        "average": "trimmed",
        "about": "sort, drop max(5, 5 %) at both ends, mean of the rest",
    },
    "last_printed": {
        "source": "observations",
        "average": "last",
        "about": "the last throughput printed",
    },
    "wall_clock": {
        "source": "wall_clock",
        "about": "images between the ends of iterations 20 and 120 over the time between them",
    },
    "last_summary": {"source": "summary", "about": "what the log itself sums up, last printed"},
}
# The strategy that ``auto`` stands for, by reader; mean_after_warmup for the rest.
USUAL: Dict[str, str] = {}
