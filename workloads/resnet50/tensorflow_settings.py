"""What the TensorFlow trainer computes with: device, number format, memory layout, compiler."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import tensorflow.compat.v2 as tf
from host_facts import keep_freed_memory, processor_name
from report_lines import StoppedError

LOSS_SCALE = 128.0  # constant, as in NVIDIA's recipe


@dataclass(frozen=True)
class Settings:
    """The choices for one rank; `autocast` is None for fp32."""

    on_gpu: bool
    device_name: str
    autocast: str
    layout: str
    xla: bool

    @property
    def loss_scale(self):
        """Return what keeps small gradients of float16 above zero; the other formats need none."""
        return LOSS_SCALE if self.autocast == "float16" else 1.0


def choose(options, place):
    """Take this rank's device and fill in what the command line leaves open.

    :raises StoppedError: if there is no such device, or this TensorFlow cannot do it.
    """
    gpus = [] if options.device == "cpu" else tf.config.experimental.list_physical_devices("GPU")
    on_gpu = options.device == "gpu" or bool(gpus)
    if on_gpu and place.local_rank >= len(gpus):
        raise StoppedError(
            "no_device",
            f"this node has {place.local_size} ranks and {len(gpus)} GPUs that TensorFlow "
            f"{tf.__version__} can use",
        )
    old = tf.__version__.startswith("1.")
    if old and options.precision == "amp" and not on_gpu:
        raise StoppedError("no_device", "TensorFlow 1 has mixed precision on GPUs only")
    autocast = ("float16" if on_gpu else "bfloat16") if options.precision == "amp" else None
    # A CPU convolves channels-last only; tensor cores want it as well, a GPU in fp32 the other.
    layout = "NCHW" if on_gpu and autocast is None else "NHWC"
    name = _take_gpu(gpus[place.local_rank]) if on_gpu else processor_name()
    return Settings(on_gpu, name, autocast, layout, options.xla)


def apply(settings, options):
    """Set what is global to the process, before anything is computed."""
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(2 if settings.on_gpu else 1)
    set_seed(options.seed)
    if settings.autocast:
        _policy("mixed_" + settings.autocast)
    if not settings.on_gpu:
        keep_freed_memory()


def set_seed(seed):
    """Have weights drawn from here on depend on the seed alone.

    Keras draws a seed for each layer from Python's own generator.
    """
    random.seed(seed)
    tf.random.set_seed(seed)


def peak_memory_mib(settings):
    """Return the most device memory that TensorFlow had allocated, None where it does not tell."""
    if not settings.on_gpu or not hasattr(tf.config.experimental, "get_memory_info"):
        return None
    return tf.config.experimental.get_memory_info("GPU:0")["peak"] / (1 << 20)


def _take_gpu(gpu):
    # Threads of a GPU's own, so that the CPU's other work does not delay its kernels.
    os.environ.setdefault("TF_GPU_THREAD_MODE", "gpu_private")
    tf.config.experimental.set_visible_devices(gpu, "GPU")
    tf.config.experimental.set_memory_growth(gpu, True)
    details = getattr(tf.config.experimental, "get_device_details", lambda _gpu: {})(gpu)
    return details.get("device_name", gpu.name)


def _policy(name):
    if hasattr(tf.keras.mixed_precision, "set_global_policy"):
        tf.keras.mixed_precision.set_global_policy(name)
    else:  # before TensorFlow 2.4
        tf.keras.mixed_precision.experimental.set_policy(name)
