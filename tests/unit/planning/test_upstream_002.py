"""Reference effort 002, OneFlow 0.1.8, and its later runs by DLPerf: every command."""

import pytest
from upstream_data import ADDRESSES, COMMON, cells, gpus, recipe, traced

BENCHMARK = "oneflow"
# By recipe: the package set, and the commit of the trainer.
PYTHONS = {"upstream": "oneflow_upstream"}
PYTHONS.update(dlperf="oneflow_dlperf", dlperf_0_1_9="oneflow_dlperf_0_1_9")
COMMITS = {
    "upstream": "892f87e6cb39d83b3e7b69128cff3aca31628800",
    "dlperf": "638d8f42aa064486a4268a388f2bd1e9762c98b3",
    "dlperf_0_1_9": "8a78044ae126ceac30b541a4ec6b630bdfb53aea",
}
REPORT = [
    ("upstream", "fp32", batch, topology)
    for batch in (128, 160)
    for topology in ("1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g")
]
LATER = [
    ("dlperf", precision, batch, topology)
    for precision, batch in (("fp32", 128), ("fp32", 144), ("amp", 256))
    for topology in ("1n1g", "1n8g", "2n8g", "4n8g")
]
LATER += [("dlperf_0_1_9", "fp32", 128, topology) for topology in ("1n1g", "1n8g", "2n8g", "4n8g")]
# What only one of them gives: 200 and 120 iterations of all images.
OWN = {
    "upstream": (200, ["--train_data_part_num=44", "--model_update=momentum"]),
    "dlperf_0_1_9": (120, ["--train_data_part_num=32", "--model_update=momentum"]),
    "dlperf": (
        120,
        [
            "--train_data_part_num=256",
            "--optimizer=sgd",
            "--momentum=0.875",
            "--label_smoothing=0.1",
        ],
    ),
}
AMP = [
    "--use_fp16",
    "--channel_last=True",
    "--pad_output",
    "--fuse_bn_relu=True",
    "--fuse_bn_add_relu=True",
    "--nccl_fusion_threshold_mb=16",
    "--nccl_fusion_max_ops=24",
    "--gpu_image_decoder=True",
]


def arguments(name, precision, batch, nodes, per_node):
    """Return the trainer's arguments, in any order."""
    iterations, own = OWN[name]
    return [
        f"--num_examples={nodes * per_node * batch * iterations}",
        "--train_data_dir=/datasets/ImageNet/ofrecord/train",
        f"--num_nodes={nodes}",
        f"--gpu_num_per_node={per_node}",
        "--learning_rate=0.001",
        "--loss_print_every_n_iter=20",
        f"--batch_size_per_device={batch}",
        "--val_batch_size_per_device=125",
        "--num_epoch=1",
        "--log_dir=./log",
        f"--node_ips={','.join(ADDRESSES[:nodes])}",
        "--model=resnet50",
        *own,
        *(AMP if precision == "amp" else []),
    ]


@pytest.fixture(scope="module")
def planned():
    return {name: cells(BENCHMARK, name) for name in COMMITS}


def test_the_matrix_is_the_reports(planned):
    lengths = {name: len(made) for name, made in planned.items()}
    assert lengths == {"upstream": 12, "dlperf": 12, "dlperf_0_1_9": 4}
    assert {cell["repeats"] for cell in planned["upstream"].values()} == {1}
    later = [*planned["dlperf"].values(), *planned["dlperf_0_1_9"].values()]
    assert {cell["repeats"] for cell in later} == {7}


@pytest.mark.parametrize(("name", "precision", "batch", "topology"), REPORT + LATER)
def test_every_node_runs_its_command(planned, name, precision, batch, topology):
    nodes, per_node = int(topology[0]), int(topology[2])
    cell = planned[name][f"bz{batch}-real/{topology} {precision}"]
    assert list(cell["commands"]) == [f"v{number}" for number in range(1, nodes + 1)]
    folder = f"/opt/scalebench/sources/oneflow-{name}/OneFlow-Benchmark/Classification/cnns"
    for rank, command in enumerate(cell["commands"].values()):
        python = f"/opt/scalebench/venvs/{PYTHONS[name]}/bin/python"
        assert command["argv"][:2] == [python, f"{folder}/of_cnn_train_val.py"]
        given = command["argv"][2:]
        assert sorted(given) == sorted(arguments(name, precision, batch, nodes, per_node))
        environment = {**COMMON, "CUDA_VISIBLE_DEVICES": gpus(per_node)}
        environment.update(traced(nodes * per_node))
        environment.update(RANK=str(rank), WORLD_SIZE=str(nodes), LOCAL_RANK="0")
        environment.update(LOCAL_WORLD_SIZE="1", MASTER_ADDR="10.11.0.2", MASTER_PORT="29500")
        environment.update({"NCCL_LAUNCH_MODE": "PARALLEL"} if name == "dlperf" else {})
        assert command["env"] == environment


@pytest.mark.parametrize(("name", "commit"), COMMITS.items())
def test_it_runs_on_the_hosts_from_the_reports_commit(name, commit):
    assert "container" not in recipe(BENCHMARK, name)
    (source,) = recipe(BENCHMARK, name)["sources"]
    assert source["repository"] == "https://github.com/Oneflow-Inc/OneFlow-Benchmark"
    assert source["version"] == commit


def test_the_numbers_are_the_reports(planned):
    """The report drops the first line; DLPerf takes the unix times of iterations 20 and 120."""
    for name, reading in {
        "upstream": ("oneflow_report", {"warmup": 1, "iterations": None}),
        "dlperf": ("dlperf_oneflow", {"warmup": 20, "iterations": 100}),
        "dlperf_0_1_9": ("dlperf_oneflow", {"warmup": 20, "iterations": 100}),
    }.items():
        for cell in planned[name].values():
            assert cell["reading"]["reader"] == "oneflow"
            assert (cell["reading"]["strategy"], cell["reading"]["parameters"]) == reading
