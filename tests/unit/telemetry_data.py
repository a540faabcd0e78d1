"""A telemetry in which nothing went wrong, to be spoiled by tests."""

import copy


def telemetry(own=50.0, busy=51.0, seconds=30.0, **figures):
    """Return the telemetry of a node with 2 cores; ``figures`` replace its own."""
    cpu = {"cores": 2, "own_seconds": own, "busy_seconds": busy, "iowait_seconds": 0}
    cpu.update({"irq_seconds": 3.0, "steal_seconds": 0.0})
    link = {"received_mib": 800.0, "sent_mib": 800.0, "errors": 0}
    found = {
        "interval": 2.0,
        "samples": 15,
        "seconds": seconds,
        "cpu": cpu,
        "load": {"before": 0.2, "min": 0.2, "mean": 2.0, "max": 3.1},
        "memory_stall_seconds": 0,
        "swapped_in_mib": 0,
        "cpu_throttle_events": 0,
        "network": {"eth0": link},
        "infiniband": {"mlx5_0/1": {**link, "link_downed": 0}},
        "gpus": [gpu(0), gpu(1)],
        "sampling_seconds": 0.01,
    }
    found.update(figures)
    return copy.deepcopy(found)


def gpu(index, **figures):
    """Return the telemetry of a GPU that trains at its power limit."""
    throttle = {"gpu_idle": 0.1, "sw_power_cap": 0.9, "hw_slowdown": 0.07}
    found = {"index": index, "throttle": throttle, "ecc_uncorrected": 0, "xid": []}
    return {**found, **figures}


def node(boot_id="one", **figures):
    """Return a node as ``disturbances.find`` takes it."""
    return {"telemetry": telemetry(**figures), "boot_id": boot_id}
