"""What the MXNet trainer computes with: device, number format, memory layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mxnet as mx
from report_lines import StoppedError

BEFORE_BFLOAT16 = ("1.5.", "1.6.")


@dataclass(frozen=True)
class Settings:
    """The choices for one rank; `autocast` is None unless some operators compute in less."""

    device: Any
    dtype: str
    autocast: Any
    layout: str

    @property
    def on_gpu(self):
        """Return whether the device is a GPU."""
        return self.device.device_type == "gpu"


def choose(options, place):
    """Fill in what the command line leaves open.

    amp is float16 with loss scaling on a GPU and bfloat16 on a CPU. fp16 keeps the weights in
    float16 as well, as the published runs that are called AMP did. cuDNN's float16 kernels want
    NHWC; oneDNN has none for it.

    :raises StoppedError: if there is no such device, or it does not compute like that.
    """
    device = choose_device(options.device, place)
    on_gpu = device.device_type == "gpu"
    if options.precision == "fp16" and not on_gpu:
        raise StoppedError("no_device", "fp16 needs a GPU; a CPU has --precision amp, in bfloat16")
    autocast = ("float16" if on_gpu else "bfloat16") if options.precision == "amp" else None
    if autocast == "bfloat16" and mx.__version__.startswith(BEFORE_BFLOAT16):
        raise StoppedError("no_device", f"MXNet {mx.__version__} has amp on a GPU alone")
    layout = "NHWC" if on_gpu and options.precision != "fp32" else "NCHW"
    dtype = "float16" if options.precision == "fp16" else "float32"
    return Settings(device, dtype, autocast, options.layout or layout)


def choose_device(wanted, place):
    """Return this rank's device.

    :raises StoppedError: if GPUs are wanted and this node has too few that MXNet can use.
    """
    found = 0 if wanted == "cpu" else mx.context.num_gpus()
    if wanted == "cpu" or (wanted == "auto" and not found):
        return mx.cpu()
    if place.local_rank >= found:
        raise StoppedError(
            "no_device",
            f"this node has {place.local_size} ranks and {found} GPUs that MXNet "
            f"{mx.__version__} can use",
        )
    return mx.gpu(place.local_rank)
