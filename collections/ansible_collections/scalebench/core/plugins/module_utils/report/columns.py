"""The figures of a cell and of a repeat: one entry each, read by every output of a report.

To add a column, add an entry: its key in files, its title in tables, where it stands, and how its
value is read.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ..layout.plain_text import plain
from ..layout.sections import Table, filled, table
from ..layout.table import shown
from ..records.endings import count_key, groups
from ..records.factors import own_values
from ..records.results import MeasuredCell
from ..results.cells import ran_oversubscribed, repeats_without_speed
from .column import CSV, JUNIT, MODEL, PROMETHEUS, REPORT, SPEED, SPREAD, TERMINAL, Column, of
from .model_columns import MODEL_COLUMNS

__all__ = [
    "CSV",
    "JUNIT",
    "MODEL",
    "REPORT",
    "SPEED",
    "SPREAD",
    "TERMINAL",
    "Column",
    "cells_table",
    "columns_of",
    "metrics",
    "repeats_table",
    "throughput_title",
]

# A cell or a repeat.
Item = Mapping[str, Any]
_EVERYWHERE = (TERMINAL, REPORT, CSV, JUNIT, PROMETHEUS)
# The heading of a throughput, as the reference tables print it, for these units.
_SAMPLES, _SAMPLE_UNITS = "samples/s", (None, "images/s", "samples/s")


def _interval(key: str) -> Callable[[Item], str]:
    def show(item: Item) -> str:
        interval = item[key]
        if not interval or interval["low"] is None:
            return "-"
        covers = f" ({interval['coverage']:.0%})" if interval.get("coverage") else ""
        return f"{shown(interval['low'], 2)} to {shown(interval['high'], 2)}{covers}"

    return show


def _count(group: str) -> Callable[[MeasuredCell], int]:
    return lambda cell: len(repeats_without_speed(cell, group))


def _repeats_with(key: str) -> Callable[[Item], int]:
    return lambda item: sum(bool(repeat[key]) for repeat in item["repeats"])


def _repeats_ok(cell: MeasuredCell) -> int:
    return (cell["spread"] or {}).get("n", 0)


def _state(cell: MeasuredCell) -> str:
    return "oversubscribed" if ran_oversubscribed(cell) else cell["state"].replace("_", " ")


def _transports(repeats: Sequence[Item]) -> Optional[str]:
    """Return what connected the ranks, or None where no repeat recorded it."""
    taken = {name for repeat in repeats for name in repeat.get("transport") or ()}
    return ", ".join(sorted(taken)) or None


def _own_factors(cell: MeasuredCell) -> Optional[str]:
    """Return the factors that the benchmark declares: ``sequence_length=128; sharding=ddp``."""
    own = own_values(cell)
    words = {True: "true", False: "false"}
    known = ((key, value) for key, value in own.items() if value is not None)
    values = ((key, words[value] if isinstance(value, bool) else value) for key, value in known)
    return "; ".join(f"{key}={value}" for key, value in values) or None


def _file_only(*keys: str) -> Iterator[Column]:
    for key in keys:
        yield Column(key, of(key), (CSV,))


CELL_COLUMNS: Tuple[Column, ...] = (
    *_file_only("benchmark", "model", "precision", "variant", "batch_size_per_device"),
    Column("topology", of("topology"), (REPORT, SPREAD, MODEL, CSV), "topology", always=True),
    Column("node_num", of("nodes"), (TERMINAL, REPORT, CSV), "node_num", always=True),
    Column("gpu_num", of("devices"), (TERMINAL, REPORT, CSV), "gpu_num", always=True),
    *_file_only("unit"),
    Column("average_speed", of("average_speed"), (SPREAD, CSV), "average", SPEED),
    Column(
        "median_speed",
        of("median_speed"),
        _EVERYWHERE,
        _SAMPLES,
        SPEED,
        always=True,
        metric="scalebench_throughput_samples_per_second",
        about="Median over the repeats of the throughput of all devices together.",
    ),
    Column(
        "interval",
        of("interval"),
        (REPORT,),
        "interval (coverage)",
        SPEED,
        show=_interval("interval"),
    ),
    Column(
        "speedup",
        of("speedup"),
        _EVERYWHERE,
        "speedup",
        "ratio",
        always=True,
        metric="scalebench_speedup_ratio",
        about="Throughput over that of one device, or of strong scaling's smallest topology.",
    ),
    Column(
        "speedup_interval",
        of("speedup_interval"),
        (REPORT,),
        "speedup interval (95 %)",
        "ratio",
        show=_interval("speedup_interval"),
    ),
    Column(
        "efficiency",
        of("efficiency"),
        _EVERYWHERE,
        "efficiency %",
        "share of ideal",
        factor=100,
        always=True,
        metric="scalebench_scaling_efficiency_ratio",
        about="Speed-up over the ideal one.",
    ),
    Column("minimum", of("spread", "minimum"), (SPREAD, CSV), "minimum", SPEED),
    Column("maximum", of("spread", "maximum"), (SPREAD, CSV), "maximum", SPEED),
    Column("sd", of("spread", "sd"), (SPREAD,), "standard deviation", SPEED),
    Column("cv", of("spread", "cv"), (TERMINAL, REPORT, CSV), "cv %", "ratio", factor=100),
    *(
        Column(
            f"interval_{bound}",
            of("interval", bound),
            (CSV, PROMETHEUS),
            unit=SPEED,
            metric="scalebench_throughput_interval_samples_per_second",
            about="Bounds of the interval of that median; 95 percent from six repeats on.",
            labels=(("bound", bound),),
        )
        for bound in ("low", "high")
    ),
    Column(
        "elapsed_throughput",
        of("elapsed", "median_speed"),
        (SPREAD, CSV),
        "by the steps' time",
        SPEED,
    ),
    Column(
        "wall_clock_throughput", of("wall_clock_throughput"), (SPREAD, CSV), "wall clock", SPEED
    ),
    *MODEL_COLUMNS,
    Column(
        "repeats",
        _count("repeats"),
        (TERMINAL, REPORT),
        "repeats",
        show=lambda cell: f"{_repeats_ok(cell)} of {cell['repeats_planned']}",
    ),
    Column("transport", lambda cell: _transports(cell["repeats"]), (REPORT, CSV), "transport"),
    *_file_only("oversubscribed"),
    Column("state", of("state"), (TERMINAL, REPORT, CSV), "state", show=_state, always=True),
    *_file_only("scaling", "global_batch_size", "repeats_planned"),
    Column("own_factors", _own_factors, (CSV,), known=True),
    Column("repeats_ok", _repeats_ok, (CSV,)),
    *(Column(f"repeats_{count_key(group)}", _count(group), (CSV,)) for group in groups()),
    Column("repeats_disturbed", _repeats_with("disturbances"), (CSV,)),
    Column("repeats_retried", _repeats_with("earlier"), (CSV,)),
    Column("invalid", lambda cell: "; ".join(one["detail"] for one in cell["invalid"]), (CSV,)),
)


def _events(repeat: Item) -> str:
    kinds = Counter(one["kind"].replace("_", " ") for one in repeat.get("disturbances", ()))
    events = [kind if count == 1 else f"{kind} ({count})" for kind, count in kinds.items()]
    events += [f"attempt {repeat['attempt']}"] if repeat.get("earlier") else []
    return ", ".join(events) or "-"


REPEAT_COLUMNS: Tuple[Column, ...] = (
    Column("topology", of("topology"), (REPORT,), "topology", always=True),
    Column("repeat", of("repeat"), (REPORT,), "repeat", always=True),
    Column("throughput", of("throughput"), (REPORT,), _SAMPLES, SPEED, always=True),
    Column("elapsed_throughput", of("elapsed_throughput"), (REPORT,), "by the steps' time", SPEED),
    Column("wall_clock_throughput", of("wall_clock_throughput"), (REPORT,), "wall clock", SPEED),
    Column(
        "half_width",
        of("within_run", "half_width"),
        (REPORT,),
        "within a run, ± % (95 %)",
        factor=100,
    ),
    Column("seconds", of("seconds"), (REPORT,), "seconds", "s"),
    Column("transport", lambda repeat: _transports([repeat]), (REPORT,), "transport"),
    Column("last_loss", of("loss", "last"), (REPORT,), "last loss"),
    Column(
        "ending",
        of("ending"),
        (REPORT,),
        "ending",
        show=lambda repeat: repeat["ending"].replace("_", " "),
        always=True,
    ),
    Column("events", _events, (REPORT,), "events"),
)


def columns_of(output: str, cells: Optional[Sequence[Item]] = None) -> List[Column]:
    """Return the columns of a cell that stand in an output, in order.

    :param cells: if given, without those that only stand where one of these has a value.
    """
    columns = [column for column in CELL_COLUMNS if output in column.outputs]
    if cells is None:
        return columns
    has = [any(column.get(cell) is not None for cell in cells) for column in columns]
    return [column for column, there in zip(columns, has) if there or not column.known]


def metrics() -> Dict[str, List[Column]]:
    """Return the columns of each Prometheus metric by its name."""
    known: Dict[str, List[Column]] = {}
    for column in columns_of(PROMETHEUS):
        known.setdefault(column.metric, []).append(column)
    return known


def throughput_title(cells: Sequence[MeasuredCell]) -> str:
    """Return the heading of throughputs: samples/s, or the unit of a benchmark with another."""
    units = [cell["unit"] for cell in cells if cell["unit"] not in _SAMPLE_UNITS]
    return plain(units[0], 20) if units else _SAMPLES


def cells_table(caption: str, cells: Sequence[MeasuredCell], output: str) -> Table:
    """Return a row for each cell of one group.

    :param output: TERMINAL, where the state stands only if there is something to say; REPORT,
        SPREAD or MODEL, which leave out columns without a value.
    """
    columns = columns_of(output, cells)
    if output == TERMINAL and all(_state(cell) == "measured" for cell in cells):
        columns = [column for column in columns if column.key != "state"]
    return _table(caption, columns, cells, throughput_title(cells), output == TERMINAL)


def repeats_table(cells: Sequence[MeasuredCell]) -> Table:
    """Return a row for each repeat of the cells of one group, recorded or still to run."""
    rows: List[Item] = []
    for cell in cells:
        rows += [{**repeat, "topology": cell["topology"]} for repeat in cell["repeats"]]
        rows += [
            {"topology": cell["topology"], "repeat": number, "ending": "not_run"}
            for number in cell["not_run"]
        ]
    shown = [column for column in REPEAT_COLUMNS if REPORT in column.outputs]
    return _table("All repeats", shown, rows, throughput_title(cells), False)


def _table(
    caption: str,
    columns: Sequence[Column],
    items: Sequence[Item],
    throughput: str,
    with_empty: bool,
) -> Table:
    titles = {
        column.key: throughput if column.title == _SAMPLES else column.title for column in columns
    }
    rows = [{titles[column.key]: column.shown(item) for column in columns} for item in items]
    always = [titles[column.key] for column in columns if column.always or with_empty]
    decimals = {titles[column.key]: column.decimals for column in columns}
    return table(caption, rows, filled(rows, always), decimals)
