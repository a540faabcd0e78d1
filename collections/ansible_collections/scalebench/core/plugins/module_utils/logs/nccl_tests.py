"""The tables of NVIDIA's nccl-tests: one line for each size, with the mean of its operations.

Since 2.17.3 they write JSON too (``--output_file``), which becomes such a table, with the durations
in full. Of a line the out-of-place columns are read. The bus bandwidth is printed in GB/s with two
decimals, which is nothing at 1 KiB, so it is reckoned from the time where the operation is known.
"""

from __future__ import annotations

import re

from ..records.shape import parse_json
from ._columns import LIMIT, Observations
from ._format import NUMBER, Format, fields, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping


__all__ = ["BUSBW_FACTORS", "FORMAT", "as_table"]

# In characters; the document of 1,000 ranks has a few 100,000.
_LONGEST_DOCUMENT = 1 << 23
# Bus bandwidth over algorithm bandwidth on n ranks: doc/PERFORMANCE.md of nccl-tests.
BUSBW_FACTORS: Dict[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1.0,
    "sendrecv": lambda ranks: 1.0,
}
_TYPES = (
    *("int8", "uint8", "int32", "uint32", "int64", "uint64", "half", "float", "double"),
    *("bfloat16", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"),
)
# Size, count and type; then the reduction and the root, each in the operations that have it, and
# before 2.12 in no others; time, algorithm bandwidth, bus bandwidth and what was wrong. A time
# without decimals has five digits or more, a root has fewer.
_ROW = (
    rf"(?P<size>[1-9]\d{{0,14}}) +\d{{1,15}} +(?:{'|'.join(_TYPES)})(?: +[a-z]{{3,6}})?"
    rf"(?: +-?\d{{1,4}})? +(?P<time>{NUMBER}) +{NUMBER} +(?P<throughput>{NUMBER})"
    rf" +(?:{NUMBER}|N/A)(?= |$)"
)
_LINE = re.compile(rf"^[^\n]{{0,120}}? {_ROW}", re.MULTILINE)
_WRONG = re.compile(r"# Out of bounds values +: (\d{1,12}) FAILED")
_RANK = re.compile(r"#  *Rank +\d+ .{0,80}? on +(\S+) +device +\d+ \[[^\]\n]{1,20}\] ([^\n]{1,80})")
_SETTINGS = {
    "collective": ("starting: ", r"# Collective test starting: (\w{1,40})_perf", str),
    "message_bytes": ("minBytes", r"minBytes (\d{1,15}) maxBytes \1 ", int),
    "warmup": ("warmup iters", r"warmup iters: (\d{1,9}) ", int),
    "iterations": (" iters: ", r" iters: \d{1,9} iters: (\d{1,9}) ", int),
    "nccl": ("nccl-library", r"nccl-library=(\d{4,6})", int),
}


def as_table(blocks: Iterable[str]) -> Iterator[str]:
    """Yield the blocks of a log; those of a JSON document of nccl-tests as one, the table of it.

    Of the document, versions 1 to 3, arguments, configuration, devices and results are used, not
    the environment, which it holds whole.

    :raises ValueError: it cannot be read, such as one that was cut off.
    """
    ahead = iter(blocks)
    for block in ahead:
        if not block.startswith('{"version":') or '"nccl_version":' not in block:
            yield block
            continue
        text = _joined(block, ahead)
        try:
            yield "\n".join(_table(parse_json(text))) + "\n"
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise ValueError(
                f"JSON of nccl-tests that cannot be read, perhaps cut off: {error!r}"
            ) from None


def _joined(block: str, ahead: Iterator[str]) -> str:
    pieces, size = [block], len(block)
    for piece in ahead:
        size += len(piece)
        if size > _LONGEST_DOCUMENT:
            raise ValueError(f"JSON of nccl-tests of more than {_LONGEST_DOCUMENT >> 20} MiB")
        pieces.append(piece)
    return "".join(pieces)


def _table(document: Mapping[str, Any]) -> List[str]:
    """Return the lines of the table that the program prints beside the document."""
    config, last = document["config"], document.get("out_of_bounds")
    code, program = document["nccl_version"], str(document["args"][0]).rpartition("/")[2]
    words = [
        f"# nccl-tests version JSON nccl-headers={code} nccl-library={code}",
        f"# Collective test starting: {program}",
        f"# nThread {config['nthreads']} nGpus {config['ngpus']} minBytes {config['minimum_bytes']}"
        f" maxBytes {config['maximum_bytes']} step: {config.get('step_factor', 1)}"
        f" warmup iters: {config['warmup_iters']} iters: {config['iterations']}"
        f" agg iters: {config['aggregated_iterations']} validation: {config['validation']} ",
        *(
            f"#  Rank {one['rank']} Group {one['group']} Pid {one['pid']} on {one['hostname']}"
            f" device {one['device']} [{one['device_hex']}] {one['device_info']}"
            for one in config["devices"]
        ),
        *map(_row, document["results"]),
    ]
    if last:
        words += [f"# Out of bounds values : {last['count']} {_state(last['okay'])}"]
        words += [f"# Avg bus bandwidth : {document['average_bus_bandwidth']['bandwidth']}"]
    # A line end in a name must not make a line of its own.
    return [" ".join(line.split()).replace("# Rank", "#  Rank") for line in words]


def _state(okay: object) -> str:
    return "OK" if okay == "true" else "FAILED"


def _row(result: Mapping[str, Any]) -> str:
    body = result.get("out_of_place") or result["in_place"]
    time, wrong = body.get("time", body.get("cpu_time")), body["nwrong"]
    named = f"{result['redop']} {result['root']}"
    figures = f"{time} {body['alg_bw']} {body['bus_bw']} {'N/A' if wrong is None else int(wrong)}"
    return f"# JSON {result['size']} {result['count']} {result['type']} {named} {figures} "


def _identify(head: str) -> Dict[str, Any]:
    """Return the settings that the first lines state; each rank has a line."""
    ranks = _RANK.findall(head)
    settings = fields(head, _SETTINGS)
    if "iterations" in settings:
        settings["steps_per_line"] = settings["iterations"]
    if ranks:
        settings.update(
            device="gpu",
            world_size=len(ranks),
            nodes=len({host for host, _ in ranks}),
            device_name=ranks[0][1].strip(),
        )
    return settings


def _note(text: str, summary: Dict[str, Any]) -> None:
    """Add size and time of each line to ``rows``, and the number of tests with wrong values."""
    rows = summary.setdefault("rows", [])
    for size, time, _ in _LINE.findall(text)[: LIMIT - len(rows)]:
        rows.append((int(size), number(time)))
    for wrong in _WRONG.findall(text):
        summary["wrong"] = int(wrong)


def _finish(run: Dict[str, Any], observations: Observations) -> None:
    """Reckon the bus bandwidths in MB/s, and ``message`` where all lines have one size."""
    identity, summary = run["identity"], run["summary"]
    rows = summary.pop("rows", [])
    wrong = summary.pop("wrong", 0)
    if wrong and run["ending"]["kind"] == "complete":
        run["ending"] = {"kind": "traceback", "detail": f"wrong values, {wrong} times"}
    rates = observations.column("throughput")
    if rates is None:
        return
    places = range(run["first"], run["first"] + run["count"])
    for at in places:
        rates[at] *= 1000
    name, ranks = identity.get("collective"), identity.get("world_size")
    if name not in BUSBW_FACTORS or not ranks or len(rows) != len(places):
        return
    factor = BUSBW_FACTORS[name](ranks)
    for at, (size, time) in zip(places, rows):
        if time and time > 0:
            rates[at] = size / time * factor  # bytes per us are MB/s
    if factor and len({size for size, _ in rows}) == 1:
        own = {"collective": name, "bytes": rows[0][0], "busbw_factor": factor}
        summary["message"] = own


FORMAT = Format(
    name="nccl_tests",
    unit="MB/s",
    source="NVIDIA/nccl-tests, src/common.cu and src/util.cu of 2.0.0, 2.10.1, 2.13.8, 2.18.3 and"
    " 2.19.6, and output in its issues 71, 107, 128 and 214",
    needles=tuple(f" {name} " for name in _TYPES),
    observation=r"[^\n]{0,120}? " + re.sub(r"\?P<(?!throughput)\w+>", "?:", _ROW),
    signature=r"nThread \d+ nGpus \d+ minBytes \d+ maxBytes \d+ step: ",
    start=("# nThread ",),
    end=("# Avg bus bandwidth",),
    spans=True,
    whole=True,
    identify=_identify,
    notes=tuple(f" {name} " for name in (*_TYPES, "values")),
    note=_note,
    finish=_finish,
)
