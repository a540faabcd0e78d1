"""A diagnosis in words and tables: for the terminal, Markdown, the page and Prometheus."""

from __future__ import annotations

import textwrap
from statistics import median
from typing import Any, Dict, List, Mapping

from ..layout.plain_text import metric
from ..layout.sections import Section, Table, markdown, section, table, table_text
from .kinds import KINDS, pair_name
from .measurement import EVERY_PAIR, TESTS
from .suspects import MOST_SEEN, SLOW, SOUND, UNDECIDED

__all__ = ["headline", "prometheus", "report_markdown", "sections", "terminal"]

Diagnosis = Mapping[str, Any]
_OF_DEFICITS = (
    ("scalebench_suspect_deficit_percent", "By how much a suspect is slower.", "deficit"),
    ("scalebench_suspect_deficit_low_percent", "Lower end of its 95 % interval.", "low"),
    ("scalebench_suspect_deficit_high_percent", "Upper end of its 95 % interval.", "high"),
    ("scalebench_suspect_p_value", "Its p, corrected for all comparisons.", "p"),
)
# Pairs that are listed where there are too many nodes for a map of all.
_SLOWEST = 20
# Characters of a terminal.
_WIDE = 100
# Shares of the median pair's rate in percent; a cell is marked by how many it is below.
_MARKS = (97, 90, 80, 65)
_MARKED = (
    f"Pairs below {', '.join(map(str, _MARKS[:-1]))} and {_MARKS[-1]} % of the median pair are"
    " marked on the page."
)
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
        rest = " in what was measured; see the lines that were left out"
        return f"Nothing slow was found{rest if diagnosis.get('left_out') else ''}."
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
            "by chance": f"{deficit['by_chance']:.2g}",
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
        f"Differences of up to {diagnosis['tolerance']} % between nodes and between links count as"
        " normal. p is the probability of such a deficit if the cause were that much slower (of a"
        f" suspect below {diagnosis['alpha']}), by chance the probability if it were as fast as the"
        f" others (below {diagnosis['false_alarms']}). Both are corrected for"
        f" {diagnosis['comparisons']} comparisons (Bonferroni)."
    )
    hidden = [
        f"Not seen, since (nearly) every measured pair touches it: slow {one}."
        for one in diagnosis["unseen"]
    ]
    if any(row["device"] for row in diagnosis["alone"]):
        hidden.append(
            "Pairs were measured by the first device of each node: another network adapter than"
            " the one that it uses was not."
        )
    return [
        section("suspects", "Suspects", [headline(diagnosis)], listed, list(actions)),
        section(
            "seen",
            "What would have been seen",
            [
                "A deficit of this size is found with a chance of 95 %, at the noise of this run.",
                *hidden,
            ],
            [table("Smallest deficits", seen, decimals={"would have been seen from %": 1})],
            [method],
        ),
        section("pairs", "Pairs", [_MARKED], [_pairs(diagnosis)]),
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
    """Return the map of pairs, or of many nodes the slowest pairs, its cells marked for the page.

    A marked cell has ``mark``, the number of ``_MARKS`` that it is below.
    """
    made = _slowest(diagnosis) if len(diagnosis["nodes"]) > EVERY_PAIR else _map(diagnosis)
    for row in made["rows"]:
        for cell in row[1:]:
            cell["mark"] = sum((cell["value"] or _MARKS[0]) < mark for mark in _MARKS)
    return made


def _caption(diagnosis: Diagnosis) -> str:
    usual = median(median(row["rates"]) for row in diagnosis["pairs"])
    return f"Median rate in % of the median pair, {usual:.4g} MB/s each way"


def _map(diagnosis: Diagnosis, numbered: bool = False) -> Table:
    """Return the rates of all pairs; ``numbered``: with the numbers of nodes for their names."""
    shares, nodes = _relative(diagnosis), diagnosis["nodes"]
    heads = {one: str(place) if numbered else one for place, one in enumerate(nodes, 1)}
    rows = [
        {
            "node": f"{heads[one]} {one}" if numbered else one,
            **{head: shares.get(pair_name((one, other))) for other, head in heads.items()},
        }
        for one in nodes
    ]
    return table(_caption(diagnosis), rows, decimals=dict.fromkeys(heads.values(), 0))


def _slowest(diagnosis: Diagnosis) -> Table:
    shares = _relative(diagnosis)
    slowest = sorted(shares.items(), key=lambda one: one[1])[:_SLOWEST]
    caption = f"{_caption(diagnosis)}: the {len(slowest)} slowest of {len(shares)}"
    rows = [{"pair": name, "%": share} for name, share in slowest]
    return table(caption, rows, decimals={"%": 0})


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
    tests = dict.fromkeys(row["test"] for row in diagnosis["alone"])
    units = [f"{test} in {TESTS[test]}" for test in tests if test in TESTS]
    return table("; ".join(units), rows, decimals={"device": 0})


def terminal(diagnosis: Diagnosis) -> str:
    """Return what the playbook prints, for a terminal of 100 columns."""
    first, seen, _, _, *left_out = sections(diagnosis)
    blocks = [_wrapped(headline(diagnosis))]
    blocks += [_within(one) for one in first["tables"]]
    blocks += [_wrapped(f"- {item}") for item in first["items"]]
    of_all, *hidden = map(_wrapped, seen["paragraphs"])
    blocks += [of_all, _within(seen["tables"][0]), *hidden]
    maps = [_map(diagnosis), _map(diagnosis, numbered=True)]
    pairs = next((one for one in maps if _fits(table_text(one))), _slowest(diagnosis))
    blocks += [_wrapped(f"{pairs['caption']}:"), _within(pairs)]
    for part in left_out:
        lines = [*part["paragraphs"], *(f"- {item}" for item in part["items"])]
        blocks += ["\n".join(map(_wrapped, lines))]
    return "\n\n".join(blocks)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDE, subsequent_indent="  ", break_on_hyphens=False)


def _fits(text: str) -> bool:
    return max(map(len, text.splitlines())) <= _WIDE


def _within(one: Table) -> str:
    """Return a table, or where it is too wide a sentence for each of its rows."""
    text = table_text(one)
    if _fits(text):
        return text
    names = [column["name"] for column in one["columns"]]
    return "\n".join(
        _wrapped(", ".join(f"{name} {cell['text']}" for name, cell in zip(names, row)))
        for row in one["rows"]
    )


def report_markdown(diagnosis: Diagnosis) -> str:
    """Return diagnosis.md."""
    parts = "\n\n".join(markdown(part) for part in sections(diagnosis))
    return f"# What is slow: {diagnosis['campaign']}\n\n{parts}\n"


def prometheus(diagnosis: Diagnosis) -> str:
    """Return diagnosis.prom: verdict, suspects by kind, 0 too, their deficits, rates of pairs."""
    counts = dict.fromkeys(KINDS, 0)
    for suspect in diagnosis["suspects"]:
        counts[suspect["kind"]] += 1
    deficits = [
        ({"kind": one["kind"], "subject": one["subject"], "test": deficit["test"]}, deficit)
        for one in diagnosis["suspects"]
        for deficit in one["deficits"]
    ]
    verdicts = [
        ({"verdict": one}, int(one == diagnosis["verdict"])) for one in (SLOW, SOUND, UNDECIDED)
    ]
    blocks = [
        metric("scalebench_diagnosis_verdict", "1 for the verdict of the last one.", verdicts),
        metric(
            "scalebench_diagnosis_ended_timestamp_seconds",
            "When the last log of the diagnosis was recorded, in seconds since 1970.",
            [({}, diagnosis["ended"])],
        ),
        metric(
            "scalebench_diagnosis_visible_deficit_percent",
            "Deficit of each kind that would have been seen with a chance of 95 %.",
            [({"kind": kind}, share) for kind, share in diagnosis["seen"].items()],
        ),
        metric(
            "scalebench_suspects",
            "Suspects of the last diagnosis by kind.",
            [({"kind": kind}, count) for kind, count in counts.items()],
        ),
    ]
    blocks += [
        metric(name, about, [(labels, deficit[key]) for labels, deficit in deficits])
        for name, about, key in _OF_DEFICITS
    ]
    rates = [
        (dict(zip(("first", "second"), row["nodes"])), round(1e6 * median(row["rates"])))
        for row in diagnosis["pairs"]
    ]
    about = "Median rate of a pair of nodes, the slower direction, in bytes/s."
    return "".join([*blocks, metric("scalebench_pair_rate_bytes_per_second", about, rates)])
