"""Reference effort 001, TensorFlow to an accuracy: both commands and the source patch."""

import pytest
from upstream_data import (
    COMMON,
    DLLOGGER,
    cells,
    in_container,
    mpirun,
    of_open_mpi,
    recipe,
    started,
)

BENCHMARK = "tensorflow_time2train"
EPOCHS = {"upstream": 120, "upstream_accuracy": 250}
FLAGS = {
    "--arch=resnet50",
    "--mode=train_and_evaluate",
    "--iter_unit=epoch",
    "--batch_size=256",
    "--warmup_steps=100",
    "--use_cosine_lr",
    "--label_smoothing=0.1",
    "--lr_init=0.256",
    "--lr_warmup_epochs=8",
    "--momentum=0.875",
    "--weight_decay=3.0517578125e-05",
    "--use_tf_amp",
    "--use_static_loss_scaling",
    "--loss_scale=128",
    "--data_dir=/data/tfrecords",
    "--data_idx_dir=/data/dali_idx",
    "--results_dir=/tmp/scalebench/results",
    "--weight_init=fan_in",
}


@pytest.mark.parametrize(("name", "epochs"), EPOCHS.items())
def test_the_one_gpu_of_the_report_runs_its_command(name, epochs):
    made = cells(BENCHMARK, name)
    (cell,) = made.values()
    assert (cell["topology"], cell["precision"], cell["repeats"]) == ("1n1g", "amp", 1)
    assert cell["mode"] == "train_and_evaluate"
    (command,) = cell["commands"].values()
    argv = command["argv"]
    given = argv[argv.index("/workspace/rn50v15_tf/main.py") + 1 :]
    # Neither --use_dali nor --use_xla, though the index is given.
    assert sorted(given) == sorted({*FLAGS, f"--num_iter={epochs}"})
    wanted = mpirun(1, 1, 0, ["python3", "/workspace/rn50v15_tf/main.py", *given], [])
    called = f"scalebench-{BENCHMARK}-{name}"
    assert argv == in_container(called, list(command["env"]), wanted)
    assert command["env"] == {**COMMON, **of_open_mpi(1), "CUDA_VISIBLE_DEVICES": "0"}


@pytest.mark.parametrize("name", EPOCHS)
def test_the_source_edit_of_the_report_is_data(name):
    (source,) = recipe(BENCHMARK, name)["sources"]
    assert source["repository"] == "https://github.com/NVIDIA/DeepLearningExamples"
    assert source["version"] == "99b1c898cead5603c945721162270c2fe077b4a2"
    requirement, patch = source["patches"]
    assert requirement == DLLOGGER
    assert patch == {
        "file": "TensorFlow/Classification/ConvNets/runtime/runner.py",
        "line": 249,
        "from": "config.inter_op_parallelism_threads ="
        " max(2, (multiprocessing.cpu_count() // max(hvd.size(), 8) - 2))",
        "to": "config.inter_op_parallelism_threads = 4",
    }


def test_the_container_shares_the_hosts_memory_as_the_report_has_it():
    words = started(BENCHMARK, "upstream")
    assert words[:10] == [
        *["docker", "run", "--detach", "--init", "--name", f"scalebench-{BENCHMARK}-upstream"],
        *["--network", "host", "--ipc", "host"],
    ]
    assert "--shm-size" not in words
    assert words[-3:] == ["nvcr.io/nvidia/tensorflow:20.06-tf1-py3", "sleep", "infinity"]


def test_the_target_is_the_reports():
    usual = recipe(BENCHMARK, "upstream")["defaults"]["gpu"]
    assert (usual["target_accuracy"], usual["epochs"]) == (76.1, 120)


def test_the_number_is_the_trainers_own():
    (cell,) = cells(BENCHMARK, "upstream").values()
    assert cell["reading"]["strategy"] == "ngc_last_throughput"
