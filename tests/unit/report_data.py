"""Campaigns as a report sees them: plans and run records of given speeds."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Reference effort 004, fp32, batch 128: the speeds that it prints for every run.
REFERENCE_004 = {
    "1n1g": [354.32, 352.08, 354.71, 353.04, 352.39, 352.07],
    "1n2g": [661.22, 637.27, 641.5, 648.13, 621.58, 647.83],
    "1n4g": [1353.06, 1354.14, 1361.98, 1363.45, 1357.79, 1359.48],
    "1n8g": [2612.02, 2636.74, 2624.97, 2624.23, 2634.72, 2625.79],
    "2n8g": [4894.51, 4892.93, 4906.09, 4919.23, 4896.04, 4882.73],
    "4n8g": [9256.12, 9353.71, 9349.71, 9359.18, 9306.93, 9346.64],
}
# … and what it prints at the end: average, median, speed-up.
PRINTED_004 = {
    "1n1g": (353.1, 352.72, 1.0),
    "1n2g": (642.92, 644.66, 1.83),
    "1n4g": (1358.32, 1358.64, 3.85),
    "1n8g": (2626.41, 2625.38, 7.44),
    "2n8g": (4898.59, 4895.27, 13.88),
    "4n8g": (9328.72, 9348.17, 26.5),
}


def cell(topology, repeats=3, **changes):
    """Return one cell of a plan."""
    nodes, devices = (int(part) for part in topology[:-1].split("n"))
    base = {
        "benchmark": "pytorch",
        "model": "r50",
        "precision": "fp32",
        "variant": "bz4",
        "batch_size_per_device": 4,
        "topology": topology,
        "nodes": nodes,
        "devices_per_node": devices,
        "repeats": repeats,
    }
    return {**base, **changes}


def run(of, repeat, throughput, **changes):
    """Return one run record; without a throughput it has no facts."""
    facts = None
    if throughput is not None:
        facts = {
            "throughput": throughput,
            "unit": "images/s",
            "reader": "scalebench",
            "count": 100,
            "wall_clock_throughput": throughput * 0.99,
            "strategy": {"name": "mean_after_warmup", "parameters": {"warmup": 20}},
        }
    base = {
        "cell": of,
        "repeat": repeat,
        "log": f"logs/{of['topology']}/{repeat}.log",
        "ending": "ok",
        "reason": "",
        "seconds": 9.0,
        "oversubscribed": False,
        "facts": facts,
    }
    return {**base, **changes}


def recorded(of, repeat, throughput, **changes):
    """Return one run record of schema 2, as a campaign that may pack and retry writes it."""
    base = {
        "schema": 2,
        "recorded": f"2026-11-21T06:00:{repeat:02}+00:00",
        "kind": "measured",
        "attempt": 1,
        "why": "",
        "packed_with": [],
        "shares_machine": False,
        "disturbances": [],
        "nodes": {},
    }
    return run(of, repeat, throughput, **{**base, **changes})


def disturbed(node="node2", kind="other_process", detail="a process took 9.7 CPU seconds"):
    """Return what ``disturbances.find`` says of one disturbance."""
    return [{"kind": kind, "node": node, "detail": detail}]


def campaign(speeds, **changes):
    """Return plan and records of {topology: speeds of the repeats}; ``changes`` to every cell."""
    cells = [cell(topology, len(values), **changes) for topology, values in speeds.items()]
    runs = [
        run(of, index, value)
        for of in cells
        for index, value in enumerate(speeds[of["topology"]], 1)
    ]
    return {"campaign": "mine", "cells": cells, "options": {}, "nodes": {}}, runs


def treated(of, repeats=10, topology="1n1g", variants=None):
    """Return plan and records of {treatment: speeds}; a speed of None is a repeat that crashed."""
    cells, runs = [], []
    for treatment, speeds in of.items():
        made = cell(topology, repeats, treatment=treatment, variant=f"bz4-{treatment}")
        made.update(directory=f"pytorch/bz4-{treatment}/{topology}", name="r50_b4_fp32")
        cells.append(made)
        for number, speed in enumerate(speeds, 1):
            ending = {} if speed else {"ending": "crashed", "reason": "x"}
            log = f"logs/{made['directory']}/{number}.log"
            runs.append({**run(made, number, speed, **ending), "log": log})
    return {"campaign": "c", "cells": cells, "variants": variants or {}, "seed": "s"}, runs


def waits_of(step, seconds, every=2, **more):
    """Return what ranks report of a step of `step` s: `seconds` has the waits of each, in order."""
    return [
        {
            "rank": rank,
            "node": f"node{rank + 1}",
            "every": every,
            "step_seconds": step,
            "wait_seconds": [*own],
            **more,
        }
        for rank, own in enumerate(seconds)
    ]


def documented_rows(document, heading):
    """Return the rows of the first table below a heading, each a list of its cells."""
    section = (ROOT / "docs" / document).read_text().split(f"## {heading}\n", 1)[1]
    lines = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE).group().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
