"""Measure the overhead of bench.yml over a plain shell loop with the same commands over ssh.

Both run the same plan on the same provisioned nodes, one after the other. Arguments are passed
on to bench.yml: `python tests/benchmarks/orchestration.py -e repeats=1`.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ansible_collections.scalebench.core.plugins.module_utils.planning.plan import repeats
from ansible_collections.scalebench.core.plugins.module_utils.records.cells import cell_key

ROOT = Path(__file__).resolve().parents[2]
PORT = 10000


def bench(arguments: list[str], campaign: str) -> float:
    """Run the campaign through bench.yml; return the wall-clock time in seconds."""
    command = ["ansible-playbook", "playbooks/bench.yml", "-e", f"campaign={campaign}"]
    start = time.monotonic()
    subprocess.run([*command, *arguments], cwd=ROOT, check=True)
    return time.monotonic() - start


def loop_script(plan: dict, logs: Path) -> str:
    """Return the shell loop: for each repeat one ssh per node in the background, then wait."""
    ssh = (
        f"ssh -F none -p {PORT} -i {ROOT}/.state/ssh/id_ed25519 -o IdentitiesOnly=yes"
        f" -o UserKnownHostsFile={ROOT}/.state/ssh/known_hosts"
    )
    lines = ["set -e"]
    commands = {cell_key(cell): cell["commands"] for cell in plan["cells"]}
    for repeat in repeats(plan["cells"]):
        cell = repeat["cell"]
        lines.append("pids=")
        for node in cell["node_names"]:
            command = commands[cell_key(cell)][node]
            words = [f"{key}={shlex.quote(value)}" for key, value in command["env"].items()]
            words += [shlex.quote(argument) for argument in command["argv"]]
            address = plan["nodes"][node]["address"]
            log = logs / f"{repeat['name']}-{cell['topology']}-{node}.log"
            lines.append(f"{ssh} {address} {shlex.quote(' '.join(words))} >{log} 2>&1 &")
            lines.append('pids="$pids $!"')
        lines.append("for pid in $pids; do wait $pid; done")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure both; print the overhead per repeat and the ratio."""
    campaign = time.strftime("orchestration-%Y%m%d-%H%M%S")
    with_ansible = bench(sys.argv[1:], campaign)
    plan = json.loads((ROOT / f"results/{campaign}/plan.json").read_text())
    count = len(repeats(plan["cells"]))
    print(f"\nNow the same {count} repeats in a plain shell loop …", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        script = loop_script(plan, Path(folder))
        start = time.monotonic()
        subprocess.run(["bash", "-c", script], check=True)
        plain = time.monotonic() - start
        logs = sorted(Path(folder).glob("*-node1.log"))
        ended = sum("[scalebench] end" in log.read_text() for log in logs)
    if ended != count:
        raise SystemExit(f"no comparison: {ended} of {count} repeats of the shell loop succeeded")
    shutil.rmtree(ROOT / f"results/{campaign}")
    cost = (with_ansible - plain) / count
    print(f"bench.yml, {count} repeats      {with_ansible:8.1f} s")
    print(f"shell loop over ssh     {plain:8.1f} s")
    print(f"overhead per repeat     {cost:8.2f} s   (goal: at most 1.0)")
    print(f"ratio                   {with_ansible / plain:8.3f}     (goal: at most 1.05)")


if __name__ == "__main__":
    main()
