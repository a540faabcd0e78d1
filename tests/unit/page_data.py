"""Results as report.html shows them: all that can happen to a campaign, and what is hostile."""

from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import campaign, disturbed, recorded

SCRIPT = "<script>window.hostile = true</script>"
IMAGE = "<img src=x onerror='window.hostile = true'>"
HOSTILE = f'"><{SCRIPT}{IMAGE}\x1b[31m{{{{ 7 * 7 }}}} $\\frac</title></style> _`x`'


def hostile_results():
    """Return results of which every text that can come from outside is hostile."""
    plan, _ = campaign({"1n1g": [10.0, 10.5], "2n1g": [19.0, 21.0]}, benchmark=HOSTILE)
    for cell in plan["cells"]:
        cell.update(variant=HOSTILE, model=HOSTILE, precision=HOSTILE, data=HOSTILE)
    one, two = plan["cells"]
    runs = [
        recorded(one, 1, 10.0, log=f"logs/{HOSTILE}.log", disturbances=disturbed(HOSTILE)),
        recorded(one, 2, 10.5),
        recorded(two, 1, None, ending="crashed", reason=HOSTILE, log=f"logs/2/{HOSTILE}.log"),
        recorded(two, 2, 19.0),
    ]
    for run in runs:
        if run["facts"]:
            run["facts"]["unit"] = HOSTILE
        argv = ["python", HOSTILE, "--x=1"]
        run["nodes"] = {HOSTILE: {"rank": 0, "argv": argv, "env": {"A": HOSTILE}, "strays": 1}}
    node = {"hostname": HOSTILE, "os": HOSTILE, "cpu_model": HOSTILE, "machine_id": HOSTILE}
    plan.update(campaign=HOSTILE, nodes={HOSTILE: node}, options={HOSTILE: HOSTILE})
    unmatched = [{"path": HOSTILE, "reason": HOSTILE}]
    return build_results(plan, runs, unmatched), plan, runs


def eventful_results():
    """Return results of a campaign with failures, an invalid cell, skipped and missing repeats."""
    plan, runs = campaign({"1n1g": [10.0, 10.4, 9.9], "2n1g": [19.0], "4n1g": [60.0, 61.0]})
    other, more = campaign({"1n1g": [30.0, 31.0], "2n1g": [50.0]}, precision="amp")
    cells = [*plan["cells"], *other["cells"]]
    cells[1]["repeats"] = 4
    crashed = recorded(cells[1], 2, None, ending="crashed", reason="node2: exit code 1: KeyError")
    skipped = recorded(cells[1], 3, None, ending="skipped", reason="a smaller batch did not fit")
    return build_results({**plan, "cells": cells}, [*runs, crashed, skipped, *more])
