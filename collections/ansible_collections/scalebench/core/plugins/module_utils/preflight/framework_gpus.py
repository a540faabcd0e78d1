"""Whether a framework can use the GPUs of its node, by what it says itself."""

from __future__ import annotations

from typing import Any, Mapping, cast

from ..records.node_facts import FrameworkState
from ..records.shape import check_shape, parse_json

__all__ = ["framework_gpu_problem"]

_ANOTHER = (
    "Install a package with CUDA for this driver and these GPUs: choose the stack_name that has one"
    " (docs/stacks.md), give framework_pip_arguments with the index of such packages and remove"
    " the environment, or name an interpreter with framework_python"
)


def framework_gpu_problem(result: Mapping[str, Any]) -> str:
    """Return what keeps a framework from the GPUs and what to do; empty if it ran on each.

    :param result: of the command that ran ``roles/framework/files/gpu_state_*.py``: ``rc``,
        ``stderr``, and as JSON in the last line of ``stdout`` the framework's ``version``, the CUDA
        that it is ``built_for``, ``error`` (of CUDA's start), ``architectures`` of its code, and
        its ``devices`` with ``name``, ``capability`` and ``error`` (of a kernel).
    """
    try:
        state = _state(str(result.get("stdout") or ""))
    except ValueError as error:
        words = str(result.get("stderr") or result.get("msg") or "").strip().splitlines()
        if result.get("rc") == 0 or not words:
            words = [str(error)]
        return f"the check of its GPUs ended with exit code {result.get('rc')}: {words[-1]}"
    version, built_for = f"version {state['version']}", state["built_for"]
    errors = [
        f"no kernel runs on GPU {index}, {device['name']} (capability {device['capability']}):"
        f" {device['error']}"
        for index, device in enumerate(state["devices"])
        if device["error"]
    ]
    if built_for is None:
        return f"{version} is built without CUDA, and the node has GPUs. {_ANOTHER}."
    built = f"{version}, built for CUDA {built_for}"
    if state["error"]:
        return f"{built}, cannot use the GPUs: {state['error']}. {_ANOTHER}."
    if not state["devices"]:
        return f"{built}, finds no GPU. See dmesg | grep NVRM."
    if errors:
        code = ", ".join(state["architectures"]) or "unknown GPUs"
        return f"{version} has code for {code}; {'; '.join(errors)}. {_ANOTHER}."
    return ""


def _state(output: str) -> FrameworkState:
    """Return what the last line of the output says.

    :raises ValueError: that is not what a framework says, and why.
    """
    state = parse_json("".join(output.strip().splitlines()[-1:]))
    check_shape(state, FrameworkState, "its answer", {})
    return cast(FrameworkState, state)
