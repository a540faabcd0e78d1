"""The section of a report that sets benchmarks side by side."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ..layout.sections import Section, section, table
from ..records.factors import factor_names, factor_values, factor_words, is_strong
from ..records.results import Results
from ..stats.median_ratio import LEVEL
from .across_frameworks import across_frameworks

__all__ = ["sections"]

Table = Mapping[str, Any]


def sections(results: Union[Results, Sequence[Results]]) -> List[Section]:
    """Return the section across frameworks; nothing where no two benchmarks are comparable.

    :param results: of ``results.build_results``, of one campaign or a list of several.
    """
    compared = across_frameworks([results] if isinstance(results, Mapping) else results)
    if not compared:
        return []
    about = (
        "Each table compares runs with the same model, precision and batch size per device, on the"
        " same kind of device and data where those are known. Fastest names a column whose median"
        " exceeds that of every other one by more than the noise of the repeats, at the level"
        f" {LEVEL * 100:g} % for the row as a whole; a single repeat shows no noise and decides"
        " nothing."
    )
    tables = [made for one in compared for made in _tables(one)]
    notes = [note for one in compared for note in _notes(one)]
    return [section("across", "Across frameworks", [about], tables, notes)]


def _tables(one: Table) -> Iterator[Dict[str, Any]]:
    names, rows = one["columns"], one["rows"]
    speeds = [
        {"topology": row["topology"], **row["throughput"], "fastest": _fastest(row)} for row in rows
    ]
    yield table(
        f"{_title(one)}: throughput in {one['unit']}", speeds, ["topology", *names, "fastest"]
    )
    if sum(any(row["speedup"].values()) for row in rows) > 1:
        ratios = [{"topology": row["topology"], **row["speedup"]} for row in rows]
        base = "the smallest topology" if is_strong(one) else "1n1g"
        yield table(f"{_title(one)}: speed-up over {base}", ratios, ["topology", *names])


def _fastest(row: Mapping[str, Any]) -> Optional[str]:
    """Return the name, or why there is none; None where a row has one column only."""
    counts = [count for count in row["repeats"].values() if count]
    if len(counts) < 2:
        return None
    why = "one repeat" if min(counts) == 1 else "within noise"
    return row["fastest"] or f"not decided ({why})"


def _title(one: Table) -> str:
    """Return the conditions of a table: those that every recipe has, the GPU, the others."""
    words = factor_words(factor_values(one, lambda factor: not factor.means))
    common = factor_names(lambda factor: factor.needed)
    others = [text for name, text in words.items() if name not in common]
    return ", ".join([_common(one), *([str(one["gpu"])] if one["gpu"] else []), *others])


def _common(one: Table) -> str:
    """Return the model and the factors that every recipe has, as ``r50 fp32, batch size 4``."""
    common = factor_names(lambda factor: factor.needed)
    words = factor_words({name: one[name] for name in common})
    return f"{one['model']} {', '.join(words.values())}"


def _notes(one: Table) -> Iterator[str]:
    """Yield why fields of the tables are empty, topologies with the same reason together."""
    reasons: Dict[Tuple[str, str], List[str]] = {}
    for row in one["rows"]:
        for kind, what in (("no_throughput", ""), ("no_speedup", "no speed-up: ")):
            for name, why in row[kind].items():
                reasons.setdefault((name, what + why), []).append(row["topology"])
    short = _common(one).replace(" per device", "")
    for name, sizes in one["elsewhere"].items():
        yield f"{short}: {name} was run only with batch size {' and '.join(map(str, sizes))}"
    for (name, why), places in reasons.items():
        yield f"{short}: {name}, {', '.join(places)}: {why}"
