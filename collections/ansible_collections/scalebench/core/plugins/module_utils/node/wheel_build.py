"""Build a wheel from source, under supervision."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from typing import Mapping

from .durable import replace
from .supervise import supervise

__all__ = ["build_wheel"]

_STALL = 600  # s without output: a compiler that hangs


def build_wheel(python: str, requirement: str, environment: Mapping[str, str], folder: str) -> str:
    """Build ``requirement`` against the packages of ``python``; return the wheel's path.

    The wheel is moved into ``folder``, durably, when it is complete. The build is ended when the
    controller goes away (the other end of standard output closes).

    :param requirement: one package with its exact version.
    :param environment: settings of the build, added to the environment of this process.
    :param folder: created if missing; ``build.log`` in it is the build's output.
    :raises ValueError: the build failed; the message has its last meaningful line and the log.
    :raises OSError: the folder cannot be written.
    """
    os.makedirs(folder, exist_ok=True)
    log = os.path.join(folder, "build.log")
    # What builds left that were killed; a compiler of theirs may still write there.
    for left in glob.glob(os.path.join(glob.escape(folder), "build-*")):
        shutil.rmtree(left, ignore_errors=True)
    work = tempfile.mkdtemp(prefix="build-", dir=folder)
    argv = [python, "-m", "pip", "wheel", "--verbose", "--no-deps", "--no-build-isolation"]
    argv += ["--no-cache-dir", "--no-binary", ":all:", "--wheel-dir", work, requirement]
    try:
        done = supervise(argv, log, {**environment, "TMPDIR": work}, 0, _STALL, controller=1)
        if done["ending"] != "ok":
            raise ValueError(f"{requirement}: {done['ending']}: {done['reason']} (log: {log})")
        (made,) = glob.glob(os.path.join(glob.escape(work), "*.whl"))
        wheel = os.path.join(folder, os.path.basename(made))
        replace(made, wheel)
        return wheel
    finally:
        shutil.rmtree(work, ignore_errors=True)
