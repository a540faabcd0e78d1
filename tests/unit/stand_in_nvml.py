"""Stands in for libnvidia-ml.so.1: answers what the tests put into ``gpus``, through ctypes.

Its functions, their arguments and the words of its errors are NVML's; test_node_nvml.py compares
them with NVIDIA's binding and with the driver's library, where these are there. A function or an
error that it does not have here, the real library does not have either. It leaves unproven: that a
real GPU answers, what the calls cost, and that a real Xid arrives.
"""

import ctypes

# nvmlReturn_t and nvmlErrorString.
ERRORS = {
    1: b"Uninitialized",
    2: b"Invalid Argument",
    3: b"Not Supported",
    9: b"Driver Not Loaded",
    10: b"Timeout",
    15: b"GPU is lost",
}
UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, DRIVER_NOT_LOADED, TIMEOUT, GPU_IS_LOST = ERRORS
# Functions that fill one value for a GPU, with the number of arguments between.
FIGURES = {
    "nvmlDeviceGetUtilizationRates": 0,
    "nvmlDeviceGetMemoryInfo": 0,
    "nvmlDeviceGetPowerUsage": 0,
    "nvmlDeviceGetEnforcedPowerLimit": 0,
    "nvmlDeviceGetCurrentClocksEventReasons": 0,
    "nvmlDeviceGetCurrentClocksThrottleReasons": 0,
    "nvmlDeviceGetClockInfo": 1,
    "nvmlDeviceGetTemperature": 1,
    "nvmlDeviceGetTotalEccErrors": 2,
}
TEXTS = ("nvmlDeviceGetUUID", "nvmlDeviceGetName")


class StandInLibrary:
    """A GPU is a dict from function to answer, without it not supported; None is a lost GPU.

    :param without: functions that this driver does not have.
    """

    def __init__(self, gpus, error=0, without=()):
        self.gpus = gpus
        self.error = error
        self.without = without
        self.event_sets = {}
        self.open = 0

    def __getattr__(self, name):
        if name in self.without or name not in (*TEXTS, *FIGURES):
            raise AttributeError(f"undefined symbol: {name}")
        if name in TEXTS:
            return lambda handle, out, size: self._text(name, handle, out, size)
        return lambda handle, *arguments: self._figure(name, handle, *arguments)

    def _gpu(self, handle):
        return self.gpus[handle.value - 1]

    def _text(self, name, handle, out, size):
        text = self._gpu(handle).get(name)
        if text is None:
            return NOT_SUPPORTED
        assert ctypes.sizeof(out._obj) == size.value > len(text)
        out._obj.value = text.encode()
        return 0

    def _figure(self, name, handle, *arguments):
        *chosen, out = arguments
        if len(chosen) != FIGURES[name]:
            return INVALID_ARGUMENT
        values = tuple(argument.value for argument in chosen)
        answer = self._gpu(handle).get((name, *values) if values else name)
        if answer is None:
            return NOT_SUPPORTED
        for field, value in (answer if isinstance(answer, dict) else {"value": answer}).items():
            setattr(out._obj, field, value)
        return 0

    class nvmlErrorString:  # noqa: N801 - the library's name; ctypes sets its result type
        def __new__(cls, code):
            return ERRORS[code]

    def nvmlInit_v2(self):  # noqa: N802
        self.open += not self.error
        return self.error

    def nvmlShutdown(self):  # noqa: N802
        if not self.open:
            return UNINITIALIZED
        self.open -= 1
        return 0

    def nvmlDeviceGetCount_v2(self, out):  # noqa: N802
        out._obj.value = len(self.gpus)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index, out):  # noqa: N802
        if index.value >= len(self.gpus):
            return INVALID_ARGUMENT
        out._obj.value = index.value + 1
        return GPU_IS_LOST if self.gpus[index.value] is None else 0

    def nvmlEventSetCreate(self, out):  # noqa: N802
        out._obj.value = 100 + len(self.event_sets)
        self.event_sets[out._obj.value] = None
        return 0

    def nvmlDeviceRegisterEvents(self, handle, types, events):  # noqa: N802
        gpu = self._gpu(handle)
        if "xid" not in gpu or types.value != 8:
            return NOT_SUPPORTED
        self.event_sets[events.value] = gpu
        return 0

    def nvmlEventSetWait_v2(self, events, out, milliseconds):  # noqa: N802
        codes = self.event_sets[events.value]["xid"]
        if not codes or milliseconds.value:
            return TIMEOUT
        out._obj.eventType, out._obj.eventData = 8, codes.pop(0)
        return 0

    def nvmlEventSetFree(self, events):  # noqa: N802
        del self.event_sets[events.value]
        return 0
