"""Published results as rows: one row for each figure, with conditions, source, method and errata.

``common`` holds for every series, a series overrides it, a result overrides both. The documents are
described in published/README.md.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.scalebench.core.plugins.module_utils.published.schema import (
    CONDITIONS,
    FIGURES,
    METHOD,
    SOURCE,
    check_document,
)
from ansible_collections.scalebench.core.plugins.module_utils.topology import (
    parse_topology,
    sort_topologies,
)

__all__ = ["published_rows"]

Row = Dict[str, Any]


def _row(name: str, series: Mapping[str, Any], topology: str, common: Mapping[str, Any]) -> Row:
    result = series["results"][topology]
    levels = (result, series, common)
    nodes, devices_per_node = parse_topology(topology)
    stated = {key: at[key] for at in reversed(levels) for key in CONDITIONS if key in at}
    return {
        "id": f"{name}/{series['id']}/{topology}",
        "source": name,
        "series": series["id"],
        **{key: stated.get(key) for key in CONDITIONS if key in stated or key != "own_factors"},
        "topology": topology,
        "nodes": nodes,
        "devices_per_node": devices_per_node,
        "world_size": nodes * devices_per_node,
        **{key: result.get(key) for key in FIGURES},
        "runs": {str(key): speed for key, speed in (result.get("runs") or {}).items()},
        "reason": result.get("reason") or "",
        "note": series.get("note") or "",
    }


def _errata_of(row: Row, errata: Sequence[Mapping[str, Any]]) -> List[Row]:
    places = {"document", row["series"], f"{row['series']}/{row['topology']}"}
    return [
        {key: item for key, item in erratum.items() if key != "where"}
        for erratum in errata
        if places.intersection(erratum["where"])
    ]


def published_rows(document: Any, name: str = "document") -> List[Row]:
    """Return one row per published figure of a document, series and topologies in order.

    ``name``: what the rows are called after, the file's name without its ending. ``throughput`` is
    in images/s over all devices; a condition that the source does not state is None. ``errata``
    are those of the row itself, of its series, and of the document.

    :raises ValueError: names the place in the document, what is wrong there and what is allowed.
    """
    check_document(document, name)
    source, method = document["source"], document["method"]
    described = {
        **{key: source.get(key) for key in SOURCE},
        **{key: method.get(key) for key in METHOD if key != "text"},
        "method": method["text"],
    }
    common, errata = document.get("common") or {}, document.get("errata") or []
    rows = [
        _row(name, series, topology, common)
        for series in document["series"]
        for topology in sort_topologies(series["results"])
    ]
    return [{**row, **described, "errata": _errata_of(row, errata)} for row in rows]
