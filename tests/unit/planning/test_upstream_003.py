"""Reference effort 003, NGC MXNet: every command of every cell, including 32 GPUs."""

import pytest
from upstream_data import (
    COMMON,
    cells,
    gpus,
    in_container,
    mpirun,
    of_open_mpi,
    recipe,
    started,
    traced,
)

BENCHMARK, RECIPE = "mxnet_ngc", "upstream"
CELLS = [
    (precision, batch, topology)
    for precision in ("fp32", "fp16")
    for batch in (128, 256)
    for topology in ("1n1g", "1n8g", "4n8g")
]
DATA = "/data/imagenet/train-val-recordio-passthrough"
# 0.256 for 256 images, as the published runner scales it; its log says 0.128 for 128.
LEARNING_RATE = {
    **{(128, 1): "0.128", (128, 8): "1.024", (128, 32): "4.096"},
    **{(256, 1): "0.256", (256, 8): "2.048", (256, 32): "8.192"},
}
ALWAYS = [
    "--mode=train",
    f"--data-train={DATA}/train.rec",
    f"--data-train-idx={DATA}/train.idx",
    f"--data-val={DATA}/val.rec",
    f"--data-val-idx={DATA}/val.idx",
    "--kv-store=horovod",
    "--data-backend=dali-gpu",
    "--num-epochs=3",
    "--benchmark-iters=500",
    "--num-examples=32000",
    "--no-metrics",
    "--log=/tmp/scalebench/train.log",
    "--report=/tmp/scalebench/report.json",
]
PRECISION = {
    "fp32": ["--dtype=float32", "--image-shape=3,224,224"],
    "fp16": [
        "--dtype=float16",
        "--image-shape=4,224,224",
        "--fuse-bn-relu=1",
        "--fuse-bn-add-relu=1",
        "--input-layout=NCHW",
        "--conv-layout=NHWC",
        "--batchnorm-layout=NHWC",
        "--pooling-layout=NHWC",
    ],
}
RUNNER = {
    "MXNET_UPDATE_ON_KVSTORE": "0",
    "MXNET_EXEC_ENABLE_ADDTO": "1",
    "MXNET_USE_TENSORRT": "0",
    "MXNET_GPU_WORKER_NTHREADS": "2",
    "MXNET_GPU_COPY_NTHREADS": "1",
    "MXNET_OPTIMIZER_AGGREGATION_SIZE": "54",
    "HOROVOD_CYCLE_TIME": "0.1",
    "HOROVOD_FUSION_THRESHOLD": "67108864",
    "HOROVOD_NUM_NCCL_STREAMS": "2",
    "MXNET_HOROVOD_NUM_GROUPS": "16",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD": "999",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD": "25",
}


@pytest.fixture(scope="module")
def planned():
    return cells(BENCHMARK, RECIPE)


def test_the_matrix_is_the_reports_with_the_32_gpus_it_left_open(planned):
    assert len(planned) == len(CELLS) == 12
    assert {cell["repeats"] for cell in planned.values()} == {1}


@pytest.mark.parametrize(("precision", "batch", "topology"), CELLS)
def test_every_node_runs_its_command(planned, precision, batch, topology):
    nodes, per_node = int(topology[0]), int(topology[2])
    made = planned[f"bz{batch}-dali-real/{topology} {precision}"]["commands"]
    assert list(made) == [f"v{number}" for number in range(1, nodes + 1)]
    leading = made["v1"]["argv"]
    first = leading.index("/workspace/rn50/train.py")
    given = leading[first + 1 : leading.index(":") if nodes > 1 else len(leading)]
    devices = nodes * per_node
    assert sorted(given) == sorted(
        [
            *ALWAYS,
            *PRECISION[precision],
            f"--lr={LEARNING_RATE[batch, devices]}",
            f"--gpus={gpus(per_node)}",
            f"--batch-size={batch * devices}",
        ]
    )
    program = ["python", "/workspace/rn50/train.py", *given]
    for rank, command in enumerate(made.values()):
        wanted = mpirun(nodes, per_node, rank, program, ["--tag-output"])
        called = "scalebench-mxnet_ngc-upstream"
        assert command["argv"] == in_container(called, list(command["env"]), wanted)
        seen = {"CUDA_VISIBLE_DEVICES": gpus(per_node), **traced(devices, in_container=True)}
        # NCCL 2.4.7 of the image takes a name for a prefix and "=" for a part of it.
        seen["NCCL_SOCKET_IFNAME"] = "ib0"
        assert command["env"] == {**COMMON, **of_open_mpi(nodes), **seen, **RUNNER}


def test_the_container_is_the_published_image_without_privilege():
    assert started(BENCHMARK, RECIPE) == [
        *["docker", "run", "--detach", "--init", "--name", "scalebench-mxnet_ngc-upstream"],
        *["--network", "host", "--ipc", "host", "--ulimit", "memlock=-1"],
        *["--cap-add", "IPC_LOCK", "--device", "/dev/infiniband", "--gpus", "all"],
        "--mount",
        f"type=bind,source=/datasets/ImageNet/recordio,target={DATA},readonly",
        "--mount",
        "type=bind,source=/opt/scalebench/workloads,target=/opt/scalebench/workloads,readonly",
        "--mount",
        "type=bind,source=/opt/scalebench/sshd,target=/opt/scalebench/sshd,readonly",
        *["nvcr.io/nvidia/mxnet:19.07-py3", "sleep", "infinity"],
    ]


def test_the_code_is_the_published_commit():
    (source,) = recipe(BENCHMARK, RECIPE)["sources"]
    assert source["version"] == "99b1c898cead5603c945721162270c2fe077b4a2"
    assert "patches" not in source


def test_what_the_report_calls_amp_is_float16():
    assert recipe(BENCHMARK, RECIPE)["choices"]["precision"] == ["fp32", "fp16"]


def test_the_number_leaves_out_the_first_20_steps_as_the_benchmark_does(planned):
    for cell in planned.values():
        assert cell["reading"] == {
            "reader": "mxnet_speedometer",
            "strategy": "mxnet_cumulative",
            "parameters": {"warmup": 1},
        }
