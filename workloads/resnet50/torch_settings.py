"""What the PyTorch trainer computes with: device, number format, memory layout, kernels."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass

import torch
from host_facts import keep_freed_memory, processor_name
from rank_place import Place
from report_lines import StoppedError

SMALL_BATCH = 16  # images; from here on PyTorch's own CPU convolution turns to NNPACK and is slow
SMALL_PIXELS = 16 * 32 * 32  # of a batch; above, oneDNN's reordering of weights pays off


@dataclass(frozen=True)
class Settings:
    """The choices for one rank; `autocast` is None for fp32."""

    device: torch.device
    autocast: torch.dtype | None
    channels_last: bool
    onednn: bool
    bucket_mb: int

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"

    @property
    def layout(self) -> torch.memory_format:
        return torch.channels_last if self.channels_last else torch.contiguous_format


def choose(options: Namespace, place: Place) -> Settings:
    """Fill in what the command line leaves open.

    On a CPU: channels-last is faster in fp32, slower in bf16. With few pixels oneDNN spends longer
    on reordering weights for each step than on convolving, and PyTorch's own convolution is faster.
    All gradients travel in one bucket: no core is idle that could overlap their exchange.

    :raises StoppedError: if there is no such device.
    """
    device = choose_device(options.device, place)
    on_gpu = device.type == "cuda"
    autocast = autocast_dtype(options, on_gpu)
    small = (
        options.batch_size < SMALL_BATCH
        and options.batch_size * options.image_size**2 <= SMALL_PIXELS
    )
    return Settings(
        device,
        autocast,
        _either(options.channels_last, on_gpu or autocast is None),
        _either(options.onednn, autocast is not None or not small) and not on_gpu,
        options.bucket_mb or (25 if on_gpu else 128),
    )


def choose_device(wanted: str, place: Place) -> torch.device:
    """Return this rank's device.

    :raises StoppedError: if GPUs are wanted and this node has too few that PyTorch can use.
    """
    found = torch.cuda.device_count() if wanted != "cpu" and torch.cuda.is_available() else 0
    if wanted == "cpu" or (wanted == "auto" and not found):
        return torch.device("cpu")
    if place.local_rank >= found:
        raise StoppedError(
            "no_device",
            f"this node has {place.local_size} ranks and {found} GPUs that PyTorch "
            f"{torch.__version__} (CUDA {torch.version.cuda}) can use",
        )
    return torch.device("cuda", place.local_rank)


def autocast_dtype(options: Namespace, on_gpu: bool) -> torch.dtype | None:
    """Return the type that amp computes in, None for fp32.

    :raises StoppedError: for fp16 without a GPU.
    """
    if options.precision == "fp32":
        return None
    name = options.amp_dtype or ("fp16" if on_gpu else "bf16")
    if name == "fp16" and not on_gpu:
        raise StoppedError("no_device", "fp16 autocast needs a GPU; a CPU has --amp-dtype bf16")
    return {"fp16": torch.float16, "bf16": torch.bfloat16}[name]


def apply(settings: Settings, options: Namespace) -> None:
    """Set what is global to the process."""
    torch.set_num_threads(options.threads)
    if not settings.on_gpu:
        torch.backends.mkldnn.set_flags(settings.onednn)
        keep_freed_memory()
        return
    torch.cuda.set_device(settings.device)
    torch.backends.cudnn.benchmark = True
    if hasattr(torch.backends.cuda.matmul, "fp32_precision"):  # since PyTorch 2.9
        precision = "tf32" if options.tf32 else "ieee"
        torch.backends.cuda.matmul.fp32_precision = precision
        torch.backends.cudnn.conv.fp32_precision = precision
    else:
        torch.backends.cuda.matmul.allow_tf32 = options.tf32
        torch.backends.cudnn.allow_tf32 = options.tf32


def device_name(device: torch.device) -> str:
    """Return the GPU's name, or the processor's as Linux tells it."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return processor_name()


def _either(asked: bool | None, otherwise: bool) -> bool:
    return otherwise if asked is None else asked
