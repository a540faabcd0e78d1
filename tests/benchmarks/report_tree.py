"""Measure report.yml on 1,200 logs of 408 lines, compared with reading the same bytes."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from written_logs import write_log

TOPOLOGIES = ("1n1g", "1n4g", "1n8g", "2n8g", "4n8g")
BATCHES = tuple(range(16, 400, 16))
PRECISIONS = ("fp32", "amp")
REPEATS = 5
ITERATIONS = 405


def write_tree(folder: Path) -> int:
    """Write the logs and return their number."""
    count = 0
    for batch, precision, topology, repeat in itertools.product(
        BATCHES, PRECISIONS, TOPOLOGIES, range(1, REPEATS + 1)
    ):
        name = f"pytorch/bz{batch}/{topology}/r50_b{batch}_{precision}_{repeat}.log"
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_log(path, topology, batch=batch, precision=precision, iterations=ITERATIONS)
        count += 1
    return count


def main() -> None:
    """Measure both and print the times."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "logs")
        count = write_tree(folder)
        texts = list(folder.rglob("*.log"))
        start = time.monotonic()
        data = [path.read_bytes() for path in texts]
        reading = time.monotonic() - start
        lines = sum(text.count(b"\n") for text in data)
        start = time.monotonic()
        subprocess.run(
            [
                "ansible-playbook",
                "playbooks/report.yml",
                "-e",
                f"log_dir={folder}",
                "-e",
                f"output_dir={temporary}/result",
            ],
            cwd=ROOT,
            env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        whole = time.monotonic() - start
    size = sum(map(len, data)) / 2**20
    print(f"{count} logs, {lines} lines, {size:.0f} MiB")
    print(f"reading the bytes   {reading:8.2f} s")
    print(f"report.yml          {whole:8.2f} s   (goal: under 4)")
    print(f"ratio               {whole / reading:8.1f}")


if __name__ == "__main__":
    main()
