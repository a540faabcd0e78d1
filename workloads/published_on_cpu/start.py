#!/usr/bin/env python3
"""Run a published program, unchanged, on a node without GPUs: ``start.py PROGRAM ARGUMENTS``.

Relative paths among its arguments are below a folder of the repeat that is removed afterwards.
Standard library only, and the framework that is installed; runs on Python 3.7.
"""

import importlib
import importlib.util
import os
import runpy
import sys


def main():
    """Run the program as if Python had been started with it."""
    # mpirun starts all ranks in a folder that every node has.
    folder = os.path.join(os.environ["SCALEBENCH_RUN"] + ".files", "output")
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    if importlib.util.find_spec("mxnet"):
        mxnet = importlib.import_module("mxnet")
        # Its programs take devices from mxnet.gpu and have no option for others.
        mxnet.gpu = mxnet.cpu
    del sys.argv[0]
    sys.path[0] = os.path.dirname(sys.argv[0])
    runpy.run_path(sys.argv[0], run_name="__main__")
    if importlib.util.find_spec("paddle"):
        # PaddlePaddle 1.8's reading thread wakes while the interpreter ends, and aborts it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
