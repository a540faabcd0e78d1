"""What keeps a framework from the GPUs, by its own words."""

import functools
import json

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.preflight.framework_gpus import (
    framework_gpu_problem,
)

V100 = {"name": "Tesla V100-SXM2-16GB", "capability": "7.0", "error": ""}
STATE = {
    "version": "2.13.0+cu126",
    "built_for": "12.6",
    "architectures": ["sm_70", "sm_80"],
    "error": "",
    "devices": [V100, V100],
}
OLD_DRIVER = "The NVIDIA driver on your system is too old (found version 12040)."
NO_CODE = "CUDA error: no kernel image is available for execution on the device"


def problem(**changed):
    said = json.dumps({**STATE, **changed})
    return framework_gpu_problem({"rc": 0, "stdout": f"a warning\n{said}\n", "stderr": ""})


def test_a_framework_that_ran_on_each_gpu_has_no_problem():
    assert problem() == ""


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"built_for": None, "version": "2.13.0+cpu"}, "2.13.0+cpu is built without CUDA, and the"),
        ({"error": OLD_DRIVER, "devices": []}, f"cannot use the GPUs: {OLD_DRIVER}"),
        ({"devices": []}, "built for CUDA 12.6, finds no GPU. See dmesg"),
        (
            {"architectures": ["sm_75"], "devices": [V100, {**V100, "error": NO_CODE}]},
            "has code for sm_75; no kernel runs on GPU 1, Tesla V100-SXM2-16GB (capability 7.0):"
            f" {NO_CODE}. Install",
        ),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(changed, words):
    assert words in problem(**changed)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"version": 1}, "its answer.version is 1, not a text"),
        ({"devices": [{"name": "V100"}]}, "its answer.devices[0] has no capability, error"),
        ({"devices": None}, "its answer.devices is None, not a list"),
        ({"architectures": [7]}, "its answer.architectures[0] is 7, not a text"),
        ({"more": functools.reduce(lambda inner, _: [inner], range(900), [])}, "nested too deep"),
    ],
)
def test_an_answer_that_does_not_fit_is_no_pass(changed, words):
    assert problem(**changed) == f"the check of its GPUs ended with exit code 0: {words}"


def test_an_answer_without_its_end_is_no_pass():
    deep = {"rc": 0, "stdout": 100_000 * "[", "stderr": "a warning"}
    assert framework_gpu_problem(deep).endswith("exit code 0: nested too deep")
    few = {"rc": 0, "stdout": json.dumps({"version": "1", "built_for": "1", "devices": []})}
    assert framework_gpu_problem(few).endswith("0: its answer has no architectures, error")


@pytest.mark.parametrize("stdout", ["", "no JSON", "{}", "[]"])
def test_a_check_that_fails_itself_is_no_pass(stdout):
    result = {"rc": 1, "stdout": stdout, "stderr": "Traceback\nImportError: libcudart.so.12"}
    assert framework_gpu_problem(result) == (
        "the check of its GPUs ended with exit code 1: ImportError: libcudart.so.12"
    )
