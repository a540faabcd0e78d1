"""Stands in for NVML's Python binding: answers what the tests put into ``gpus``.

It shows that units are converted, that what a GPU does not support is left out, and that errors do
not get through. It leaves unproven: that the real driver answers these calls as its reference says,
what they cost, that waiting 0 ms for an event returns at once, and that a real Xid arrives.
"""

from types import SimpleNamespace


class NVMLError(Exception):
    """Every error of the binding."""


class StandInNvml:
    """The calls that are used; a GPU is a dict from call to answer, without it not supported."""

    NVMLError = NVMLError
    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    NVML_TEMPERATURE_GPU = 0
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1
    NVML_VOLATILE_ECC = 0
    nvmlEventTypeXidCriticalError = 8  # noqa: N815 - the binding's name

    def __init__(self, gpus, problem=""):
        self.gpus = gpus
        self.problem = problem
        self.event_sets = []
        self.open = 0

    def nvmlInit(self):  # noqa: N802
        if self.problem:
            raise NVMLError(self.problem)
        self.open += 1

    def nvmlShutdown(self):  # noqa: N802
        if not self.open:
            raise NVMLError("Uninitialized")
        self.open -= 1

    def nvmlDeviceGetCount(self):  # noqa: N802
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index):  # noqa: N802
        if self.gpus[index] is None:
            raise NVMLError("GPU is lost")
        return self.gpus[index]

    def nvmlEventSetCreate(self):  # noqa: N802
        self.event_sets.append(SimpleNamespace(gpu=None))
        return self.event_sets[-1]

    def nvmlDeviceRegisterEvents(self, handle, types, events):  # noqa: N802
        if "xid" not in handle or types != self.nvmlEventTypeXidCriticalError:
            raise NVMLError("Not Supported")
        events.gpu = handle

    def nvmlEventSetWait_v2(self, events, milliseconds):  # noqa: N802
        if not events.gpu["xid"] or milliseconds:
            raise NVMLError("Timeout")
        return SimpleNamespace(eventData=events.gpu["xid"].pop(0))

    def nvmlEventSetFree(self, events):  # noqa: N802
        self.event_sets.remove(events)

    def __getattr__(self, call):
        if not call.startswith("nvmlDeviceGet"):
            raise AttributeError(call)

        def answer(handle, *arguments):
            key = (call, *arguments) if arguments else call
            if key not in handle:
                raise NVMLError("Not Supported")
            return handle[key]

        return answer
