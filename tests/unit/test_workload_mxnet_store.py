"""Workers of MXNet's key-value store, run by an interpreter that has MXNet."""

from __future__ import annotations

import os
import subprocess

import pytest
from trainers import FOLDER, facts, free_port, interpreter

TRAIN = ["resnet50/train_mxnet.py", "--warmup=1", "--iterations=3", "--device=cpu"]

# Without the wait in mxnet_ranks, the second worker gets gradients for weights 7 times of 8.
BUSY_AT_FIRST = """
import mxnet as mx
from common.job import checksum
from common.mxnet_ranks import join

ranks = join()
mx.random.seed(1)
model = mx.gluon.nn.HybridSequential()
model.add(*(mx.gluon.nn.Dense(200, in_units=200) for _ in range(40)))
model.initialize()
trainer, images = ranks.trainer(model.collect_params(), {"learning_rate": 0.1}, 1)
with mx.autograd.record():
    loss = model(mx.nd.ones((1, 200))).sum()
loss.backward()
mx.nd.waitall()
if ranks.store.rank == 1:
    busy = mx.nd.ones((1500, 1500))
    for _ in range(8):
        busy = mx.nd.dot(busy, busy)
trainer.step(images)
weights = (parameter.data().asnumpy() for parameter in model.collect_params().values())
print(*ranks.gather(checksum(weights)))
"""


@pytest.fixture
def python() -> str:
    return interpreter("mxnet_ngc", "mxnet")


def test_workers_end_with_the_same_weights(python):
    (leader, errors), (other, other_errors) = two_workers(python, TRAIN)
    assert (errors, other, other_errors) == ("", "", ""), leader
    assert '"rank":1,"local_rank":0,"node":"node2"' in leader
    header = facts(leader, "header")
    assert (header["global_batch_size"], header["nodes"], header["backend"]) == (8, 2, "dist_sync")
    assert facts(leader, "end")["weights_equal"] is True


def test_a_busy_worker_does_not_take_gradients_for_initial_weights(python):
    (leader, errors), _ = two_workers(python, ["-c", BUSY_AT_FIRST])
    weights = leader.split()
    assert len(weights) == 2, errors
    assert weights[0] == weights[1]


def two_workers(python: str, arguments: list[str]) -> list[tuple[str, str]]:
    """Return output and errors of the first and of the second worker."""
    port = str(free_port("127.0.0.2"))
    common = {
        "DMLC_PS_ROOT_URI": "127.0.0.2",
        "DMLC_PS_ROOT_PORT": port,
        "DMLC_NUM_WORKER": "2",
        "DMLC_NUM_SERVER": "1",
        "DMLC_INTERFACE": "lo",
        "OMP_NUM_THREADS": "1",
        "WORLD_SIZE": "2",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
    }

    def start(role: str, rank: int = 0) -> subprocess.Popen[str]:
        node = {"DMLC_NODE_HOST": f"127.0.0.{rank + 2}", "SCALEBENCH_NODE": f"node{rank + 1}"}
        return subprocess.Popen(
            [python, *(arguments if role == "worker" else ["-c", "import mxnet"])],
            cwd=FOLDER,
            env={**os.environ, **common, "DMLC_ROLE": role, "RANK": str(rank), **node},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    served = [start("scheduler"), start("server")]
    # The first to connect is rank 0 of the store; RANK decides which worker prints.
    workers = [start("worker", 1), start("worker", 0)]
    try:
        other, leader = (worker.communicate(timeout=300) for worker in workers)
    finally:
        for process in workers:
            process.kill()
        for process in served:
            process.terminate()  # they wait forever for a worker that failed
            process.communicate()
    return [leader, other]
