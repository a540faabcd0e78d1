"""Compare predicted speed-ups with measured ones on four nodes whose links are shaped.

The nodes are network namespaces on a bridge, with an sshd each, that provision.yml and bench.yml
reach as servers without root. A node sends at the rate of its link (``tc tbf``) and has a part of a
core (cgroup), so that four together have what they have alone. Three models are trained on one, two
and four nodes, with all-reduces between them. The figures compared are those of ``predictions`` in
results.json: ``parts`` knows 1n1g and the all-reduces of the topology itself, ``left_out`` nothing
of four nodes. ``--strong`` trains the same batch on all topologies, and has the latter alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from shaped_nodes import Node, in_namespaces, run, start_nodes

TRAINING = {
    "benchmark": "pytorch,llama,bert,all_reduce",
    "framework_python": str(ROOT / ".state/venvs/pytorch/bin/python"),
}
SIZES = [4 << 20, 16 << 20, 64 << 20]
CLOSE = 0.10
_ROW = "{:>6} {:>10} {:>6} {:>9} {:>8} {:>9} {:>8} {}"
_TITLES = ("Mbit/s", "model", "", "kind", "measured", "predicted", "error", "interval of the step")


def start_sshd(node: Node, folder: Path) -> None:
    """Have a node be reached as a server."""
    options = ("UsePAM=no", "StrictModes=no", f"AuthorizedKeysFile={folder}/key.pub")
    given = [f"ListenAddress={node.address}", *options]
    sshd = ["/usr/sbin/sshd", "-D", "-f", "/dev/null", "-h", f"{folder}/key"]
    sshd += [word for option in given for word in ("-o", option)]
    subprocess.Popen([*node.limited, *sshd], stderr=subprocess.DEVNULL)


def write_inventory(folder: Path, nodes: list[Node]) -> Path:
    """Copy inventory/example with these nodes; return its path."""
    inventory = folder / "inventory"
    shutil.copytree(ROOT / "inventory/example", inventory)
    (inventory / "group_vars/nodes/stack.yml").unlink()
    hosts = {"hosts": {node.name: {"ansible_host": node.address} for node in nodes}}
    groups = {"nodes": hosts, "unprivileged_nodes": {"children": {"nodes": {}}}, "local_nodes": {}}
    (inventory / "hosts.yml").write_text(json.dumps(groups))
    unknown = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    own = {
        "ansible_user": "root",
        "ansible_python_interpreter": sys.executable,
        "scalebench_ssh_arguments": f"-F none -o IdentityFile={folder}/key {unknown}",
        "scalebench_state_dir": f"{folder}/state",
        "scalebench_work_dir": f"{folder}/nodes/{{{{ inventory_hostname }}}}",
        "scalebench_interface": "eth0",
        "scalebench_transport": "",
        "cluster_ssh_strict_modes": False,
        "campaign_benchmarks_dir": str(copy_benchmarks(folder)),
    }
    (inventory / "group_vars/nodes/zz_own.json").write_text(json.dumps(own))
    return inventory


def copy_benchmarks(folder: Path) -> Path:
    """Copy benchmarks/ with SIZES of all_reduce: as an option they would leave the training out."""
    copied = folder / "benchmarks"
    shutil.copytree(ROOT / "benchmarks", copied)
    path = copied / "all_reduce.yml"
    content = yaml.safe_load(path.read_text())
    content["recipes"]["portable"]["defaults"]["cpu"]["message_bytes"] = SIZES
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return copied


def bench(inventory: Path, folder: Path, rate: int, repeats: int, strong: int | None) -> dict:
    """Run a campaign; return its results.

    :param strong: global batch size; None: weak scaling.
    """
    name = f"rate{rate}{'-strong' if strong else ''}"
    variables = {
        **TRAINING, "topology": "1n1g,2n1g,4n1g", "repeats": repeats, "warmup": 2,
        "iterations": 8, "campaign": name, "cell_timeout": 3600,
        "campaign_results_dir": str(folder),
    }  # fmt: skip
    if strong:
        variables.update(scaling="strong", global_batch_size=strong)
    run(
        "ansible-playbook", "-i", str(inventory), "playbooks/bench.yml", "-e", json.dumps(variables)
    )
    return json.loads((folder / name / "results.json").read_text())


def print_rows(rate: int, results: dict) -> list[tuple[float, bool]]:
    """Print each prediction beside what was measured.

    :return: the errors, and whether the measured step is within the interval, which one repeat
        does not give.
    """
    found = []
    for group in results["predictions"]["groups"]:
        for row in group["rows"]:
            if row["kind"] == "parts" and group["scaling"] == "strong":
                # It takes one device with the batch of each of several.
                continue
            if row["error"] is None:
                raise SystemExit(f"{group['benchmark']} {row['topology']}: {row['reason']}")
            step, interval, within = row["step_seconds"], "", False
            if row["step_high"]:
                within = row["step_low"] <= step * (1 + row["error"]) <= row["step_high"]
                interval = f"±{row['step_high'] / step - 1:.1%}{'' if within else ' (out)'}"
            found.append((row["error"], within))
            figures = (
                f"{row['measured_speedup']:.3f}",
                f"{row['speedup']:.3f}",
                f"{row['error']:+.1%}",
                interval,
            )
            which = (rate, group["benchmark"], row["topology"], row["kind"])
            print(_ROW.format(*which, *figures), flush=True)
    return found


def main() -> None:
    """Start itself again in namespaces of its own, then the nodes, then a campaign per rate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rates", type=int, nargs="+", default=[100, 500, 2000], help="Mbit/s")
    parser.add_argument("--cores", type=float, default=0.4, help="of a node; default 0.4")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--strong", type=int, metavar="BATCH", help="strong scaling of this batch")
    parser.add_argument("--models", help="benchmarks; default pytorch,llama,bert")
    parser.add_argument("--results", type=Path, help="folder to keep the results in")
    options = parser.parse_args()
    if options.models:
        TRAINING["benchmark"] = f"{options.models},all_reduce"
    if os.geteuid():
        print("Not root: predicted speed-ups are not compared with measured ones")
        return
    in_namespaces()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        Path("/run/sshd").mkdir(exist_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/key")
        nodes = start_nodes(4, options.cores)
        for node in nodes:
            start_sshd(node, folder)
        inventory = write_inventory(folder, nodes)
        run("ansible-playbook", "-i", str(inventory), "playbooks/provision.yml",
            "-e", json.dumps(TRAINING))  # fmt: skip
        print(_ROW.format(*_TITLES))
        found = []
        kept = (options.results or folder / "results").resolve()
        for rate in options.rates:
            for node in nodes:
                node.shape_all(rate)
            results = bench(inventory, kept, rate, options.repeats, options.strong)
            found += print_rows(rate, results)
        close = sum(abs(error) <= CLOSE for error, _ in found)
        within = sum(within for _, within in found)
        print(f"{close} of {len(found)} within {CLOSE:.0%}, {within} within their interval")


if __name__ == "__main__":
    main()
