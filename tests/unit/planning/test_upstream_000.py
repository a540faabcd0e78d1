"""Reference effort 000, NGC TensorFlow with Horovod: every command of every cell."""

import itertools

import pytest
from upstream_data import (
    COMMON,
    DLLOGGER,
    cells,
    gpus,
    in_container,
    mpirun,
    of_open_mpi,
    recipe,
    started,
    traced,
)

BENCHMARK, RECIPE = "tensorflow_ngc", "upstream"
TOPOLOGIES = ["1n1g", "1n4g", "1n8g", "2n8g", "4n8g"]
ONE_NODE = TOPOLOGIES[:3]
# The tables of the report, in its order: precision, batch, XLA, DALI, data, and the rows there are.
TABLES = [
    ("fp32", 128, False, True, "real", TOPOLOGIES),
    ("amp", 224, False, True, "real", TOPOLOGIES),
    ("amp", 224, True, True, "real", TOPOLOGIES),
    ("amp", 224, True, False, "real", ONE_NODE),
    ("amp", 224, True, False, "synthetic", ONE_NODE),
]
ALWAYS = {
    "--arch=resnet50",
    "--iter_unit=batch",
    "--num_iter=120",
    "--use_cosine_lr",
    "--label_smoothing=0.1",
    "--lr_warmup_epochs=8",
    "--momentum=0.875",
    "--weight_decay=3.0517578125e-05",
    "--weight_init=fan_in",
    "--display_every=1",
    "--results_dir=/tmp/scalebench/results",
}
PRECISION = {
    "fp32": {"--precision=fp32"},
    "amp": {"--precision=fp32", "--use_tf_amp", "--use_static_loss_scaling", "--loss_scale=128"},
}
NODES = {
    1: {"--lr_init=0.001", "--gpu_memory_fraction=0.7"},
    2: {"--lr_init=0.256", "--gpu_memory_fraction=0.98"},
    4: {"--lr_init=0.256", "--gpu_memory_fraction=0.98"},
}
DATA = {
    "real": {"--mode=train", "--data_dir=/data/tfrecords"},
    "synthetic": {"--mode=training_benchmark", "--warmup_steps=20"},
}


def expected():
    """Yield every cell's name, topology and flags."""
    for precision, batch, xla, dali, data, topologies in TABLES:
        for topology in topologies:
            variant = f"bz{batch}" + "-xla" * xla + "-dali" * dali + "-real" * (data == "real")
            flags = {*ALWAYS, f"--batch_size={batch}", *PRECISION[precision], *DATA[data]}
            flags |= {"--use_dali", "--data_idx_dir=/data/dali_idx"} if dali else set()
            flags |= {"--use_xla"} if xla else set()
            flags |= NODES[int(topology[0])]
            yield f"{variant}/{topology} {precision}", topology, flags


EXPECTED = list(expected())


@pytest.fixture(scope="module")
def planned():
    return cells(BENCHMARK, RECIPE)


def test_the_matrix_is_the_reports(planned):
    assert len(EXPECTED) == 21
    assert list(planned) == [name for name, _, _ in EXPECTED]
    assert {cell["repeats"] for cell in planned.values()} == {5}


@pytest.mark.parametrize(("name", "topology", "flags"), EXPECTED, ids=[row[0] for row in EXPECTED])
def test_every_node_runs_its_command(planned, name, topology, flags):
    nodes, per_node = int(topology[0]), int(topology[2])
    made = planned[name]["commands"]
    assert list(made) == [f"v{number}" for number in range(1, nodes + 1)]
    environment = {**COMMON, **of_open_mpi(nodes), "CUDA_VISIBLE_DEVICES": gpus(per_node)}
    environment.update(traced(nodes * per_node, in_container=True))
    leading = made["v1"]["argv"]
    main = leading.index("/workspace/rn50v15_tf/main.py")
    end = leading.index(":") if nodes > 1 else len(leading)
    given = leading[main + 1 : end]
    assert sorted(given) == sorted(flags)
    program = ["python3", "/workspace/rn50v15_tf/main.py", *given]
    for rank, command in enumerate(made.values()):
        wanted = mpirun(nodes, per_node, rank, program, [])
        name_of = "scalebench-tensorflow_ngc-upstream"
        assert command["argv"] == in_container(name_of, list(command["env"]), wanted)
        assert command["env"] == environment


def test_the_container_is_the_published_image_without_privilege():
    assert started(BENCHMARK, RECIPE) == [
        *["docker", "run", "--detach", "--init", "--name", "scalebench-tensorflow_ngc-upstream"],
        *["--network", "host", "--shm-size", "16g", "--ulimit", "memlock=-1"],
        *["--cap-add", "IPC_LOCK", "--device", "/dev/infiniband", "--gpus", "all"],
        "--mount",
        "type=bind,source=/datasets/ImageNet/tfrecord,target=/data/tfrecords,readonly",
        "--mount",
        "type=bind,source=/datasets/ImageNet/dali_idx,target=/data/dali_idx,readonly",
        "--mount",
        "type=bind,source=/opt/scalebench/workloads,target=/opt/scalebench/workloads,readonly",
        "--mount",
        "type=bind,source=/opt/scalebench/sshd,target=/opt/scalebench/sshd,readonly",
        *["nvcr.io/nvidia/tensorflow:20.03-tf1-py3", "sleep", "infinity"],
    ]


def test_the_code_is_the_published_commit():
    assert recipe(BENCHMARK, RECIPE)["sources"] == [
        {
            "name": "DeepLearningExamples",
            "repository": "https://github.com/NVIDIA/DeepLearningExamples",
            "version": "fed7ba99cde958fda12c9e81d12b3d7e738e0590",
            "patches": [DLLOGGER],
        }
    ]
    folder = "DeepLearningExamples/TensorFlow/Classification/ConvNets"
    assert recipe(BENCHMARK, RECIPE)["container"]["build"] == folder


def test_no_two_variants_share_a_log(planned):
    logs = {f"{cell['directory']}/{cell['name']}" for cell in planned.values()}
    assert len(logs) == len(EXPECTED)


def test_the_number_is_the_reports(planned):
    """extract_tensorflow_logs.py: the hook leaves out 20, the mean of the 100 that it prints."""
    for cell in planned.values():
        assert cell["reading"] == {
            "reader": "auto",
            "strategy": "dlperf_tensorflow",
            "parameters": {"warmup": 0, "iterations": 100},
        }


def test_dali_reads_files_and_synthetic_data_has_none():
    entries = recipe(BENCHMARK, RECIPE)["unavailable"]
    on_gpus = [entry["when"] for entry in entries if entry["when"].get("device") != "cpu"]
    assert on_gpus == [{"data": "synthetic", "data_backend": "dali"}]


def test_no_flag_is_given_twice(planned):
    for cell in planned.values():
        words = cell["commands"]["v1"]["argv"]
        main = words.index("/workspace/rn50v15_tf/main.py")
        flags = list(itertools.takewhile(lambda word: word != ":", words[main + 1 :]))
        names = [flag.partition("=")[0] for flag in flags]
        assert len(names) == len(set(names))
