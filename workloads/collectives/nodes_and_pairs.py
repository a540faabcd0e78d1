"""Measure on this rank: each device alone at the same time, then pairs of nodes in rounds."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from collectives.definitions import operation_line
from collectives.doubts import BATCHES, repeated_rounds, unclear
from collectives.operations import TorchDistributed
from collectives.rounds import Pair, rounds
from common import pytorch_ranks as ranks
from common.job import begin_job
from common.pytorch_eager import leave_out_compiler
from common.ranks import Place
from common.report_lines import StoppedError, end_line, measured_line, put

# A repeat of a test is long enough for a CPU quota, which the kernel gives out every 100 ms.
LEAST_SECONDS = 0.3


def measure(options: Namespace) -> None:
    """Do all tests and transfers; the first rank prints what was measured.

    :raises StoppedError: a transfer brought other bytes, or there is no device.
    """
    leave_out_compiler()
    job = TorchDistributed(options)
    place, device = job.place, job.device
    facts = ranks.gather(place, place.facts())
    begin_job(place, job.header(options, {"message_bytes": options.bytes}), facts)
    begin = time.perf_counter()
    names = [rank["node"] for rank in facts]
    for test, work in _tests(device).items():
        for rank, rates in enumerate(_measure_alone(options.alone, place, device, work)):
            facts_of = {"test": test, "node": names[rank], "device": rank % place.local_size}
            _put(place, "alone", {**facts_of, "rates": rates})
    sweeps = _measure_pairs(options, place, device, names)
    memory = max(ranks.gather(place, ranks.peak_memory(device)))
    if place.rank == 0:
        for number, (seconds, ended) in enumerate(sweeps, 1):
            size = options.bytes
            put(operation_line("sendrecv", number, size, place.world_size, seconds, ended))
        put(end_line(len(sweeps), time.perf_counter() - begin, memory, "", True))
    ranks.leave(place)


def _put(place: Place, kind: str, facts: dict[str, Any]) -> None:
    if place.rank == 0:
        put(measured_line(kind, facts))


def _tests(device: torch.device) -> dict[str, tuple[float, Callable[[], Any]]]:
    """Return what is measured of a device alone: the amount of one call, and the call.

    training_step in steps/s, matrix_product in 10^9 floating-point operations/s, the copies in 10^9
    bytes/s; a copy in memory reads and writes each byte.
    """
    on_gpu = device.type == "cuda"
    side, size = (8192, 1 << 30) if on_gpu else (512, 1 << 26)
    left, right = (torch.rand(side, side, device=device) for _ in range(2))
    product = torch.empty_like(left)
    source = torch.zeros(size // 4, device=device)
    copy = torch.empty_like(source)
    tests: dict[str, tuple[float, Callable[[], Any]]] = {
        "training_step": (1.0, _training_step(device, 4096 if on_gpu else 256)),
        "matrix_product": (2e-9 * side**3, lambda: torch.mm(left, right, out=product)),
        "memory_copy": (2e-9 * size, lambda: copy.copy_(source)),
    }
    if on_gpu:
        host = torch.zeros(size // 4).pin_memory()
        tests["host_to_device"] = (1e-9 * size, lambda: copy.copy_(host, non_blocking=True))
    return tests


def _training_step(device: torch.device, width: int) -> Callable[[], Any]:
    """Return the step of a small perceptron: forward and backward pass, and SGD with momentum."""
    model = nn.Sequential(
        *(nn.Linear(width, width), nn.ReLU()),
        *(nn.Linear(width, width), nn.ReLU()),
        nn.Linear(width, 1),
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, 0.9)
    samples = torch.rand(width, width, device=device)

    def step() -> None:
        optimizer.zero_grad()
        model(samples).square().mean().backward()
        optimizer.step()

    return step


def _rate(place: Place, device: torch.device, amount: float, call: Callable[[], Any]) -> float:
    """Return the amount per second of calls for :data:`LEAST_SECONDS`, begun with all ranks."""
    call()
    ranks.synchronise(place, device)
    begin, calls, seconds = time.perf_counter(), 0, 0.0
    while seconds < LEAST_SECONDS:
        call()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        calls += 1
        seconds = time.perf_counter() - begin
    return calls * amount / seconds


def _measure_alone(
    repeats: int, place: Place, device: torch.device, work: tuple[float, Callable[[], Any]]
) -> list[list[float]]:
    """Return the rates of every rank in a test, measured again where they leave a doubt."""
    rates: list[float] = []
    for _ in range(BATCHES):
        rates += [_rate(place, device, *work) for _ in range(repeats)]
        of_ranks = ranks.gather(place, rates)
        # By the first rank: all need the same number of repeats.
        if not ranks.gather(place, unclear(of_ranks))[0]:
            break
    return of_ranks


def _measure_pairs(
    options: Namespace, place: Place, device: torch.device, names: list[str]
) -> list[tuple[float, float]]:
    """Print the rates of every measured pair; return mean seconds and end of each sweep.

    Pairs whose figures leave a doubt are measured again, with a line of their own.
    """
    planned = rounds(place.nodes)
    send = torch.full((options.bytes // 4,), float(place.rank), device=device)
    buffers = send, torch.empty_like(send)
    taken, ended = _measure_rounds(planned, options.warmup + options.iterations, place, buffers)
    counted = [(number, pair) for number, one in enumerate(planned) for pair in one]
    rates = {
        pair: [options.bytes / 1e6 / one for one in taken[number, pair][options.warmup :]]
        for number, pair in counted
    }
    # By the first rank: all need the same rounds.
    doubtful = ranks.gather(place, repeated_rounds(planned, rates))[0]
    more, _ = _measure_rounds(doubtful, options.iterations, place, buffers)
    for number, pair in counted:
        _put_pair(place, names, pair, {"round": number, "rates": rates[pair]})
    for (number, pair), seconds in more.items():
        again = [options.bytes / 1e6 / one for one in seconds]
        facts = {"round": len(planned) + number, "again": True, "rates": again}
        _put_pair(place, names, pair, facts)
    sweeps = zip(*taken.values())
    return [(sum(one) / len(one), end) for one, end in zip(sweeps, ended)]


def _put_pair(place: Place, names: list[str], pair: Pair, facts: dict[str, Any]) -> None:
    _put(place, "pair", {"nodes": [names[node * place.local_size] for node in pair], **facts})


def _measure_rounds(
    planned: list[list[Pair]],
    repeats: int,
    place: Place,
    buffers: tuple[torch.Tensor, torch.Tensor],
) -> tuple[dict[tuple[int, Pair], list[float]], list[float]]:
    """Return the seconds of the slower way of each round's pairs by repeat, and each repeat's end.

    :raises StoppedError: a transfer brought other bytes.
    """
    # The repeats of a pair are apart in time, so that a short disturbance hits one, and those with
    # the same number near each other, so that what all have in common is seen.
    order = [(repeat, number) for repeat in range(repeats) for number in range(len(planned))]
    mine: dict[tuple[int, int], float] = {}
    ended = [0.0] * repeats
    for repeat, number in order:
        peer = _peer(planned[number], place)
        ranks.synchronise(place, buffers[0].device)
        if peer is not None:
            mine[repeat, number] = _both_ways(place.rank, peer, *buffers)
            if buffers[1][0].item() != peer or buffers[1][-1].item() != peer:
                raise StoppedError("wrong_result", f"rank {peer} sent other values")
        ended[repeat] = time.time()
    seconds = ranks.gather(place, [mine.get(one, 0.0) for one in order])
    at = {one: index for index, one in enumerate(order)}
    taken = {
        (number, pair): [
            max(seconds[node * place.local_size][at[repeat, number]] for node in pair)
            for repeat in range(repeats)
        ]
        for number, pairs in enumerate(planned)
        for pair in pairs
    }
    return taken, ended


def _peer(pairs: list[tuple[int, int]], place: Place) -> int | None:
    """Return the rank that this one exchanges with: the first of each node takes part."""
    node = place.rank // place.local_size
    for pair in pairs:
        if node in pair and place.local_rank == 0:
            return (sum(pair) - node) * place.local_size
    return None


def _both_ways(rank: int, peer: int, send: torch.Tensor, receive: torch.Tensor) -> float:
    """Send and receive, one after the other, and return the seconds of what was received.

    At the same time gloo sometimes does them one after the other all the same, which halves the
    rate. A few bytes each way before both have the two ranks begin together.
    """
    seconds = 0.0
    for sender in (min(rank, peer), max(rank, peer)):
        for first in (True, False):
            _move(rank if first == (rank < peer) else peer, rank, peer, send[:1], receive[:1])
        begin = time.perf_counter()
        _move(sender, rank, peer, send, receive)
        if sender == peer:
            seconds = time.perf_counter() - begin
    return seconds


def _move(sender: int, rank: int, peer: int, send: torch.Tensor, receive: torch.Tensor) -> None:
    if sender == rank:
        dist.send(send, peer)
    else:
        dist.recv(receive, peer)
    if send.is_cuda:
        torch.cuda.synchronize(send.device)
