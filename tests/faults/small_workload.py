"""Stand-in for a trainer and its launcher: it counts for milliseconds and prints a trainer's lines.

It trains nothing, so its throughputs are meaningless. It is installed in a node's folder beside
``report_lines.py`` and takes the arguments of torchrun. Files in that folder: ``starts`` gets a
line for every start, the n-th word of ``faults`` is the fault of the n-th start, and ``memory``
holds the largest batch size that fits.
"""

from __future__ import annotations

import os
import signal
import sys
import time

import report_lines

FOLDER = os.path.dirname(os.path.abspath(sys.argv[0]))
# Longer than any time limit in the tests.
FOREVER = 600


def main() -> None:
    """Count the start, then train or run the fault."""
    arguments = dict(word[2:].split("=", 1) for word in sys.argv[1:] if word.startswith("--"))
    fault = next_fault(arguments["node-rank"])
    if int(arguments["batch-size"]) > int(read("memory")):
        fault = "memory"
    if fault == "silent":
        return
    if arguments["node-rank"] == "0":
        print_header(arguments)
    iterations = int(arguments["warmup"]) + int(arguments["iterations"])
    begin = train(arguments, 2 if fault in FAULTS else iterations)
    if fault in FAULTS:
        FAULTS[fault]()
    elif arguments["node-rank"] == "0":
        seconds = time.perf_counter() - begin
        print(report_lines.end_line(iterations, seconds, 1.0, "none", True))


def next_fault(rank: str) -> str:
    """Count this start; return the name of its fault, or "none"."""
    with open(os.path.join(FOLDER, "starts"), "a+", encoding="utf-8") as starts:
        starts.write(f"{rank} {os.environ['SCALEBENCH_RUN']}\n")
        starts.flush()
        starts.seek(0)
        number = len(starts.readlines())
    words = read("faults").split()
    return words[number - 1] if number <= len(words) else "none"


def read(name: str) -> str:
    """Return the text of a file in the node's folder."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def print_header(arguments: dict[str, str]) -> None:
    """Print the header line of a trainer."""
    nodes, devices = int(arguments["nnodes"]), int(arguments["nproc-per-node"])
    batch = int(arguments["batch-size"])
    facts = {
        "model": "small_workload",
        "framework": "none",
        "world_size": nodes * devices,
        "nodes": nodes,
        "devices_per_node": devices,
        "precision": arguments["precision"],
        "batch_size_per_device": batch,
        "global_batch_size": batch * nodes * devices,
    }
    print(report_lines.header_line(facts))


def train(arguments: dict[str, str], iterations: int) -> float:
    """Run the iterations, printed by the leading node only; return the start time."""
    samples = (
        int(arguments["batch-size"]) * int(arguments["nnodes"]) * int(arguments["nproc-per-node"])
    )
    begin = before = time.perf_counter()
    for number in range(1, iterations + 1):
        sum(range(20_000))
        now = time.perf_counter()
        if arguments["node-rank"] == "0":
            print_iteration(number, 1 / number, samples, now - before)
        before = now
    return begin


def print_iteration(number: int, loss: float, samples: int, seconds: float) -> None:
    """Print the line of one iteration."""
    line = report_lines.iteration_line(
        number, epoch=0, loss=loss, samples=samples, seconds=seconds, time=time.time()
    )
    print(line, flush=True)


def crash() -> None:
    """Exit with a traceback."""
    raise RuntimeError("Connection reset by peer")


def die() -> None:
    """Die by a signal."""
    os.kill(os.getpid(), signal.SIGKILL)


def print_nan_loss() -> None:
    """Print a loss that is NaN, and exit like the trainers."""
    print_iteration(3, float("nan"), 1, 0.001)
    sys.exit(report_lines.error_line("nan_loss", "the loss of iteration 3 is nan", 0))


def run_out_of_memory() -> None:
    """Exit with the out-of-memory message of PyTorch's allocator."""
    sys.exit(
        "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: not"
        " enough memory: you tried to allocate 67108864 bytes. Error code 12"
    )


def hang() -> None:
    """Print nothing more and do not end."""
    time.sleep(FOREVER)


def hang_ignoring_sigterm() -> None:
    """Print nothing more, do not end and ignore SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    hang()


def train_endlessly() -> None:
    """Print iterations without end."""
    for number in range(3, 1000 * FOREVER):
        time.sleep(0.01)
        print_iteration(number, 1 / number, 1, 0.01)


def stop_in_mid_line() -> None:
    """Exit successfully in the middle of a line."""
    print("iteration 3 epoch 0 loss 0.33", end="")


def leave_child() -> None:
    """Leave a child in its own session behind, and a log without its end line."""
    if os.fork() == 0:
        os.setsid()
        hang()


def kill_supervisor() -> None:
    """Kill the supervisor of this run and leave a child behind."""
    leave_child()
    os.kill(os.getppid(), signal.SIGKILL)
    hang()


def interrupt() -> None:
    """Send SIGTERM to the supervisor of this run, as a shutdown does."""
    os.kill(os.getppid(), signal.SIGTERM)
    hang()


FAULTS = {
    "crash": crash,
    "die": die,
    "nan": print_nan_loss,
    "memory": run_out_of_memory,
    "hang": hang,
    "deaf": hang_ignoring_sigterm,
    "endless": train_endlessly,
    "cut": stop_in_mid_line,
    "child": leave_child,
    "supervisor": kill_supervisor,
    "interrupt": interrupt,
}

if __name__ == "__main__":
    main()
