"""The section on collective operations: latency and bandwidth of each, fitted over the sizes."""

from __future__ import annotations

from typing import Any, Dict, List

from ..layout.sections import Section, section, table
from ..layout.table import shown
from ..records.results import CollectiveGroup, Results
from .plots import FIGURES

__all__ = [
    "bus_bandwidth",
    "collective_lines",
    "collective_sections",
    "describe_messages",
    "group_title",
    "size_text",
]

_MOST_DESCRIBED = 6


def collective_sections(results: Results) -> List[Section]:
    """Return the section; nothing of results without collective operations."""
    found = results.get("collectives")
    if not found:
        return []
    about = (
        "The duration of an operation on S bytes as t = latency + S / bandwidth (Hockney 1994),"
        " fitted to all repeats by least squares of the relative distances, so that every size"
        f" counts the same. Intervals of {found['level']:.0%} by Student's t. Where the times lie"
        " further from the line than their noise explains (F test, 5 %) that distance is taken for"
        " the noise, and the law is said not to hold: neither figure describes all sizes then."
        " The bandwidth of the bus is the bandwidth times the factor of nccl-tests."
    )
    if any(one.get("line_rate") for one in found["groups"]):
        about += (
            " The line rate is what the adapters that carried the messages could send, without"
            " headers: the upper bound of the bus bandwidth of a ring between nodes."
        )
    groups = found["groups"]
    fitted = table("Latency and bandwidth", [_fit_row(one) for one in groups])
    sizes = [row for one in groups for row in _size_rows(one)]
    tables = [fitted, table("Durations, medians of the repeats", sizes, decimals={"time, us": 1})]
    return [section("collectives", "Collective operations", [about], tables, _lines(groups))]


def collective_lines(results: Results) -> List[str]:
    """Return a sentence for each operation and topology, for the terminal."""
    found = results.get("collectives")
    return _lines(found["groups"]) if found else []


def group_title(one: CollectiveGroup) -> str:
    """Return what a group measured: ``all_reduce fp32 bz1-opall_reduce 4n1g``."""
    return f"{one['benchmark']} {one['precision']} {one['variant']} {one['topology']}"


def bus_bandwidth(one: CollectiveGroup, size: int, seconds: float) -> float:
    """Return the bus bandwidth of an operation on ``size`` bytes in MB/s."""
    return size * one["busbw_factor"] / seconds / 1e6


def size_text(size: int) -> str:
    """Return a size in bytes in the largest unit that it is a whole number of, ``16 MiB``."""
    units = (("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0))
    return next(f"{size >> power} {unit}" for unit, power in units if not size % (1 << power))


def describe_messages(results: Results) -> Dict[str, str]:
    """Return the text alternative of the plot by its name; nothing without such operations."""
    found = results.get("collectives")
    if not found:
        return {}
    said = [
        f"{group_title(one)}: "
        + ", ".join(
            f"{size_text(size['bytes'])}"
            f" {shown(bus_bandwidth(one, size['bytes'], size['seconds']), 2)}"
            for size in one["sizes"]
        )
        for one in found["groups"][:_MOST_DESCRIBED]
    ]
    more = len(found["groups"]) - _MOST_DESCRIBED
    said += [f"{more} more in the table"] if more > 0 else []
    return {"busbw": f"{FIGURES['busbw']}, MB/s. {'; '.join(said)}."}


def _lines(groups: List[CollectiveGroup]) -> List[str]:
    return [f"{group_title(one)}: {_words(one)}." for one in groups]


def _words(one: CollectiveGroup) -> str:
    fit = one["fit"]
    latency, bandwidth = fit["latency_seconds"], fit["bytes_per_second"]
    if latency is None or bandwidth is None:
        return f"neither latency nor bandwidth, {fit['reason']}"
    said = (
        f"latency {latency * 1e6:.1f} us"
        f" ({_range(fit['latency_low'], fit['latency_high'], 1e6, 1)}), bandwidth"
        f" {bandwidth / 1e6:.2f} MB/s"
        f" ({_range(fit['bytes_per_second_low'], fit['bytes_per_second_high'], 1e-6, 2)})"
    )
    if fit["holds"]:
        return said
    return (
        f"{fit['reason']}, which at {fit['worst_bytes']} bytes is off by"
        f" {abs(fit['worst'] or 0):.0%}: {said}"
    )


def _range(low: Any, high: Any, scale: float, places: int) -> str:
    above = "any" if high is None else f"{high * scale:.{places}f}"
    return f"{low * scale:.{places}f} to {above}"


def _fit_row(one: CollectiveGroup) -> Dict[str, Any]:
    fit = one["fit"]
    return {
        "operation": group_title(one),
        "latency, us": _scaled(fit["latency_seconds"], 1e6),
        "error, us": _scaled(fit["latency_error"], 1e6),
        "bandwidth, MB/s": _scaled(fit["bytes_per_second"], 1e-6),
        "from": _scaled(fit["bytes_per_second_low"], 1e-6),
        "to": _scaled(fit["bytes_per_second_high"], 1e-6),
        "of the bus, MB/s": _scaled(fit["bytes_per_second"], one["busbw_factor"] * 1e-6),
        "line rate, MB/s": one.get("line_rate"),
        "fits": "yes" if fit["holds"] else "no",
        "largest distance %": _scaled(fit["worst"], 100),
        "at bytes": fit["worst_bytes"],
    }


def _size_rows(one: CollectiveGroup) -> List[Dict[str, Any]]:
    # Results of older versions have none.
    rate = one.get("line_rate")
    return [
        {
            "operation": group_title(one),
            "bytes": size["bytes"],
            "time, us": size["seconds"] * 1e6,
            "busbw, MB/s": (busbw := bus_bandwidth(one, size["bytes"], size["seconds"])),
            "of the line rate %": _scaled(busbw, 100 / rate) if rate else None,
            "repeats": size["n"],
        }
        for size in one["sizes"]
    ]


def _scaled(value: Any, scale: float) -> Any:
    return None if value is None else value * scale
