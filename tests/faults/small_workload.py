"""Stand-in for a trainer and its launcher: milliseconds of counting, in our trainers' log format.

It trains nothing, so its speeds mean nothing; the step times are those of the counting. It is
installed in a node's folder beside ``report_lines.py`` and takes what torchrun would be given.
``starts`` there gets a line for every start; the n-th word of ``faults`` is what goes wrong in the
n-th; ``memory`` holds the largest batch size that fits.
"""

from __future__ import annotations

import os
import signal
import sys
import time

import report_lines

FOLDER = os.path.dirname(os.path.abspath(sys.argv[0]))
# Longer than any limit of the tests.
FOREVER = 600


def main() -> None:
    """Count the start, then train or fail as told."""
    given = dict(word[2:].split("=", 1) for word in sys.argv[1:] if word.startswith("--"))
    fault = next_fault(given["node-rank"])
    if int(given["batch-size"]) > int(read("memory")):
        fault = "memory"
    if fault == "silent":
        return
    if given["node-rank"] == "0":
        say_header(given)
    iterations = int(given["warmup"]) + int(given["iterations"])
    begin = train(given, 2 if fault in FAULTS else iterations)
    if fault in FAULTS:
        FAULTS[fault]()
    elif given["node-rank"] == "0":
        seconds = time.perf_counter() - begin
        print(report_lines.end_line(iterations, seconds, 1.0, "none", True))


def next_fault(rank: str) -> str:
    """Count this start; return what goes wrong in it, or none."""
    with open(os.path.join(FOLDER, "starts"), "a+", encoding="utf-8") as starts:
        starts.write(f"{rank} {os.environ['SCALEBENCH_RUN']}\n")
        starts.flush()
        starts.seek(0)
        number = len(starts.readlines())
    words = read("faults").split()
    return words[number - 1] if number <= len(words) else "none"


def read(name: str) -> str:
    """Return the text of a file of the node."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def say_header(given: dict[str, str]) -> None:
    """Print what a trainer says of itself."""
    nodes, devices = int(given["nnodes"]), int(given["nproc-per-node"])
    batch = int(given["batch-size"])
    facts = {
        "model": "small_workload",
        "framework": "none",
        "world_size": nodes * devices,
        "nodes": nodes,
        "devices_per_node": devices,
        "precision": given["precision"],
        "batch_size_per_device": batch,
        "global_batch_size": batch * nodes * devices,
    }
    print(report_lines.header_line(facts))


def train(given: dict[str, str], iterations: int) -> float:
    """Print iterations where this is the leading node; return when they began."""
    samples = int(given["batch-size"]) * int(given["nnodes"]) * int(given["nproc-per-node"])
    begin = before = time.perf_counter()
    for number in range(1, iterations + 1):
        sum(range(20_000))
        now = time.perf_counter()
        if given["node-rank"] == "0":
            say_iteration(number, 1 / number, samples, now - before)
        before = now
    return begin


def say_iteration(number: int, loss: float, samples: int, seconds: float) -> None:
    """Print one iteration."""
    line = report_lines.iteration_line(
        number, epoch=0, loss=loss, samples=samples, seconds=seconds, time=time.time()
    )
    print(line, flush=True)


def crash() -> None:
    """End with a traceback."""
    raise RuntimeError("Connection reset by peer")


def die() -> None:
    """End by a signal."""
    os.kill(os.getpid(), signal.SIGKILL)


def lose() -> None:
    """Print a loss that is no number, and stop as our trainers do."""
    say_iteration(3, float("nan"), 1, 0.001)
    sys.exit(report_lines.error_line("nan_loss", "the loss of iteration 3 is nan", 0))


def exhaust() -> None:
    """Stop with the words of PyTorch's allocator."""
    sys.exit(
        "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: not"
        " enough memory: you tried to allocate 67108864 bytes. Error code 12"
    )


def hang() -> None:
    """Say no more."""
    time.sleep(FOREVER)


def hang_deaf() -> None:
    """Say no more and do not end when asked."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    hang()


def go_on() -> None:
    """Never come to the end."""
    for number in range(3, 1000 * FOREVER):
        time.sleep(0.01)
        say_iteration(number, 1 / number, 1, 0.01)


def stop_in_mid_line() -> None:
    """End well in the middle of a line."""
    print("iteration 3 epoch 0 loss 0.33", end="")


def leave_child() -> None:
    """Leave a child behind that leads a session of its own, and the log without its end."""
    if os.fork() == 0:
        os.setsid()
        hang()


def kill_supervisor() -> None:
    """End what watches this run, and leave a child behind."""
    leave_child()
    os.kill(os.getppid(), signal.SIGKILL)
    hang()


def interrupt() -> None:
    """Ask what watches this run to end, as a shutdown does."""
    os.kill(os.getppid(), signal.SIGTERM)
    hang()


FAULTS = {
    "crash": crash,
    "die": die,
    "nan": lose,
    "memory": exhaust,
    "hang": hang,
    "deaf": hang_deaf,
    "endless": go_on,
    "cut": stop_in_mid_line,
    "child": leave_child,
    "supervisor": kill_supervisor,
    "interrupt": interrupt,
}

if __name__ == "__main__":
    main()
