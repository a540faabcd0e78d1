"""Our calls of NVML against NVIDIA's own binding, and against the library of a real driver."""

import ctypes
import inspect
import os
import re
from pathlib import Path

import pytest
import stand_in_nvml
from ansible_collections.scalebench.core.plugins.module_utils.node import gpus, nvml

SYMBOLS = {*nvml.FUNCTIONS, *nvml.OLDER.values(), "nvmlErrorString"}
# Of the driver, as Debian's package libnvidia-ml1 has it; no GPU is needed to load it.
LIBRARY = os.environ.get("SCALEBENCH_NVML", nvml.LIBRARY)


@pytest.fixture
def pynvml():
    return pytest.importorskip("pynvml", reason="needs nvidia-ml-py: requirements-test.txt")


@pytest.fixture
def library():
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError as error:
        pytest.skip(f"{error}: install Debian's libnvidia-ml1, or name one in SCALEBENCH_NVML")


def test_functions_are_those_of_nvidia_s_binding(pynvml):
    source = inspect.getsource(pynvml)
    known = set(re.findall(r'_nvmlGetFunctionPointer\("(\w+)"\)', source))
    # What the binding no longer calls; older drivers have it, and so has every newer one.
    older = {
        "nvmlDeviceGetCurrentClocksThrottleReasons",
        "nvmlEventSetWait",
        "nvmlInit_v2",  # the binding calls nvmlInitWithFlags
    }
    assert SYMBOLS - older <= known


def test_types_are_those_of_nvidia_s_binding(pynvml):
    for ours, theirs in (
        (nvml.Utilization, pynvml.c_nvmlUtilization_t),
        (nvml.Memory, pynvml.c_nvmlMemory_t),
        (nvml.EventData, pynvml.c_nvmlEventData_t),
    ):
        fields = [field for field, _ in ours._fields_]
        assert fields == [field for field, _ in theirs._fields_]
        for field in fields:
            place, other = getattr(ours, field), getattr(theirs, field)
            assert (place.offset, place.size) == (other.offset, other.size), field
        assert ctypes.sizeof(ours) == ctypes.sizeof(theirs)
    assert ctypes.sizeof(nvml._TEXT) == pynvml.NVML_DEVICE_UUID_V2_BUFFER_SIZE
    assert ctypes.sizeof(nvml._TEXT) == pynvml.NVML_DEVICE_NAME_V2_BUFFER_SIZE


def test_values_are_those_of_nvidia_s_binding(pynvml):
    for ours in nvml.__all__:
        if ours.isupper() and ours not in ("LIBRARY", "XID_CRITICAL_ERROR"):
            assert getattr(nvml, ours) == getattr(pynvml, f"NVML_{ours}"), ours
    assert pynvml.nvmlEventTypeXidCriticalError == nvml.XID_CRITICAL_ERROR
    theirs = {
        value: re.sub(r"(?<!^)(?=[A-Z])", "_", name.partition("Reason")[2]).lower()
        for name, value in sorted(vars(pynvml).items())
        if re.match(r"nvmlClocks(Event|Throttle)Reason(?!None|All|s|UserDefined)", name)
    }
    assert theirs == gpus.REASONS
    for code in stand_in_nvml.ERRORS:
        assert code in vars(pynvml).values()


def test_the_driver_s_library_has_the_functions(library):
    """Of two names of a function one is enough."""
    for name in nvml.FUNCTIONS:
        assert any(hasattr(library, symbol) for symbol in (name, nvml.OLDER.get(name, name))), name


def test_the_driver_s_library_has_the_stand_in_s_words(library):
    library.nvmlErrorString.restype = ctypes.c_char_p
    assert {code: library.nvmlErrorString(code) for code in stand_in_nvml.ERRORS} == (
        stand_in_nvml.ERRORS
    )


def test_a_library_without_its_driver_is_a_reason(library):
    if Path("/proc/driver/nvidia").exists():
        pytest.skip("there is a driver")
    sampler = gpus.GpuSampler(nvml.Nvml(library))
    assert sampler.sample() == {}
    assert sampler.close() == "NVML: Driver Not Loaded"
