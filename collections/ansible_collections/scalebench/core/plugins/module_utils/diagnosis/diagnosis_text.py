"""A diagnosis in words and tables: for the terminal, Markdown, the page and Prometheus."""

from __future__ import annotations

import textwrap
from statistics import median
from typing import Any, Dict, List, Mapping

from ..layout.sections import Section, Table, markdown, section, table, table_text
from .measurement import EVERY_PAIR
from .suspects import KINDS, MOST_SEEN, UNDECIDED, pair_name

__all__ = ["headline", "prometheus", "report_markdown", "sections", "terminal"]

Diagnosis = Mapping[str, Any]
# Pairs that are listed where there are too many nodes for a map of all.
_SLOWEST = 20
# Characters of a line of the terminal, for the map.
_WIDE = 100
_MOST_LEFT_OUT = 10


def headline(diagnosis: Diagnosis) -> str:
    """Return the result in one sentence."""
    suspects = diagnosis["suspects"]
    if diagnosis["verdict"] == UNDECIDED:
        hidden = [
            f"a {KINDS[kind].what} from {share:.0f} %"
            for kind, share in diagnosis["seen"].items()
            if share > MOST_SEEN
        ]
        return (
            f"Undecided: nothing slow was found, but only {', '.join(hidden)} would have been seen."
            " Measure more often (-e iterations=20), or while the nodes do nothing else."
        )
    if not suspects:
        return "Nothing slow was found."
    names = [f"{one['subject']} ({one['what']})" for one in suspects[:4]]
    more = f" and {len(suspects) - 4} more" if len(suspects) > 4 else ""
    return f"Suspects: {', '.join(names)}{more}."


def sections(diagnosis: Diagnosis) -> List[Section]:
    """Return the parts of the report."""
    suspects = diagnosis["suspects"]
    rows = [
        {
            "suspect": one["subject"],
            "what": one["what"],
            "test": deficit["test"],
            "slower by %": deficit["deficit"],
            "95 % interval": f"{deficit['low']} to {deficit['high']}",
            "p": f"{deficit['p']:.2g}",
        }
        for one in suspects
        for deficit in one["deficits"]
    ]
    actions = dict.fromkeys(f"{one['subject']}: {one['action']}." for one in suspects)
    listed = [table("Suspects", rows, decimals={"slower by %": 1})] if rows else []
    seen = [
        {"kind": KINDS[kind].what, "would have been seen from %": share}
        for kind, share in diagnosis["seen"].items()
    ]
    method = (
        f"{diagnosis['comparisons']} comparisons; p is corrected for them (Bonferroni), and a"
        f" suspect has p below {diagnosis['alpha']}. Differences of up to"
        f" {diagnosis['tolerance']} % between nodes and between links count as normal."
    )
    return [
        section("suspects", "Suspects", [headline(diagnosis)], listed, list(actions)),
        section(
            "seen",
            "What would have been seen",
            ["A deficit of this size is found with a chance of 95 %, at the noise of this run."],
            [table("Smallest deficits", seen, decimals={"would have been seen from %": 1})],
            [method],
        ),
        section("pairs", "Pairs", [], [_pairs(diagnosis)]),
        section("alone", "Each node alone", [], [_alone(diagnosis)]),
        *_left_out(diagnosis),
    ]


def _left_out(diagnosis: Diagnosis) -> List[Section]:
    """Return the lines of the logs that could not be read, the first of many; empty for none."""
    lines = diagnosis.get("left_out", [])
    if not lines:
        return []
    words = f"Lines left out: {len(lines)}. The others count."
    return [section("left_out", "Lines left out", [words], [], lines[:_MOST_LEFT_OUT])]


def _relative(diagnosis: Diagnosis) -> Dict[str, float]:
    """Return each pair's median rate in percent of the median pair's."""
    rates = {pair_name(row["nodes"]): median(row["rates"]) for row in diagnosis["pairs"]}
    usual = median(rates.values())
    return {name: 100 * rate / usual for name, rate in rates.items()}


def _pairs(diagnosis: Diagnosis) -> Table:
    """Return the map of pairs, or of many nodes the slowest pairs."""
    shares, nodes = _relative(diagnosis), diagnosis["nodes"]
    usual = median(median(row["rates"]) for row in diagnosis["pairs"])
    caption = f"Median rate in % of the median pair, {usual:.4g} MB/s each way"
    if len(nodes) > EVERY_PAIR:
        slowest = sorted(shares.items(), key=lambda one: one[1])[:_SLOWEST]
        rows: List[Dict[str, Any]] = [{"pair": name, "%": share} for name, share in slowest]
        return table(f"{caption}: the {_SLOWEST} slowest of {len(shares)}", rows, decimals={"%": 0})
    rows = [
        {"node": one, **{other: shares.get(pair_name((one, other))) for other in nodes}}
        for one in nodes
    ]
    return table(caption, rows, decimals=dict.fromkeys(nodes, 0))


def _alone(diagnosis: Diagnosis) -> Table:
    rows = [
        {
            "node": row["node"],
            "device": row["device"],
            "test": row["test"],
            "median": median(row["rates"]),
            "lowest": min(row["rates"]),
            "highest": max(row["rates"]),
        }
        for row in diagnosis["alone"]
    ]
    caption = "matrix_product in GFLOP/s, copies in GB/s (memory_copy: read and written)"
    return table(caption, rows, decimals={"device": 0})


def terminal(diagnosis: Diagnosis) -> str:
    """Return what the playbook prints."""
    first, seen, pairs, _, *left_out = sections(diagnosis)
    blocks = [textwrap.fill(headline(diagnosis), _WIDE)]
    blocks += [table_text(one) for one in first["tables"]]
    blocks += [f"- {item}" for item in first["items"]]
    blocks += [seen["paragraphs"][0], table_text(seen["tables"][0])]
    drawn = table_text(pairs["tables"][0])
    if max(map(len, drawn.splitlines())) <= _WIDE:
        blocks += [pairs["tables"][0]["caption"] + ":", drawn]
    for part in left_out:
        blocks += ["\n".join([*part["paragraphs"], *(f"- {item}" for item in part["items"])])]
    return "\n\n".join(blocks)


def report_markdown(diagnosis: Diagnosis) -> str:
    """Return diagnosis.md."""
    parts = "\n\n".join(markdown(part) for part in sections(diagnosis))
    return f"# What is slow: {diagnosis['campaign']}\n\n{parts}\n"


def prometheus(diagnosis: Diagnosis) -> str:
    """Return diagnosis.prom: the number of suspects by kind, 0 too."""
    counts = dict.fromkeys(KINDS, 0)
    for suspect in diagnosis["suspects"]:
        counts[suspect["kind"]] += 1
    name = "scalebench_suspects"
    lines = [f"# HELP {name} Suspects of the last diagnosis by kind.", f"# TYPE {name} gauge"]
    lines += [f'{name}{{kind="{kind}"}} {count}' for kind, count in counts.items()]
    return "\n".join(lines) + "\n"
