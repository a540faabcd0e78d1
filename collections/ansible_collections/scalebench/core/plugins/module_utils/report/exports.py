"""The cells for other programs: results.csv, and scalebench.prom."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from typing import Dict, List, Sequence

from ..comparison.gate_outcomes import VERDICTS
from ..comparison.gate_text import rule_verdict
from ..layout.plain_text import Sample, csv_value, metric
from ..records.cells import cell_key
from ..records.results import MeasuredCell, Results
from ..results.provenance import unix_seconds
from .columns import CSV, SPEED, columns_of, metrics, throughput_title

__all__ = ["csv_text", "prometheus_text"]

_NOUN = re.compile(r"[a-z]+", re.ASCII)


def csv_text(results: Results) -> str:
    """Return one row per cell; the columns ``repeat_<i>`` at the end hold the repeats' speeds.

    A missing value is empty; a spreadsheet would take a zero for a measurement.
    """
    columns = columns_of(CSV, results["cells"])
    indexes = {repeat["repeat"] for cell in results["cells"] for repeat in cell["repeats"]}
    repeats = {index: f"repeat_{index}" for index in sorted(indexes)}
    text = io.StringIO()
    writer = csv.DictWriter(
        text, [*(column.key for column in columns), *repeats.values()], lineterminator="\n"
    )
    writer.writeheader()
    for cell in results["cells"]:
        row = {column.key: column.get(cell) for column in columns}
        row.update({repeats[r["repeat"]]: r["throughput"] for r in cell["repeats"]})
        writer.writerow({key: csv_value(value) for key, value in row.items()})
    return text.getvalue()


def prometheus_text(results: Results) -> str:
    """Return scalebench.prom: gauges of every cell, and when and as what it was measured.

    Series have no label for the campaign, so that the next campaign continues them;
    ``scalebench_campaign_info`` names it.

    :param results: of ``results.build_results``, or results.json.
    """
    cells = results["cells"]
    campaign = {"campaign": results["campaign"], "schema": results["schema"]}
    created = unix_seconds(results["provenance"].get("created"))
    blocks = []
    for name, columns in metrics().items():
        by_name: Dict[str, List[Sample]] = {name: []}
        for cell in cells:
            is_speed = columns[0].unit == SPEED
            unit = {"unit": cell["unit"]} if is_speed else {}
            by_name.setdefault(_in_its_unit(name, cell) if is_speed else name, []).extend(
                ({**cell_key(cell).labels, **unit, **dict(column.labels)}, column.get(cell))
                for column in columns
            )
        blocks += [metric(own, columns[0].about, samples) for own, samples in by_name.items()]
    blocks += [
        metric("scalebench_repeats", "Planned repeats by how they ended.", _endings(cells)),
        metric("scalebench_gate_rules", "Rules of the gate by their verdict.", _rules(results)),
        metric("scalebench_campaign_info", "Which campaign this is.", [(campaign, 1)]),
        metric(
            "scalebench_campaign_created_timestamp_seconds",
            "When the campaign was planned, in seconds since 1970.",
            [({}, created)],
        ),
    ]
    return "".join(blocks)


def _in_its_unit(name: str, cell: MeasuredCell) -> str:
    """Return the name of a throughput's metric, which says samples where images are counted."""
    noun = throughput_title([cell]).partition("/")[0]
    return name.replace("_samples_", f"_{noun}_") if _NOUN.fullmatch(noun) else name


def _endings(cells: Sequence[MeasuredCell]) -> List[Sample]:
    samples: List[Sample] = []
    for cell in cells:
        endings = Counter(repeat["ending"] for repeat in cell["repeats"])
        endings["not_run"] = len(cell["not_run"])
        samples += [
            ({**cell_key(cell).labels, "ending": key}, endings[key]) for key in sorted(endings)
        ]
    return samples


def _rules(results: Results) -> List[Sample]:
    verdicts = Counter(map(rule_verdict, (results.get("gate") or {"rules": ()})["rules"]))
    return [({"verdict": one}, verdicts[one]) for one in VERDICTS if verdicts]
