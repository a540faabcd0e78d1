"""NVML, the library of NVIDIA's driver that nvidia-smi uses, called through ctypes.

It comes with every driver, so telemetry needs no package for the node's Python. Names, types and
values are those of nvml.h as NVIDIA's own binding declares them (``nvidia-ml-py``, pynvml.py); a
test compares both.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Mapping, Tuple

__all__ = [
    "CLOCK_MEM",
    "CLOCK_SM",
    "LIBRARY",
    "MEMORY_ERROR_TYPE_UNCORRECTED",
    "TEMPERATURE_GPU",
    "VOLATILE_ECC",
    "XID_CRITICAL_ERROR",
    "Nvml",
    "NvmlError",
]

LIBRARY = "libnvidia-ml.so.1"
CLOCK_SM, CLOCK_MEM = 1, 2
TEMPERATURE_GPU = 0
MEMORY_ERROR_TYPE_UNCORRECTED, VOLATILE_ECC = 1, 0
XID_CRITICAL_ERROR = 8
_TEXT = ctypes.c_char * 96
# The place of the result among a function's arguments, and the two kinds of handles.
_OUT = object()
_GPU = _EVENTS = ctypes.c_void_p


class NvmlError(Exception):
    """A function failed, or this driver does not have it; with NVML's words."""


class Utilization(ctypes.Structure):
    """``nvmlUtilization_t``, in percent."""

    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class Memory(ctypes.Structure):
    """``nvmlMemory_t``, in bytes."""

    _fields_ = tuple((name, ctypes.c_ulonglong) for name in ("total", "free", "used"))


class EventData(ctypes.Structure):
    """``nvmlEventData_t``; the data of a critical Xid error is its code."""

    _fields_ = (
        ("device", ctypes.c_void_p),
        ("eventType", ctypes.c_ulonglong),
        ("eventData", ctypes.c_ulonglong),
        ("gpuInstanceId", ctypes.c_uint),
        ("computeInstanceId", ctypes.c_uint),
    )


# By function: the type of its result, then its arguments in their order. A value among them is
# always the same.
FUNCTIONS: Mapping[str, Tuple[Any, ...]] = {
    "nvmlInit_v2": (None,),
    "nvmlShutdown": (None,),
    "nvmlDeviceGetCount_v2": (ctypes.c_uint, _OUT),
    "nvmlDeviceGetHandleByIndex_v2": (_GPU, ctypes.c_uint, _OUT),
    "nvmlDeviceGetUUID": (_TEXT, _GPU, _OUT, ctypes.c_uint(96)),
    "nvmlDeviceGetName": (_TEXT, _GPU, _OUT, ctypes.c_uint(96)),
    "nvmlDeviceGetUtilizationRates": (Utilization, _GPU, _OUT),
    "nvmlDeviceGetMemoryInfo": (Memory, _GPU, _OUT),
    "nvmlDeviceGetPowerUsage": (ctypes.c_uint, _GPU, _OUT),
    "nvmlDeviceGetEnforcedPowerLimit": (ctypes.c_uint, _GPU, _OUT),
    "nvmlDeviceGetClockInfo": (ctypes.c_uint, _GPU, ctypes.c_int, _OUT),
    "nvmlDeviceGetTemperature": (ctypes.c_uint, _GPU, ctypes.c_int, _OUT),
    "nvmlDeviceGetCurrentClocksEventReasons": (ctypes.c_ulonglong, _GPU, _OUT),
    "nvmlDeviceGetTotalEccErrors": (*(ctypes.c_ulonglong, _GPU, ctypes.c_int, ctypes.c_int, _OUT),),
    "nvmlEventSetCreate": (_EVENTS, _OUT),
    "nvmlDeviceRegisterEvents": (None, _GPU, ctypes.c_ulonglong, _EVENTS),
    "nvmlEventSetWait_v2": (EventData, _EVENTS, _OUT, ctypes.c_uint),
    "nvmlEventSetFree": (None, _EVENTS),
}
# Older names of functions; 470 has throttle reasons, 535 both.
OLDER = {
    "nvmlDeviceGetCurrentClocksEventReasons": "nvmlDeviceGetCurrentClocksThrottleReasons",
    "nvmlEventSetWait_v2": "nvmlEventSetWait",
}


class Nvml:
    """The functions of NVML that telemetry calls.

    :param library: the loaded library.
    """

    def __init__(self, library: Any) -> None:
        self._library = library

    def call(self, name: str, *values: Any) -> Any:
        """Return the result of a function: a number, a text, a structure or None.

        :param name: one of :data:`FUNCTIONS`.
        :param values: its arguments but for the result.
        :raises NvmlError: it fails or is not there.
        """
        kind, *types = FUNCTIONS[name]
        result: Any = None if kind is None else kind()
        given = iter(values)
        arguments = [
            ctypes.byref(result)
            if wanted is _OUT
            else (wanted(next(given)) if isinstance(wanted, type) else wanted)
            for wanted in types
        ]
        code = self._function(name)(*arguments)
        if code:
            describe = self._library.nvmlErrorString
            describe.restype = ctypes.c_char_p
            raise NvmlError(describe(code).decode())
        answer = getattr(result, "value", result)
        return answer.decode() if isinstance(answer, bytes) else answer

    def ask(self, name: str, *values: Any) -> Any:
        """Return the result of a function; None where it is not supported or fails."""
        with contextlib.suppress(NvmlError):
            return self.call(name, *values)
        return None

    def _function(self, name: str) -> Any:
        for symbol in (name, OLDER.get(name, name)):
            with contextlib.suppress(AttributeError):
                return getattr(self._library, symbol)
        raise NvmlError(f"this driver has no {name}")
