"""Reference effort 004, PaddlePaddle 1.8: every command of every cell, written from what it ran."""

import pytest
from upstream_data import ADDRESSES, COMMON, cells, gpus, recipe, traced

BENCHMARK = "paddle"
PYTHON = "/opt/scalebench/venvs/paddle_upstream/bin/python"
USUAL = ["1n1g", "1n4g", "1n8g", "2n8g", "4n8g"]
# The tables of the report: recipe, precision, batch, DALI, dynamic loss scale, rows.
TABLES = [
    ("upstream", "fp32", 128, False, None, ["1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g"]),
    ("upstream", "amp", 224, False, "true", USUAL),
    ("upstream", "amp", 196, True, "true", USUAL),
    ("upstream_static_loss_scale", "amp", 224, False, "false", USUAL),
]
# Threads that read images, by GPUs of a node; DALI has its own number.
THREADS = {1: 8, 2: 8, 4: 12, 8: 8}
DALI_THREADS = 10
AMP_FLAGS = {
    "FLAGS_conv_workspace_size_limit": "4000",
    "FLAGS_cudnn_exhaustive_search": "1",
    "FLAGS_cudnn_batchnorm_spatial_persistent": "1",
}


def arguments(name, precision, batch, dali, dynamic, nodes, per_node):
    """Return the trainer's arguments as the published scripts give them, in any order."""
    made = [
        "--data_dir=/datasets/ImageNet/images",
        "--total_images=1302936",
        "--class_dim=1000",
        "--validate=False",
        f"--batch_size={batch * per_node}",
        "--print_step=1",
        "--save_step=10000",
        "--lr=0.001",
        "--momentum_rate=0.875",
        "--max_iter=120",
        "--model=ResNet50",
        "--model_save_dir=output/",
        "--l2_decay=0.000030518",
        "--warm_up_epochs=1",
        "--use_mixup=False",
        "--use_label_smoothing=True",
        "--label_smoothing_epsilon=0.1",
        "--data_format=" + ("NHWC" if precision == "amp" else "NCHW"),
        "--lr_strategy=" + ("cosine_decay" if nodes == 1 else "piecewise_decay"),
        f"--reader_thread={DALI_THREADS if dali else THREADS[per_node]}",
    ]
    if dali or nodes == 1:
        made.append("--use_dali=true" if dali else "--use_dali=false")
    if precision == "amp":
        made += ["--use_fp16=True", "--scale_loss=128.0", f"--use_dynamic_loss_scaling={dynamic}"]
        made += ["--fuse_elewise_add_act_ops=true", "--fuse_bn_act_ops=true"]
    return made


def environment(name, precision, dali, nodes, per_node):
    """Return the variables that the published scripts export, and our own."""
    made = {**COMMON, "CUDA_VISIBLE_DEVICES": gpus(per_node), **traced(nodes * per_node)}
    made["FLAGS_fraction_of_gpu_memory_to_use"] = "0.8" if dali else "0.98"
    if precision == "amp":
        made.update(AMP_FLAGS)
    if dali:
        made["DALI_EXTRA_PATH"] = f"/opt/scalebench/sources/paddle-{name}/DALI_extra"
    return made


EXPECTED = [(*table[:5], topology) for table in TABLES for topology in table[5]]


@pytest.fixture(scope="module")
def planned():
    return {name: cells(BENCHMARK, name) for name in {table[0] for table in TABLES}}


def test_the_matrix_is_the_reports(planned):
    assert len(EXPECTED) == 21
    assert sum(map(len, planned.values())) == len(EXPECTED)
    assert {cell["repeats"] for made in planned.values() for cell in made.values()} == {5}


@pytest.mark.parametrize(("name", "precision", "batch", "dali", "dynamic", "topology"), EXPECTED)
def test_every_node_runs_its_command(planned, name, precision, batch, dali, dynamic, topology):
    nodes, per_node = int(topology[0]), int(topology[2])
    variant = f"bz{batch}" + "-dali" * dali + "-real"
    cell = planned[name][f"{variant}/{topology} {precision}"]
    assert list(cell["commands"]) == [f"v{number}" for number in range(1, nodes + 1)]
    for rank, command in enumerate(cell["commands"].values()):
        argv = command["argv"]
        trainer = f"/opt/scalebench/sources/paddle-{name}/models/PaddleCV/image_classification"
        assert argv[:8] == [
            *[PYTHON, "-m", "paddle.distributed.launch"],
            f"--cluster_node_ips={','.join(ADDRESSES[:nodes])}",
            f"--node_ip={ADDRESSES[rank]}",
            "--started_port=29500",
            f"--selected_gpus={gpus(per_node)}",
            f"{trainer}/train.py",
        ]
        given = argv[8:]
        shape = given.index("--image_shape")
        assert given[shape : shape + 4] == ["--image_shape", "3", "224", "224"]
        assert sorted(given[:shape] + given[shape + 4 :]) == sorted(
            arguments(name, precision, batch, dali, dynamic, nodes, per_node)
        )
        assert command["env"] == environment(name, precision, dali, nodes, per_node)


def test_it_runs_on_the_hosts():
    assert "container" not in recipe(BENCHMARK, "upstream")


def test_dali_comes_with_its_data():
    sources = {source["name"]: source for source in recipe(BENCHMARK, "upstream")["sources"]}
    assert sources["models"]["version"] == "b71cf6322ad8bd293c052cbbe45f7a382fcb73ae"
    assert sources["DALI_extra"]["repository"] == "https://github.com/NVIDIA/DALI_extra"


def test_the_number_is_the_reports(planned):
    """extract_paddle_logs.py: batch over seconds of every step, the mean of steps 21 to 120."""
    for made in planned.values():
        for cell in made.values():
            assert cell["reading"] == {
                "reader": "paddle_fluid",
                "strategy": "dlperf_paddle",
                "parameters": {"warmup": 20, "iterations": 100},
            }
