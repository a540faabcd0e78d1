"""The sections that only some reports have, in their order: a line for each function."""

from __future__ import annotations

from typing import Any, Callable, List, Mapping, Tuple

from ..comparison import across_text
from ..comparison.comparison_text import comparison_sections
from ..comparison.gate_text import gate_sections
from ..layout.sections import Section
from ..published import text as published_text
from . import preflight_text, training_time

__all__ = ["extra_sections"]

Builder = Callable[[Mapping[str, Any]], List[Section]]
# Each returns nothing where the results hold nothing of it.
_BUILDERS: Tuple[Builder, ...] = (
    training_time.sections,
    comparison_sections,
    gate_sections,
    published_text.sections,
    across_text.sections,
    preflight_text.sections,
)


def extra_sections(results: Mapping[str, Any]) -> List[Section]:
    """Return the sections that stand before the tables of a report.

    :param results: of ``results.build_results``, or results.json.
    """
    return [one for build in _BUILDERS for one in build(results)]
