"""The ranks of a Horovod job with TensorFlow 1.15 to 2.15: devices, and exchange of values."""

from __future__ import annotations

import json
import os
import random

import horovod.tensorflow as hvd
import tensorflow.compat.v2 as tf

from common.ranks import Place, end_with_parent, peak_resident_mib, processor_name
from common.report_lines import StoppedError


def join():
    """Connect to the other ranks; return this one's place.

    Open MPI states how many ranks a node has. Horovod counts those that share memory, which are
    more where several nodes are one machine.
    """
    if "OMPI_COMM_WORLD_RANK" in os.environ:
        end_with_parent()
    hvd.init()
    return Place(
        hvd.rank(),
        hvd.size(),
        int(os.environ.get("OMPI_COMM_WORLD_LOCAL_RANK", hvd.local_rank())),
        int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", hvd.local_size())),
    )


def backend(place):
    """Return what carries the gradients, None for a single rank."""
    if place.world_size == 1:
        return None
    return "nccl" if hvd.nccl_built() else "mpi"


def gather(place, value):
    """Return every rank's `value`, a JSON value, by rank, on every rank."""
    if place.world_size == 1:
        return [value]
    text = list(json.dumps(value).encode())
    lengths = hvd.allgather(tf.constant([len(text)]), name="lengths").numpy()
    joined = bytes(hvd.allgather(tf.constant(text, tf.uint8), name="values").numpy())
    ends = lengths.cumsum()
    return [json.loads(joined[end - size : end]) for size, end in zip(lengths, ends)]


def take_device(requested, place):
    """Take this rank's device and return its name, and whether it is a GPU.

    :raises StoppedError: if GPUs are requested and this node has too few that TensorFlow can use.
    """
    gpus = [] if requested == "cpu" else tf.config.experimental.list_physical_devices("GPU")
    if requested != "gpu" and not gpus:
        return processor_name(), False
    if place.local_rank >= len(gpus):
        raise StoppedError(
            "no_device",
            f"this node has {place.local_size} ranks and {len(gpus)} GPUs that TensorFlow "
            f"{tf.__version__} can use",
        )
    gpu = gpus[place.local_rank]
    # Threads of a GPU's own, so that the CPU's other work does not delay its kernels.
    os.environ.setdefault("TF_GPU_THREAD_MODE", "gpu_private")
    tf.config.experimental.set_visible_devices(gpu, "GPU")
    tf.config.experimental.set_memory_growth(gpu, True)
    details = getattr(tf.config.experimental, "get_device_details", lambda _gpu: {})(gpu)
    return details.get("device_name", gpu.name), True


def autocast_type(precision, on_gpu):
    """Return the type that Keras' mixed precision computes in, None for fp32.

    :raises StoppedError: if this TensorFlow has none for the device.
    """
    if precision != "amp":
        return None
    if tf.__version__.startswith("1.") and not on_gpu:
        raise StoppedError("no_device", "TensorFlow 1 has mixed precision on GPUs only")
    return "float16" if on_gpu else "bfloat16"


def autocast_to(dtype):
    """Set Keras' policy of mixed precision."""
    if hasattr(tf.keras.mixed_precision, "set_global_policy"):
        tf.keras.mixed_precision.set_global_policy("mixed_" + dtype)
    else:  # before TensorFlow 2.4
        tf.keras.mixed_precision.experimental.set_policy("mixed_" + dtype)


def set_seed(seed):
    """Make the weights drawn from here on depend on the seed alone.

    Keras draws a seed for each layer from Python's own generator.
    """
    random.seed(seed)
    tf.random.set_seed(seed)


def peak_memory(on_gpu):
    """Return this rank's peak in MiB: allocated on a GPU, where TensorFlow tells, or resident."""
    if not on_gpu:
        return peak_resident_mib()
    if not hasattr(tf.config.experimental, "get_memory_info"):
        return None
    return tf.config.experimental.get_memory_info("GPU:0")["peak"] / (1 << 20)
