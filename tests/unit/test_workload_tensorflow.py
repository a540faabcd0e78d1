"""The TensorFlow trainer itself, run by an interpreter that has TensorFlow and Horovod."""

from __future__ import annotations

import os

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from trainers import (
    FOLDER,
    ROOT,
    facts,
    folders_of_images,
    fork,
    interpreter,
    median_difference,
    run,
    slow_feed,
)

SHORT = ("--warmup=1", "--iterations=5", "--device=cpu")
# Ranks on one machine that communicate by TCP over loopback.
MPIRUN = [
    *("mpirun", "--oversubscribe", "--bind-to", "none", "-np", "2"),
    *("--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"),
    *("--mca", "oob_tcp_if_include", "lo", "--mca", "mpi_yield_when_idle", "1"),
]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# A model of one layer, trained three steps by the trainer's step and by Keras' own optimiser.
COMPARED = """
import horovod.tensorflow as hvd
import numpy as np
import tensorflow.compat.v2 as tf
from common.ranks import Place
from common.tensorflow_ranks import set_seed
from resnet50.tensorflow_training import Settings, Step, smoothed_cross_entropy
tf.enable_v2_behavior()
hvd.init()
images = tf.constant(np.random.RandomState(1).rand(4, 8), tf.float32)
labels = tf.constant([1, 2, 3, 4])
def model():
    set_seed(1)
    inputs = tf.keras.Input((8,))
    return tf.keras.Model(inputs, tf.keras.layers.Dense(1000)(inputs))
def ours(xla, autocast=None):
    trained = model()
    step = Step(trained, Place(0, 1, 0, 1), Settings(False, "", autocast, "NHWC", xla), 0.5, None)
    for _ in range(3):
        step(images, labels)
    return trained.get_weights()
def keras():
    trained, optimizer = model(), tf.keras.optimizers.SGD(0.5, 0.875)
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = smoothed_cross_entropy(trained(images), labels)
            loss += sum(tf.reduce_sum(w * w) for w in trained.trainable_variables) * 2.0**-16
        weights = trained.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return trained.get_weights()
for other in (ours(False), ours(True), ours(False, "float16")):
    for weight, expected in zip(other, keras()):
        np.testing.assert_allclose(weight, expected, rtol=1e-4, atol=1e-5)
"""


@pytest.fixture
def python() -> str:
    return interpreter("tensorflow_ngc", "tensorflow")


def losses(text: str) -> list[float]:
    return list(logs.read(text)["observations"].column("loss"))


def test_the_model_is_resnet50_version_1_5(python):
    ended = fork(
        "tensorflow",
        [
            python,
            "-c",
            "from resnet50.tensorflow_training import resnet50\n"
            "for layout in ('NCHW', 'NHWC'):\n"
            "    model = resnet50(64, layout)\n"
            "    print(sum(w.shape.num_elements() for w in model.trainable_variables))\n"
            "for layer in model.layers:\n"
            "    if hasattr(layer, 'strides') and layer.strides == (2, 2):\n"
            "        print(getattr(layer, 'kernel_size', 'pool'))\n",
        ],
    )
    nchw, nhwc, *strided = ended.stdout.splitlines()
    assert nchw == nhwc == "25557032", ended.stderr
    # Of each later stage: the 3x3 convolution of its first block, and its shortcut.
    assert strided == ["(7, 7)", "pool", *["(3, 3)", "(1, 1)"] * 3]


def test_a_step_is_momentum_sgd_with_weight_decay_compiled_or_not(python):
    ended = fork("tensorflow", [python, "-c", COMPARED])
    assert ended.returncode == 0, ended.stderr


def test_one_rank_learns_and_prints_as_the_published_runs(python):
    ended = run([python, "resnet50/train_tensorflow.py", *SHORT])
    assert (ended.returncode, ended.stderr) == (0, "")
    header = facts(ended.stdout, "header")
    assert (header["parameters"], header["world_size"], header["backend"]) == (25557032, 1, None)
    reading = logs.read(ended.stdout)
    assert (reading["reader"], reading["ending"]["kind"]) == ("tensorflow_ngc_train", "complete")
    assert losses(ended.stdout)[-1] < losses(ended.stdout)[0] - 1
    read = log_facts(reading, parameters={"warmup": 1, "iterations": 5})
    assert read["wall_clock_throughput"] == pytest.approx(read["harmonic_throughput"], rel=0.02)


def test_two_ranks_have_the_same_weights_and_wait_for_the_one_without_a_batch(python, tmp_path):
    slow = slow_feed(tmp_path, "tensorflow", "OMPI_COMM_WORLD_RANK")
    ended = run([*MPIRUN, python, slow, *SHORT], **AS_ROOT, PYTHONPATH=str(FOLDER))
    assert ended.returncode == 0, ended.stderr
    header = facts(ended.stdout, "header")
    assert (header["global_batch_size"], header["devices_per_node"]) == (8, 2)
    assert header["backend"] == "mpi"
    assert '"rank":1,"local_rank":1' in ended.stdout
    assert ended.stdout.count("imgs_per_sec") == 6
    assert facts(ended.stdout, "end")["weights_equal"] is True
    waits = log_facts(logs.read(ended.stdout), parameters={"warmup": 1, "iterations": 5})["waits"]
    assert [(one["rank"], len(one["wait_seconds"])) for one in waits] == [(0, 6), (1, 6)]
    for one in waits:
        assert 0 < sorted(one["wait_seconds"])[3] < one["step_seconds"]
        assert 0 < one["input_seconds"] < one["step_seconds"]
        assert "core_wait_seconds" not in one
    first, second = waits
    assert second["input_seconds"] >= 1 > 2 * first["input_seconds"]
    assert median_difference(first, second) > 0.5


def test_amp_reads_real_images_and_names_a_bad_one(python, tmp_path):
    folder = folders_of_images(tmp_path)
    real = ("--data=real", f"--data-dir={tmp_path}", "--workers=1", "--precision=amp")
    ended = fork("tensorflow", [python, "resnet50/train_tensorflow.py", *SHORT, *real])
    assert ended.returncode == 0, ended.stderr
    assert facts(ended.stdout, "header")["autocast_dtype"] == "bfloat16"
    assert " - (2, 5) imgs_per_sec : " in ended.stdout
    (folder / "bee/1.png").write_bytes(b"no image")
    ended = fork("tensorflow", [python, "resnet50/train_tensorflow.py", *SHORT, *real])
    assert ended.returncode == 1
    error = facts(ended.stdout, "error")
    assert error["detail"].startswith(f"cannot decode {folder}/bee/1.png")


def test_a_nan_loss_ends_the_run(python):
    ended = fork(
        "tensorflow", [python, "resnet50/train_tensorflow.py", *SHORT, "--learning-rate=1e30"]
    )
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "nan_loss"
    assert "[scalebench] end" not in ended.stdout


def test_a_missing_gpu_is_reported(python):
    if os.path.exists("/dev/nvidia0"):
        pytest.skip("there is a GPU")
    ended = fork("tensorflow", [python, "resnet50/train_tensorflow.py", "--device=gpu"])
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "no_device"


def test_the_published_version_trains_but_not_mixed_on_a_cpu():
    python = str(ROOT / ".state/venvs/tensorflow_seed/bin/python")
    if not os.access(python, os.X_OK):
        pytest.skip("no TensorFlow 1.15: playbooks/provision.yml, -e framework_version=1.15")
    ended = run([python, "resnet50/train_tensorflow.py", "--warmup=0", "--iterations=3"])
    assert (ended.returncode, ended.stderr) == (0, "")
    assert facts(ended.stdout, "header")["framework_version"] == "1.15.2"
    assert losses(ended.stdout)[-1] < losses(ended.stdout)[0] - 1
    ended = run([python, "resnet50/train_tensorflow.py", "--precision=amp"])
    assert facts(ended.stdout, "error")["kind"] == "no_device"
