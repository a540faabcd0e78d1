"""What spoiled the measurement on one GPU."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Tuple

__all__ = ["SLOWDOWNS", "gpu_disturbances"]

# Not sw_power_cap: a GPU that trains hard runs at its power limit, and does so every time. Not
# hw_slowdown: it "may be also reported during PState or clock change", and its two lasting causes
# have reasons of their own. Source: NVML API Reference Guide, nvmlClocksEventReasons.
SLOWDOWNS = ("sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")


def gpu_disturbances(
    gpu: Mapping[str, Any], limits: Mapping[str, float]
) -> Iterator[Tuple[str, str]]:
    """Yield kind (throttled, ecc, xid) and detail of what went wrong on a GPU.

    :param gpu: one of the ``gpus`` of a telemetry.
    :param limits: ``throttled_share``, ``ecc_uncorrected`` and ``xid`` of ``disturbances.LIMITS``.
    """
    name = f"GPU {gpu['index']}"
    for reason in SLOWDOWNS:
        share = gpu.get("throttle", {}).get(reason, 0)
        if share > limits["throttled_share"]:
            yield "throttled", f"{name}: {reason} in {share:.0%} of the samples"
    errors = gpu.get("ecc_uncorrected", 0)
    if errors > limits["ecc_uncorrected"]:
        yield "ecc", f"{name}: {errors} uncorrected memory errors"
    xid = gpu.get("xid", ())
    if len(xid) > limits["xid"]:
        yield "xid", f"{name}: Xid {', '.join(str(code) for code in xid)}"
