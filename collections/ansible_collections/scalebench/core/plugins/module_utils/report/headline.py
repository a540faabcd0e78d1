"""The head of a report: what was measured, on what, the main figures, and how far to trust them."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Mapping, Sequence, Tuple

from ..acceptance.acceptance_text import acceptance_line
from ..acceptance.judge import ACCEPTED, NOT_ACCEPTED
from ..comparison.gate_text import gate_failed, gate_line, undecided_rules
from ..layout.groups import machines, named_cells
from ..layout.plain_text import plain
from ..layout.table import shown
from ..records.cells import cell_key
from ..records.endings import count_key, group_words, groups
from ..records.factors import factor_values, factor_words, is_strong
from ..records.results import MeasuredCell, Results
from ..results.cells import ran_oversubscribed, with_speed
from ..results.scaling import base_cells
from ..stats.statistics import median
from ..topology import sort_topologies
from .columns import throughput_title
from .provenance import machine_rows
from .remarks import remarks

__all__ = ["headline", "trust"]

_MOST_NAMED = 6
# By device, the cv above which repeats are worth a look: on GPUs those of one node have 0.04 to
# 0.4 % (the published ones of more nodes up to 2 %), on CPUs 1 to 3 %.
_MUCH_SPREAD = {"gpu": 0.01, "cpu": 0.05}
# With fewer the interval of the median covers 88 % at most.
_FEW_REPEATS = 5


def headline(results: Results) -> Dict[str, Any]:
    """Return ``what`` (sentences), ``where``, ``counts``, ``figures``, ``trust`` and ``remarks``.

    ``figures``: ``label``, ``value`` and ``note`` of the few numbers to see first. ``trust``: of
    :func:`trust`.
    """
    return {
        "what": [plain(sentence, 2000) for sentence in _what(results["cells"])],
        "where": _where(results),
        "counts": _counts(results["counts"]),
        "figures": _figures(results),
        "trust": trust(results),
        "remarks": [plain(remark, 2000) for remark in remarks(results)],
    }


def _what(cells: Sequence[MeasuredCell]) -> List[str]:
    """Return a sentence for each benchmark on what it trained."""
    sentences = []
    for benchmark in dict.fromkeys(str(cell["benchmark"]) for cell in cells):
        own = [cell for cell in cells if str(cell["benchmark"]) == benchmark]
        topologies = _named(sort_topologies({cell["topology"]: None for cell in own}))
        sentences.append(
            f"{plain(benchmark, 80)}: training of {_named(str(cell['model']) for cell in own)} in"
            f" {', '.join(_factors(own))}, on {topologies}."
        )
    return sentences


def _factors(cells: Sequence[MeasuredCell]) -> List[str]:
    """Return the values of each factor that are not how a framework does the work."""
    listed = [factor_values(cell, lambda f: not f.means) for cell in cells]
    for each in listed:
        if is_strong(each):
            # It follows from the global one and the topology.
            del each["batch_size_per_device"]
    values: Dict[str, str] = {}
    for name in dict.fromkeys(name for each in listed for name in each):
        known = {each[name]: None for each in listed if each.get(name) not in (None, "")}
        # A flag that is false needs no mention.
        if not known or set(known) == {False}:
            continue
        are_numbers = all(isinstance(value, int) for value in known)
        values[name] = _named(str(value) for value in (sorted(known) if are_numbers else known))
    return [*factor_words(values).values()]


def _named(names: Iterable[str]) -> str:
    """Return different names with commas, the first few of many."""
    known = list(dict.fromkeys(plain(name, 60) for name in names))
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return ", ".join(known[:_MOST_NAMED]) + more


def _where(results: Results) -> str:
    rows = machine_rows(results)
    if not rows:
        return "The machines are not recorded."
    kinds = [f"{row['processor']}, {row['cores']} cores, {row['GPUs']}" for row in rows]
    hardware = _named(kind.replace(", none", ", no GPU") for kind in kinds)
    nodes = _number(len(results["provenance"]["nodes"]), "node")
    return f"{nodes} on {_number(len(machines(results)), 'machine')}: {hardware}."


def _counts(counts: Mapping[str, int]) -> str:
    """Return a sentence on how many repeats succeeded, and what became of the others."""
    others = [
        f"{counts[key]} {words}"
        for key, words in (
            *((count_key(group), group_words(group)) for group in groups()),
            ("not_run", "not run yet"),
        )
        if counts[key]
    ]
    succeeded = (
        f"{counts['ok']} of {_number(counts['planned'], 'repeat')} succeeded, in"
        f" {_number(counts['cells'], 'cell')}"
    )
    return f"{'; '.join([succeeded, *others])}."


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _figures(results: Results) -> List[Dict[str, str]]:
    """Return the fastest cell, the largest one's scaling, the repeats and their spread."""
    named = [
        (f"{cell['topology']}, {plain(name, 60)}", cell) for name, cell in named_cells(results)
    ]
    figures = []
    sound = [pair for pair in named if pair[1]["median_speed"] and not pair[1]["invalid"]]
    # Tokens are not compared with sequences.
    by_unit: Dict[str, List[Tuple[str, MeasuredCell]]] = {}
    for pair in sound:
        unit = plain(pair[1]["unit"] or throughput_title([pair[1]]), 20)
        by_unit.setdefault(unit, []).append(pair)
    for unit, pairs in by_unit.items():
        name, cell = max(pairs, key=lambda pair: float(pair[1]["median_speed"] or 0))
        label = f"highest throughput, {unit}"
        speed = cell["median_speed"] or 0.0
        figures.append(_figure(label, f"{speed:,.2f}" if speed >= 1 else shown(speed, 2), name))
    for mode, of_mode in (("", False), ("strong scaling: ", True)):
        figures += _scaling([pair for pair in named if is_strong(pair[1]) is of_mode], mode)
    counts = results["counts"]
    repeats = f"{counts['ok']} of {counts['planned']}"
    figures.append(_figure("successful repeats", repeats, f"in {_number(counts['cells'], 'cell')}"))
    cvs = _cvs(results["cells"])
    if cvs:
        note = f"median of {_number(len(cvs), 'cell')}; at most {max(cvs) * 100:.2f} %"
        figures.append(_figure("spread of repeats (cv)", f"{median(cvs) * 100:.2f} %", note))
    return figures


def _scaling(named: Sequence[Tuple[str, MeasuredCell]], mode: str) -> List[Dict[str, str]]:
    """Return the speed-up and the efficiency on the most devices of the cells of one mode."""
    bases = base_cells(cell for _, cell in named)
    scaled = [
        (cell["devices"], cell["speedup"], name, cell)
        for name, cell in named
        if cell["speedup"] and bases.get(cell_key(cell).group, cell) is not cell
    ]
    if not scaled:
        return []
    devices, speedup, name, cell = max(scaled, key=lambda one: one[:2])
    ideal = devices / bases[cell_key(cell).group]["devices"]
    figures = [_figure(f"{mode}speed-up, most devices", f"{speedup:.2f} of {ideal:g}", name)]
    if cell["efficiency"] is not None:
        share = f"{cell['efficiency'] * 100:.2f} %"
        figures.append(_figure(f"{mode}scaling efficiency".replace(": scaling", ":"), share, name))
    return figures


def _figure(label: str, value: str, note: str) -> Dict[str, str]:
    return {"label": label, "value": value, "note": note}


def trust(results: Results) -> Dict[str, Any]:
    """Return how far the figures can be trusted, from counts: ``level``, ``verdict``, ``reasons``.

    ``level``: none (no result), poor (a failed gate or acceptance, or a speed-up that says nothing
    about scaling), care (something makes the figures less certain, or was left undecided) or good.
    """
    counts = results["counts"]
    if not counts["ok"]:
        reasons = [f"None of {_number(counts['planned'], 'repeat')} succeeded."]
        return {"level": "none", "verdict": "No result", "reasons": reasons}
    failed, undecided = _judged(results)
    grave, light = _grave(results["cells"]), [*undecided, *_light(results)]
    if failed:
        reasons = [*failed.values(), *grave, *light]
        return {"level": "poor", "verdict": ", ".join(failed), "reasons": reasons}
    if grave:
        verdict = "Read these results with care"
        return {"level": "poor", "verdict": verdict, "reasons": grave + light}
    if light:
        return {"level": "care", "verdict": "Usable, with reservations", "reasons": light}
    reasons = ["All repeats succeeded, telemetry shows no disturbance, and the repeats agree."]
    return {"level": "good", "verdict": "No problem found", "reasons": reasons}


def _judged(results: Results) -> Tuple[Dict[str, str], List[str]]:
    """Return what gate and acceptance say: failures, verdict by reason, and what is undecided."""
    failed, undecided = {}, []
    if gate_failed(results):
        failed["Gate failed"] = f"G{gate_line(results)[1:]}."
    elif undecided_rules(results):
        undecided.append(f"G{gate_line(results)[1:]}.")
    acceptance = results.get("acceptance")
    if acceptance and acceptance["verdict"] == NOT_ACCEPTED:
        failed["Not accepted"] = f"{acceptance_line(acceptance)}."
    elif acceptance and acceptance["verdict"] != ACCEPTED:
        undecided.append(f"{acceptance_line(acceptance)}.")
    return failed, undecided


def _grave(cells: Sequence[MeasuredCell]) -> List[str]:
    """Return what makes a speed-up worthless."""
    crowded = [c for c in cells if ran_oversubscribed(c) and c["devices"] > 1]
    invalid = [c for c in cells if c["invalid"]]
    return _counted(
        (len(crowded), len(cells), "cells", "ran more CPU threads than cores (oversubscribed)."),
        (len(invalid), len(cells), "cells", "have an impossible speed-up, which is suppressed."),
    )


def _light(results: Results) -> List[str]:
    """Return what makes the figures less certain."""
    counts, cells = results["counts"], results["cells"]
    good = [repeat for cell in cells for repeat in with_speed(cell["repeats"])]
    disturbed = sum(bool(repeat["disturbances"]) for repeat in good)
    recorded = bool(results["provenance"].get("nodes"))
    untold = sum(repeat.get("telemetry") is None for repeat in good) if recorded else 0
    sizes = [c["spread"]["n"] for c in cells if c["spread"]]
    few = sum(size < _FEW_REPEATS for size in sizes)
    unexpected = sum(bool(c["warnings"]) for c in cells)
    reasons = _counted(
        (counts["planned"] - counts["ok"], counts["planned"], "repeats", "have no result."),
        (disturbed, len(good), "repeats", "were disturbed."),
        (untold, len(good), "repeats", "have no telemetry, so disturbances cannot be detected."),
        *_scatter(cells),
        (unexpected, len(cells), "cells", "are not as expected; see the remarks."),
        (
            *(few, len(sizes), "cells"),
            f"have fewer than {_FEW_REPEATS} repeats, so the interval covers 88 % at most.",
        ),
    )
    if not recorded:
        reasons.append("The machines are not recorded, so disturbances cannot be detected.")
    return reasons


def _scatter(cells: Sequence[MeasuredCell]) -> Iterator[Tuple[int, int, str, str]]:
    """Yield for each kind of device how many cells scatter more than it does undisturbed."""
    for device, most in _MUCH_SPREAD.items():
        cvs = _cvs([cell for cell in cells if (cell["device"] or "cpu") == device])
        words = f"on {device.upper()}s scatter by more than {most:.0%} (cv)."
        yield sum(cv > most for cv in cvs), len(cvs), "cells", words


def _counted(*counts: Any) -> List[str]:
    """Return a sentence for each (some, of how many, what, words) of which there is one."""
    return [f"{some} of {count} {what} {words}" for some, count, what, words in counts if some]


def _cvs(cells: Sequence[MeasuredCell]) -> List[float]:
    """Return the coefficients of variation that are known, as shares."""
    return [c["spread"]["cv"] for c in cells if c["spread"] and c["spread"]["cv"] is not None]
