"""The last results as a text file for Prometheus, in its text exposition format 0.0.4.

node_exporter's textfile collector reads such a file; it takes no timestamps, hence none here. A
figure that there is not has no line: an alert must not take it for a zero.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ..layout.plain_text import plain
from ..results.provenance import unix_seconds

__all__ = ["prometheus_text"]

Sample = Tuple[Mapping[str, Any], Any]
_LABELS = ("benchmark", "model", "precision", "variant", "topology")


def prometheus_text(results: Mapping[str, Any]) -> str:
    """Return scalebench.prom: gauges of every cell, and when and as what it was measured.

    Series have no label for the campaign, so that the next one goes on with them; which it was
    tells ``scalebench_campaign_info``.

    :param results: of ``results.build_results``, or results.json.
    """
    cells = results["cells"]
    told = {"campaign": results["campaign"], "schema": results["schema"]}
    created = unix_seconds(results["provenance"].get("created"))
    blocks = [
        _metric(
            "scalebench_throughput_samples_per_second",
            "Median over the repeats of the throughput of all devices together.",
            [({**_cell(cell), "unit": cell["unit"]}, cell["median_speed"]) for cell in cells],
        ),
        _metric(
            "scalebench_throughput_interval_samples_per_second",
            "Bounds of the 95 percent interval of that median.",
            [
                (
                    {**_cell(cell), "unit": cell["unit"], "bound": key},
                    (cell["interval"] or {}).get(key),
                )
                for cell in cells
                for key in ("low", "high")
            ],
        ),
        _metric(
            "scalebench_speedup_ratio",
            "Throughput over that of one device of the same benchmark.",
            [(_cell(cell), cell["speedup"]) for cell in cells],
        ),
        _metric(
            "scalebench_scaling_efficiency_ratio",
            "Speed-up over the number of devices.",
            [(_cell(cell), cell["efficiency"]) for cell in cells],
        ),
        _metric("scalebench_repeats", "Planned repeats by how they ended.", _endings(cells)),
        _metric("scalebench_campaign_info", "Which campaign this is.", [(told, 1)]),
        _metric(
            "scalebench_campaign_created_timestamp_seconds",
            "When the campaign was planned, in seconds since 1970.",
            [({}, created)],
        ),
    ]
    return "".join(blocks)


def _cell(cell: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: cell[name] for name in _LABELS}


def _endings(cells: Sequence[Mapping[str, Any]]) -> List[Sample]:
    found: List[Sample] = []
    for cell in cells:
        endings = Counter(repeat["ending"] for repeat in cell["repeats"])
        endings["not_run"] = len(cell["not_run"])
        found += [({**_cell(cell), "ending": key}, endings[key]) for key in sorted(endings)]
    return found


def _metric(name: str, about: str, samples: Sequence[Sample]) -> str:
    """Return a gauge with its HELP and TYPE, nothing where it has no sample."""
    lines = [f"{name}{_labels(of)} {value}" for of, value in samples if value is not None]
    if not lines:
        return ""
    return "\n".join([f"# HELP {name} {about}", f"# TYPE {name} gauge", *lines, ""])


def _labels(of: Mapping[str, Any]) -> str:
    """Return labels in braces; backslash and quote are escaped, line ends are none after plain."""
    known = {
        key: plain(value).replace("\\", r"\\").replace('"', r"\"") for key, value in of.items()
    }
    return "{" + ",".join(f'{key}="{value}"' for key, value in known.items()) + "}" if known else ""
