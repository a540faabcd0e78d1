"""What a trainer's process has of its machine, and how it ends. Needs no framework."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import time
from pathlib import Path


def can_compile():
    """Return whether this machine has what torch.compile compiles its own code with."""
    compilers = [os.environ.get("CXX", ""), "g++", "clang++"]
    header = os.path.join(sysconfig.get_path("include"), "Python.h")
    return any(map(shutil.which, compilers)) and os.path.exists(header)


def need_compiler(parser):
    """End with `parser.error` where torch.compile could not compile."""
    if not can_compile():
        parser.error(
            "--compile needs a C++ compiler and the headers of this Python: apt-get install g++"
            f" python{sys.version_info.major}.{sys.version_info.minor}-dev"
        )


def keep_fp32(precision):
    """Have NVIDIA's libraries, which read this when they are loaded, not compute fp32 in TF32.

    On GPUs from Ampere on cuDNN does so by default, and TensorFlow asks for it.
    """
    if precision == "fp32":
        os.environ["NVIDIA_TF32_OVERRIDE"] = "0"


def end_now(status):
    """End without Python's own shutdown.

    Gloo's threads may release Python objects during it, which hangs or aborts the process now and
    then (https://github.com/pytorch/pytorch/issues/190489).
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def seconds_since_launch():
    """Return the age of torchrun's process, or of this one where torchrun did not start it.

    Torchrun starts a process for each rank, whose environment has the job's name.
    """
    under_torchrun = "TORCHELASTIC_RUN_ID" in os.environ
    return age(os.getppid() if under_torchrun else os.getpid())


def age(process):
    """Return the seconds since a process started; its start is known to 1 / 100 s (proc(5))."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")  # field 22, starttime
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
