"""A campaign by Slurm, as a user, is the campaign by ssh: the same plan and the same records.

The ranks are stand-ins that wait (``tests/benchmarks/workloads/fixed_time.py``), so that what the
trainer says of its speed is the same too.
"""

import json
import re
import subprocess
from fnmatch import fnmatch

import slurm_cluster as slurm

OPTIONS = {
    "topology": "1n1g,2n1g,4n1g",
    "repeats": 2,
    # As inventory/testbed has it.
    "scalebench_interface": "eth0",
}
# What may differ. The controllers are the login node, which has no ssh settings of nodes and no
# checkout, and this machine; a node's sshd says its name only once provision.yml was there.
# What a node can start by srun is of the carrier.
CONTROLLER = ["/controller/*", "/settings/*/ssh_config", "/settings/*/sources_dir", "/nodes/*/node"]
PLAN = [
    *("/carrier", "/settings/*/slurm/*", "/created", "/nodes/*/load", "/nodes/*/disk_free_mib"),
    *CONTROLLER,
]
RECORD = [
    *("/session", "/recorded", "/started", "/seconds", "/nodes/*/started", "/nodes/*/seconds"),
    *("/nodes/*/telemetry/*", "/disturbances", "/disturbances/*", "/facts/logs/*/path"),
    *CONTROLLER,
]


def leaves(value, path=""):
    """Yield path and value of all that is no container; empty containers count as values."""
    if not value or not isinstance(value, (dict, list)):
        yield path, value
        return
    for key, below in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(below, f"{path}/{key}")


def differing(one, other):
    """Return the paths at which two documents differ, with * for a node or a place in a list."""
    one, other = dict(leaves(one)), dict(leaves(other))
    paths = {path for path in {*one, *other} if one.get(path, "none") != other.get(path, "none")}
    return {re.sub(r"/(node[1-4]|\d+)(?=/|$)", "/*", path) for path in paths}


def unlike(one, other, patterns):
    """Return the paths at which two documents differ and may not."""
    found = differing(one, other)
    return {path for path in found if not any(fnmatch(path, pattern) for pattern in patterns)}


def read(folder):
    """Return the plan of a campaign, and its records by their paths."""
    records = {
        str(path.relative_to(folder)): json.loads(path.read_text())
        for path in (folder / "logs").rglob("*.run.json")
    }
    return json.loads((folder / "plan.json").read_text()), records


def test_plan_and_records_differ_in_carrier_and_times_only(tmp_path):
    slurm.install(seconds=2)
    subprocess.run(slurm.bench("same", OPTIONS), check=True, stdin=subprocess.DEVNULL)
    subprocess.run(slurm.bench_by_ssh("same", tmp_path, OPTIONS), check=True, cwd=slurm.ROOT)
    by_slurm, slurm_records = read(slurm.HOME / "scalebench/results/same")
    by_ssh, ssh_records = read(tmp_path / "same")
    assert by_slurm["cells"] == by_ssh["cells"]
    assert unlike(by_slurm, by_ssh, PLAN) == set()
    assert {*slurm_records} == {*ssh_records} and len(slurm_records) == 6
    for name, record in slurm_records.items():
        assert record["ending"] == "ok"
        assert unlike(record, ssh_records[name], RECORD) == set(), name
