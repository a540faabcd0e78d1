"""The sections on what nodes and ranks did meanwhile: telemetry, waits for another rank."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from ..layout.groups import named_cells
from ..layout.sections import Section, filled, section, table, unquoted
from ..records.results import Repeat, Results
from ..results.stragglers import LEAST_SHARE, LEVEL, waited_for
from ..stats.statistics import median

__all__ = ["telemetry_sections", "waits_sections"]

# Of a campaign with hundreds of ranks; results.json has all of them.
_MOST_ROWS = 200


def telemetry_sections(results: Results) -> List[Section]:
    """Return the section, nothing where no repeat was watched."""
    cells = named_cells(results)
    is_one_group = len({label for label, _ in cells}) == 1
    machine, gpu = [], []
    for label, cell in cells:
        name = {"cell": cell["topology"] if is_one_group else f"{label} {cell['topology']}"}
        known = [r["telemetry"] for r in cell["repeats"] if r["throughput"] and r["telemetry"]]
        if known:
            machine.append({**name, **_machine_telemetry(known)})
        if any("gpu_utilisation" in one for one in known):
            gpu.append({**name, **_gpu_telemetry(known)})
    captions = (("Processors, memory and links", machine), ("GPUs", gpu))
    tables = [table(caption, rows) for caption, rows in captions if rows]
    about = "Measured on the nodes during the training: medians over the repeats."
    return [section("telemetry", "Telemetry", [about], tables)] if tables else []


def _machine_telemetry(known: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    links = [one["link"] for one in known if "link" in one]
    memory = _median(known, "memory_used_mib")
    return {
        "CPU busy %": _whole(_median(known, "cpu_busy_share"), 100),
        "by the repeat %": _whole(_median(known, "cpu_own_share"), 100),
        "memory used, GiB": None if memory is None else round(memory / 1024, 1),
        "busiest link": ", ".join(sorted({link["name"] for link in links})) or "-",
        "MiB/s": median([link["mib_per_second"] for link in links]) if links else None,
    }


def _gpu_telemetry(known: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    memory = _median(known, "gpu_memory_used_mib")
    throttled: Dict[str, float] = {}
    for one in known:
        for reason, share in one.get("gpu_throttle", {}).items():
            throttled[reason] = max(share, throttled.get(reason, 0.0))
    greatest = max(throttled, key=lambda reason: throttled[reason], default="")
    return {
        "GPU %": _whole(_median(known, "gpu_utilisation")),
        "memory, GiB": None if memory is None else round(memory / 1024, 1),
        "W": _whole(_median(known, "gpu_power_w")),
        "SM MHz": _whole(_median(known, "gpu_sm_clock_mhz")),
        "°C": _whole(_median(known, "gpu_temperature_c")),
        "clock held back": f"{greatest} {throttled[greatest]:.0%}" if greatest else "no",
    }


def _median(known: Sequence[Mapping[str, Any]], key: str) -> Optional[float]:
    values = [one[key] for one in known if key in one]
    return median(values) if values else None


def _whole(value: Optional[float], factor: float = 1) -> Optional[int]:
    return None if value is None else round(value * factor)


def waits_sections(results: Results) -> List[Section]:
    """Return the section, nothing where no trainer measured waits."""
    measured = [
        (f"{label} {cell['topology']}", repeat)
        for label, cell in named_cells(results)
        for repeat in cell["repeats"]
        if len(repeat.get("waits") or ()) > 1
    ]
    if not measured:
        return []
    about = (
        "From the end of a rank's own backward pass to that of the exchange of gradients. All leave"
        " it together, so the rank that waits least reached it last. It is named where that is no"
        f" chance (at most {LEVEL:.0%} of repeats of equal ranks that are late at random in each"
        f" interval) and is at least {LEAST_SHARE:.0%} of a step. Input is what a rank waits for"
        " its batch, no core how long it is ready to run while others have the cores, both on"
        " average."
    )
    rows = [row for cell, repeat in measured for row in _rows(cell, repeat)]
    sentences = [_sentence(cell, repeat) for cell, repeat in measured]
    if len(rows) > _MOST_ROWS:
        sentences.append(f"The first {_MOST_ROWS} of {len(rows)} ranks; results.json has them all.")
    tables = [table("Waits of the ranks", rows[:_MOST_ROWS], filled(rows))]
    return [section("waits", "Waits", [about], tables, sentences)]


def _sentence(cell: str, repeat: Repeat) -> str:
    found = waited_for(repeat["waits"])
    where = f"{unquoted(cell)}, repeat {repeat['repeat']}"
    if found is None:
        return f"{where}: no rank stands out."
    who = "the ranks" if found["rank"] is None else f"rank {found['rank']}"
    return (
        f"{where}: the others wait for {who} on {unquoted(found['node'])} since step"
        f" {found['since']}, {found['seconds'] * 1000:.1f} ms of a step ({found['share']:.0%})."
    )


def _rows(cell: str, repeat: Repeat) -> Iterator[Dict[str, Any]]:
    for rank in repeat["waits"]:
        waits = rank["wait_seconds"]
        yield {
            **{"cell": cell, "repeat": repeat["repeat"], "rank": rank["rank"]},
            **{"node": rank["node"], "wait, ms": _ms(median(waits) if waits else None)},
            "input, ms": _ms(rank.get("input_seconds")),
            "no core, ms": _ms(rank.get("core_wait_seconds")),
            "step, ms": _ms(rank["step_seconds"]),
        }


def _ms(seconds: Optional[float]) -> Optional[float]:
    return None if seconds is None else seconds * 1000
