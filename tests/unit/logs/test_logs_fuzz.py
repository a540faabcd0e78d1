"""Mutated logs: nothing but a reading or a ValueError that names the file and the cause.

``SCALEBENCH_FUZZ=200000`` runs that many mutations; a few hundred by default.
"""

from __future__ import annotations

import json
import math
import os
import random
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.module_utils.logs._engine import BLOCK, Engine
from ansible_collections.scalebench.core.plugins.module_utils.records.runs import Identity, LogEnd
from ansible_collections.scalebench.core.plugins.module_utils.records.shape import (
    MEASURED,
    check_plain,
)
from cpu_time import check_proportion
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from log_lines import LINE, lines

COUNT = int(os.environ.get("SCALEBENCH_FUZZ", "400"))
FIXTURES = Path(__file__).parents[2] / "fixtures" / "logs"
SEEDS = [path.read_bytes() for path in sorted(FIXTURES.glob("*.log"))]
SEEDS += ["".join(lines(name, 12)).encode() for name in sorted(LINE)]
SEEDS += [
    b"".join(f"[1,{n % 3}]<stderr>:{line}".encode() for n, line in enumerate(lines(name, 9)))
    for name in sorted(LINE)
]
SUMMARY = (*LogEnd.__annotations__, "evaluations", "message", "rows", "table", "waits")
SPLINTERS = [
    *(
        word.encode()
        for format_ in logs.READERS.values()
        for word in (*format_.needles, *format_.start, *format_.end)
    ),
    b"\n",
    b"\r",
    b"\r\n",
    b"\0",
    b"\x1b[31m",
    b"\x1b]0;t\x07",
    b"\xff\xfe",
    b"\xf0\x9f",
    b"\b\b",
    b"[1,0]<stdout>:",
    b"[1,",
    b"]<stderr>:",
    b"DLL ",
    b"DLL 2",
    b" : ",
    b"nan",
    b"inf",
    b"-",
    b"1e999",
    b"1e300",
    b"-1e300",
    b"1e-300",
    b"9" * 190,
    "\N{SUPERSCRIPT TWO}".encode(),
    b"9" * 40,
    b"1.2.3",
    b"--",
    b"e",
    b".",
    b",",
    b"0",
    b"Traceback (most recent call last):\n",
    b"CUDA out of memory",
    b"Killed",
    b"Namespace(",
    b")",
    b"{",
    b"}",
    b"[",
    b"]",
    b"|",
    b"---------\n",
    b"train.ips\n",
    b"     8     |    nan    |\n",
    b"PARAMETER ",
    b"Summary: ",
    b"AI-Rank-log 1618132412.171 ",
    b"2020-99-99 99:99:99",
    b"END epoch:",
    b"Run stats:",
    b'{"a":' * 50,
]


def check(data: bytes) -> None:
    """Read and reckon; only a ValueError that names the log may come out, and no NaN."""
    try:
        reading = logs.read(data, name="the.log")
        facts = log_facts(reading, "auto", path="the.log", target_accuracy=50, observations=True)
    except ValueError as error:
        assert str(error).startswith("the.log: "), error
        assert len(str(error)) > len("the.log: ")
        assert not isinstance(error, logs.UnforeseenError), error
        return
    assert reading["reader"] in logs.READERS
    check_plain({**facts, "observations": []}, largest=MEASURED)
    text = json.dumps(facts, allow_nan=False)
    assert json.loads(text)["reader"] == reading["reader"]
    assert facts["throughput"] is None or math.isfinite(facts["throughput"])
    assert facts["reason"] if facts["throughput"] is None else True
    assert sum(run["count"] for run in reading["runs"]) == len(reading["observations"])


def mutate(choose: random.Random, data: bytes) -> bytes:
    """Return the data with a few changes: bytes, splinters, cuts, copies, joins, numbers."""
    found = bytearray(data)
    for _ in range(choose.randint(1, 6)):
        at = choose.randrange(len(found) + 1)
        end = min(len(found), at + choose.randint(0, 60))
        kind = choose.randrange(8)
        if kind == 0:
            found[at:at] = choose.choice(SPLINTERS)
        elif kind == 1:
            found[at:end] = b""
        elif kind == 2:
            found[at:end] = choose.choice(SPLINTERS)
        elif kind == 3 and found:
            at = choose.randrange(len(found))
            found[at] = choose.randrange(256)
        elif kind == 4:
            found = found[:at]
        elif kind == 5:
            found[at:at] = found[at:end] * choose.randint(1, 30)
        elif kind == 6:
            other = choose.choice(SEEDS)
            start = choose.randrange(len(other))
            found[at:at] = other[start : start + choose.randint(1, 300)]
        else:
            digits = [n for n in range(len(found)) if 48 <= found[n] < 58]
            if digits:
                at = choose.choice(digits)
                found[at : at + choose.randint(1, 6)] = choose.choice(SPLINTERS)
    return bytes(found)


@pytest.mark.parametrize("part", range(8))
def test_mutated_logs(part):
    choose = random.Random(part)
    for number in range(COUNT // 8):
        data = mutate(choose, choose.choice(SEEDS))
        try:
            check(data)
        except Exception as error:
            error.add_note(f"part {part}, mutation {number}: {data!r}")
            raise


@settings(max_examples=max(50, COUNT // 8), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(SPLINTERS) | st.binary(max_size=20), max_size=30))
def test_splinters_in_any_order(parts):
    check(b"".join(parts))


@settings(max_examples=max(50, COUNT // 8), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(max_size=300), st.sampled_from(sorted(LINE)), st.integers(0, 200))
def test_any_text_in_any_place_of_a_log(text, name, at):
    log = "".join(lines(name, 5))
    check((log[:at] + text + log[at:]).encode("utf-8", "surrogatepass"))


OWN = "".join(lines("scalebench", 40))
NGC = "".join(lines("pytorch_ngc", 40))
DLL = "DLL 2020-11-05 12:00:00.0 - "
NINES = "9" * 190
DIMENSIONS = ("parameters", "layers", "hidden", "sequence_length", "vocabulary")


def header(settings) -> str:
    return f"[scalebench] header {json.dumps(settings)}\n"


@pytest.mark.parametrize(
    "log",
    [
        *(
            header({"batch_size_per_device": 10**12, "own_factors": {name: value}}) + OWN
            for name in (*Identity.__annotations__, "ranks_seen", "steps_per_line", "sharding")
            for value in ("x", -5)
        ),
        *(
            header({}) + OWN.replace("51.50", size).replace("52.50", f"-{size}")
            for size in ("1e300", "1e155", "1e-300")
        ),
        *(f"{NGC}{DLL}Summary: {name} : 5\n{DLL}Epoch: 0 val.top1 : 0.7\n" for name in SUMMARY),
        f"{NGC}{DLL}Epoch: 0 val.top1 : -1e308\n",
        f"{NGC}{DLL}Summary: train.total_ips : 1e300\n",
        f"{DLL}PARAMETER batch_size : {NINES}  world_size : {NINES}\n{NGC}",
        f"{DLL}PARAMETER batch_size : \N{SUPERSCRIPT TWO}\n{NGC}",
        f"{DLL}PARAMETER batch_size : {NINES}{NINES}  iter_unit : epoch\nNum GPUs: 8\n"
        "Steps per Epoch: 5004.0\n" + "".join(lines("tensorflow_ngc_train", 40)),
        f"batch_size_per_device = {NINES}\nnum_nodes = {NINES}\ngpu_num_per_node = 8\n"
        + "".join(lines("oneflow", 40)),
        f"batch_size : {NINES}\nselected_gpus : 0,1\n" + "".join(lines("paddle_fluid", 40)),
        *(
            header({"model": {"name": "m", **dict.fromkeys(DIMENSIONS, size)}}) + OWN
            for size in (10**29, 10**59)
        ),
    ],
    ids=lambda log: log[:90].replace(NINES, "9..."),
)
def test_what_nobody_measured_is_no_figure(log):
    check(log.encode())


def test_a_factor_of_a_benchmark_does_not_stand_for_what_logs_state():
    own = {"nccl": "2.4", "world_size": "x", "sharding": "fsdp"}
    identity = logs.read(header({"nccl": "2.19", "seed": 2**127, "own_factors": own}) + OWN)[
        "identity"
    ]
    assert (identity["nccl"], identity["sharding"]) == ("2.19", "fsdp")
    assert "world_size" not in identity


@pytest.mark.parametrize(
    "head",
    [
        lambda n: "sampler : x\n" + "Train : " * 500 * n + "\n" + ("a" * 300 * n + "\n") * 10,
        lambda n: "TRAIN : " * 1000 * n + "\n",
        lambda n: "name : x\n" + "Arch : " * 500 * n + "\n" + ("a" * 300 * n + "\n") * 10,
    ],
    ids=["sampler", "batch size", "architecture"],
)
def test_settings_that_never_end_take_time_in_proportion(head):
    log = "".join(lines("paddleclas", 3))
    short, long = ([(log + head(count) + log).encode()] for count in (4, 16))
    check_proportion(check, short, long)


def test_a_second_line_that_never_comes_is_not_waited_for():
    engine = Engine(logs.READERS["tensorflow_ngc_nvlog"], 10, {})
    engine.feed(LINE["tensorflow_ngc_nvlog"](1).split("\n")[0] + "\n")
    for _ in range(4):
        engine.feed("something else\n" * (BLOCK // 15))
        assert len(engine.held) <= BLOCK


@pytest.mark.parametrize("name", sorted(LINE))
@pytest.mark.parametrize(
    "repeated",
    [
        *(b"DLL 2020-01-01 00:00:00 - ", b"[1,0]<stdout>:", b"ips: ", b"1", b" ", b"Namespace("),
        b"DLL 2020-01-01 00:00:00.0 - PARAMETER " + b" " * 20_000,
    ],
    ids=lambda repeated: repeated[:24].decode(),
)
def test_long_lines_take_time_in_proportion(name, repeated):
    start = "".join(lines(name, 3)).encode()
    head = start + start[: len(start) // 2]
    short, long = (
        [head + repeated * (size // len(repeated)) + b"\n" + start] for size in (20_000, 80_000)
    )
    check_proportion(check, short, long)


def test_what_nobody_thought_of_costs_only_the_log_and_is_ours(monkeypatch):
    reading = logs.read("".join(lines("scalebench", 150)))
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "reading", lambda _self: 1 / 0)
        with pytest.raises(logs.UnforeseenError, match=r"the.log: Scalebench .* at logs/\w+.py:\d"):
            logs.read(OWN, name="the.log")
    reading["runs"][0]["summary"]["message"] = 5
    with pytest.raises(logs.UnforeseenError, match=r"report TypeError.* at facts/facts.py:\d"):
        log_facts(reading, path="the.log")
