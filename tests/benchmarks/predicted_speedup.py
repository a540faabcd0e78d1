"""Compare predicted speed-ups with measured ones on four nodes whose links are shaped.

The nodes are network namespaces on a bridge, with an sshd each, that provision.yml and bench.yml
reach as servers without root. A node sends at the rate of its link (``tc tbf``) and has a part of a
core (cgroup), so that four together have what they have alone. Three models are trained on one, two
and four nodes, with all-reduces between them. The figures compared are those of ``predictions`` in
results.json: ``parts`` knows 1n1g and the all-reduces of the topology itself, ``left_out`` nothing
of four nodes.
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
CGROUPS = Path("/sys/fs/cgroup")
# Both are of this cgroup's scheduler alone: a period short beside a step.
PERIOD_US = 10_000
WEIGHT = 10_000
NAMESPACES = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
NODES = {f"node{number}": f"10.98.0.{number}" for number in range(1, 5)}
TRAINING = {
    "benchmark": "pytorch,llama,bert,all_reduce",
    "framework_python": str(ROOT / ".state/venvs/pytorch/bin/python"),
}
SIZES = [4 << 20, 16 << 20, 64 << 20]
CLOSE = 0.10
_ROW = "{:>6} {:>10} {:>6} {:>9} {:>8} {:>9} {:>8}"
_TITLES = ("Mbit/s", "model", "", "kind", "measured", "predicted", "error")


def run(*command: str) -> None:
    """Run a command.

    :raises SystemExit: it failed; with the end of its output.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        said = (done.stdout + done.stderr)[-3000:]
        raise SystemExit(f"{' '.join(command)[:200]} failed:\n{said}")


def limit_cores(node: str, cores: float) -> Path:
    """Return the file to which a process writes its pid to have so many cores, at every load."""
    old = CGROUPS / "cpu"
    folder = (old if old.is_dir() else CGROUPS) / f"scalebench-{os.environ['OUTER_PID']}-{node}"
    folder.mkdir()
    quota = int(cores * PERIOD_US)
    if old.is_dir():
        (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (folder / "cpu.cfs_quota_us").write_text(str(quota))
        (folder / "cpu.shares").write_text(str(WEIGHT))
    else:
        (folder / "cpu.max").write_text(f"{quota} {PERIOD_US}")
        (folder / "cpu.weight").write_text(str(WEIGHT))
    return folder / "cgroup.procs"


def start_node(name: str, address: str, folder: Path, cores: float) -> tuple[str, ...]:
    """Start a namespace with an sshd; return the command that runs another in it."""
    holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    own = Path("/proc/self/ns/net").readlink()
    while Path(f"/proc/{holder.pid}/ns/net").readlink() == own:
        pass
    inside = ("nsenter", "--target", str(holder.pid), "--net")
    run("ip", "link", "add", f"port-{name}", "type", "veth", "peer", "name", "eth0",
        "netns", str(holder.pid))  # fmt: skip
    run("ip", "link", "set", f"port-{name}", "master", "bridge0", "up")
    run(*inside, "ip", "link", "set", "lo", "up")
    run(*inside, "ip", "address", "add", f"{address}/24", "dev", "eth0")
    run(*inside, "ip", "link", "set", "eth0", "up")
    procs = limit_cores(name, cores)
    options = ("UsePAM=no", "StrictModes=no", f"AuthorizedKeysFile={folder}/key.pub")
    sshd = [
        "/usr/sbin/sshd",
        "-D",
        "-f",
        "/dev/null",
        "-h",
        f"{folder}/key",
        "-o",
        f"ListenAddress={address}",
    ]
    for option in options:
        sshd += ["-o", option]
    script = 'echo $$ > "$0" && exec "$@"'
    subprocess.Popen(
        [*inside, "sh", "-c", script, str(procs), *sshd],
        stderr=subprocess.DEVNULL,
    )
    return inside


def write_inventory(folder: Path) -> Path:
    """Copy inventory/example with these nodes; return its path."""
    inventory = folder / "inventory"
    shutil.copytree(ROOT / "inventory/example", inventory)
    (inventory / "group_vars/nodes/stack.yml").unlink()
    hosts = {"hosts": {name: {"ansible_host": address} for name, address in NODES.items()}}
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


def shape(inside: tuple[str, ...], rate: int) -> None:
    """Have a node send at most so many Mbit/s."""
    run(*inside, "tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", f"{rate}mbit",
        "burst", "256k", "latency", "50ms")  # fmt: skip


def bench(inventory: Path, folder: Path, rate: int, repeats: int) -> dict:
    """Run a campaign; return its results."""
    name = f"rate{rate}"
    variables = {
        **TRAINING, "topology": "1n1g,2n1g,4n1g", "repeats": repeats, "warmup": 2,
        "iterations": 8, "campaign": name, "cell_timeout": 3600,
        "campaign_results_dir": str(folder),
    }  # fmt: skip
    run(
        "ansible-playbook", "-i", str(inventory), "playbooks/bench.yml", "-e", json.dumps(variables)
    )
    return json.loads((folder / name / "results.json").read_text())


def print_rows(rate: int, results: dict) -> list[float]:
    """Print each prediction beside what was measured; return the errors."""
    errors = []
    for group in results["predictions"]["groups"]:
        for row in group["rows"]:
            if row["error"] is None:
                raise SystemExit(f"{group['benchmark']} {row['topology']}: {row['reason']}")
            errors.append(row["error"])
            figures = (
                f"{row['measured_speedup']:.3f}",
                f"{row['speedup']:.3f}",
                f"{row['error']:+.1%}",
            )
            which = (rate, group["benchmark"], row["topology"], row["kind"])
            print(_ROW.format(*which, *figures), flush=True)
    return errors


def main() -> None:
    """Start itself again in namespaces of its own, then the nodes, then a campaign per rate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rates", type=int, nargs="+", default=[100, 500, 2000], help="Mbit/s")
    parser.add_argument("--cores", type=float, default=0.4, help="of a node; default 0.4")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--results", type=Path, help="folder to keep the results in")
    options = parser.parse_args()
    if "OUTER_PID" not in os.environ:
        if os.geteuid():
            print("Not root: predicted speed-ups are not compared with measured ones")
            return
        again = [*NAMESPACES, sys.executable, __file__, *sys.argv[1:]]
        try:
            ended = subprocess.run(
                again, env={**os.environ, "OUTER_PID": str(os.getpid())}, check=False
            )
        finally:
            for folder in CGROUPS.glob(f"**/scalebench-{os.getpid()}-node*"):
                folder.rmdir()
        sys.exit(ended.returncode)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "bridge0", "type", "bridge")
        run("ip", "address", "add", "10.98.0.254/24", "dev", "bridge0")
        run("ip", "link", "set", "bridge0", "up")
        Path("/run/sshd").mkdir(exist_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/key")
        nodes = [start_node(name, NODES[name], folder, options.cores) for name in NODES]
        inventory = write_inventory(folder)
        run("ansible-playbook", "-i", str(inventory), "playbooks/provision.yml",
            "-e", json.dumps(TRAINING))  # fmt: skip
        print(_ROW.format(*_TITLES))
        errors = []
        kept = (options.results or folder / "results").resolve()
        for rate in options.rates:
            for inside in nodes:
                shape(inside, rate)
            errors += print_rows(rate, bench(inventory, kept, rate, options.repeats))
        close = sum(abs(error) <= CLOSE for error in errors)
        print(f"{close} of {len(errors)} within {CLOSE:.0%}")


if __name__ == "__main__":
    main()
