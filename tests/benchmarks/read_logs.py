"""Measure the log readers: lines/s, ratio to one pass of a compiled pattern, memory, start-up.

Run ``python tests/benchmarks/read_logs.py [--logs DIR] [--stream GIB]``. Without ``--logs`` the
logs are generated, one in each of four formats. The pass for comparison is ``findall`` of a single
pattern that extracts step and throughput of that format, over the same text in memory.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.scalebench.core.plugins.module_utils import logs

NUMBER = r"([-+0-9.eE]+)"
LINES: dict[str, tuple[Callable[[int], str], str]] = {
    "scalebench": (
        lambda n: (
            f"iteration {n} epoch 0 loss 7.{n % 10**6:06d} throughput {12 + n % 7 / 10:.2f}"
            f" images/s step_time 0.648300 s time {1763690000 + 0.6483 * n:.6f}"
        ),
        rf"iteration (\d+) epoch (\d+) loss {NUMBER} throughput {NUMBER} images/s"
        rf" step_time {NUMBER} s time {NUMBER}",
    ),
    "pytorch_ngc": (
        lambda n: (
            f"DLL 2020-12-11 03:{n // 60 % 60:02d}:{n % 60:02d}.269735 - Epoch: 0 Iteration: {n} "
            f" train.loss : 7.14010  train.total_ips : {3000 + n % 100}.54 img/s"
        ),
        r"DLL (\S+ \S+) - Epoch: (\d+) Iteration: (\d+)  train\.loss : (\S+)  "
        r"train\.total_ips : (\S+) img/s",
    ),
    "mxnet_speedometer": (
        lambda n: (
            f"[1,{n % 8}]<stderr>:2020-12-11 03:{n // 60 % 60:02d}:{n % 60:02d},587:INFO: Epoch[0]"
            f" Batch [{n // 8 * 20}-{n // 8 * 20 + 19}]\tSpeed: {9500 + n % 7}.1421366125638"
            " samples/sec\tLR: 0.0019456\t"
        ),
        r"\[1,(\d+)\]<stderr>:(\S+ \S+):INFO: Epoch\[(\d+)\] Batch \[\d+-(\d+)\]\tSpeed: (\S+) ",
    ),
    "paddleclas": (
        lambda n: (
            f"[2022/11/30 20:{n // 60 % 60:02d}:{n % 60:02d}] ppcls INFO: epoch:0   train step:{n}"
            f"  lr: 0.100000, loss:  0.7518 top1:  0.8398 top5:  0.9453 batch_cost: 0.18915 s,"
            f" reader_cost: 0.00087 s, ips: {1353 + n % 7}.43337 samples/sec."
        ),
        r"\[(\S+ \S+)\] ppcls INFO: epoch:(\d+) +train step:(\d+) +lr: \S+, loss: +(\S+) top1: +"
        r"(\S+) top5: +\S+ batch_cost: (\S+) s, reader_cost: \S+ s, ips: (\S+) samples/sec",
    ),
}


def timed(call: Callable[[], object], repeats: int = 5) -> float:
    """Return the lowest CPU time (s) of a call, which excludes other work on the machine."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def compare(name: str, count: int) -> None:
    """Print the reading speed for one format over ``count`` lines."""
    line, pattern = LINES[name]
    text = "".join(f"{line(n)}\n" for n in range(1, count + 1))
    data = text.encode()
    compiled = re.compile(pattern)
    assert len(compiled.findall(text)) == count
    assert len(logs.read(data)["observations"]) == count
    one_pass, ours = timed(lambda: compiled.findall(text)), timed(lambda: logs.read(data))
    print(
        f"{name:20} {count / ours / 1000:8.0f} thousand lines/s  {len(data) / ours / 1e6:6.0f} MB/s"
        f"  {ours / one_pass:5.2f} x one pass of a pattern"
    )


def tree(folder: Path) -> None:
    """Print the reading speed for all logs in a folder, read one by one."""
    paths = [p for p in sorted(folder.rglob("*")) if p.suffix in (".log", ".txt") and p.is_file()]
    data = [path.read_bytes() for path in paths]
    pattern = re.compile(
        r"^[^\n]*?(\d\d:\d\d:\d\d)[^\n]*?(?:ips ?:|Speed:|TimeHistory:) *([\d.]+)", re.M
    )
    lines = sum(text.count(b"\n") for text in data)
    ours = timed(lambda: [logs.read(text) for text in data])
    one_pass = timed(lambda: [pattern.findall(text.decode("utf-8", "replace")) for text in data])
    print(
        f"{len(data)} logs of {folder.name}: {lines} lines in {ours:.3f} s,"
        f" {lines / ours / 1000:.0f} thousand lines/s, {ours / len(data) * 1000:.2f} ms a log,"
        f" {ours / one_pass:.2f} x one pass of a pattern"
    )


def stream(gib: float) -> None:
    """Print time and memory for a long log that is read in pieces and never held in memory."""
    line, _pattern = LINES["scalebench"]
    block = "".join(f"{line(n)}\n" for n in range(1, 2001)).encode()

    def pieces() -> Iterator[bytes]:
        for _ in range(int(gib * (1 << 30) / len(block))):
            yield block

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    reading = logs.read(pieces(), reader="scalebench")
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = len(reading["observations"]) + reading["observations"].beyond["count"]
    print(
        f"a log of {gib} GiB, {count} lines: {seconds:.1f} s, {count / seconds / 1000:.0f} thousand"
        f" lines/s, {(after - before) / 1024:.0f} MiB more memory, peak {after / 1024:.0f} MiB"
    )


def start_up() -> None:
    """Print the CPU time of importing the readers in a new interpreter, minus its start-up."""
    module = "ansible_collections.scalebench.core.plugins.module_utils.logs"
    environment = {"PYTHONPATH": str(ROOT / "collections")}

    def used(code: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    empty, full = (min(used(code) for _ in range(10)) for code in ("pass", f"import {module}"))
    print(f"import of the readers: {(full - empty) * 1000:.1f} ms")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=50_000)
    parser.add_argument("--logs", type=Path)
    parser.add_argument("--stream", type=float, default=0.0)
    arguments = parser.parse_args()
    start_up()
    for name in LINES:
        compare(name, arguments.lines)
    if arguments.logs:
        tree(arguments.logs)
    if arguments.stream:
        stream(arguments.stream)


if __name__ == "__main__":
    main()
