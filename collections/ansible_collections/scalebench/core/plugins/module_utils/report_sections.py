"""The sections that only some reports have, in their order: a line for each function."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Tuple

from .sections import Section

__all__ = ["extra_sections"]

Builder = Callable[[Mapping[str, Any]], List[Section]]
# Each returns nothing where the results hold nothing of it.
BEFORE_THE_TABLES: Tuple[Builder, ...] = ()
AFTER_THE_METHOD: Tuple[Builder, ...] = ()


def extra_sections(results: Mapping[str, Any]) -> Dict[str, List[Section]]:
    """Return ``first``, what stands before the tables of a report, and ``last``, what ends it.

    :param results: of ``results.build_results``, or results.json.
    """
    return {
        "first": [one for build in BEFORE_THE_TABLES for one in build(results)],
        "last": [one for build in AFTER_THE_METHOD for one in build(results)],
    }
