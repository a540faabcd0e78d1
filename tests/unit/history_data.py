"""Campaigns one after the other, as their results.json files hold them."""

import json
import random
from datetime import datetime, timedelta

from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import campaign

START = datetime(2026, 9, 1, 2, 30)


def node(driver="535.54", **changes):
    """Return the fingerprint of one node."""
    gpu = {"index": 0, "name": "Tesla V100", "driver_version": driver}
    return {"cores": 40, "cpu_model": "Xeon", "kernel": "5.4", "gpus": [gpu], **changes}


def results_of(day, speeds, driver="535.54", name=None, **of_cells):
    """Return the results of the campaign of a day: {topology: speeds of the repeats}."""
    plan, runs = campaign(speeds, node_names=["node1"], device="gpu", **of_cells)
    plan.update(
        campaign=name or f"c{day:02}",
        created=(START + timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        nodes={"node1": node(driver)},
    )
    return json.loads(json.dumps(build_results(plan, runs)))


def nightly(levels, drivers=None, seed=1, noise=0.01, **of_cells):
    """Return one campaign a day, of three repeats each, around the given levels of 1n1g."""
    chance = random.Random(seed)
    found = []
    for day, level in enumerate(levels):
        centre = chance.gauss(level, noise * level)
        speeds = [round(centre * (1 + step / 1000), 2) for step in (-1, 0, 1)]
        driver = drivers[day] if drivers else "535.54"
        found.append(results_of(day, {"1n1g": speeds}, driver, **of_cells))
    return found
