"""Samples of counters and gauges become a summary."""

import statistics

from ansible_collections.scalebench.core.plugins.module_utils.telemetry.telemetry import (
    GpuTelemetry,
    Spread,
    Telemetry,
)
from hypothesis import given
from hypothesis import strategies as some

BEFORE = {
    "time": 100.0,
    "load": 0.25,
    "cpu": {"cores": 2, "busy_seconds": 1000.0, "iowait_seconds": 5.0, "steal_seconds": 1.0},
    "network": {
        "lo": {"received_bytes": 0, "sent_bytes": 0, "errors": 0},
        "gone": {"received_bytes": 7, "sent_bytes": 7, "errors": 0},
    },
    "infiniband": {"mlx5_0/1": {"received_bytes": 2**21, "link_downed": 1}},
    "cpu_throttle_events": 4,
}
AFTER = {
    "time": 110.5,
    "load": 1.5,
    "cpu": {"cores": 2, "busy_seconds": 1012.5, "iowait_seconds": 4.9, "steal_seconds": 1.5},
    "network": {"lo": {"received_bytes": 3 * 2**20, "sent_bytes": 2**19, "errors": 2}},
    "infiniband": {"mlx5_0/1": {"received_bytes": 2**22, "link_downed": 2}},
    "cpu_throttle_events": 4,
}


def summary(*samples, before=BEFORE, after=AFTER):
    telemetry = Telemetry(2.0, before)
    for sample in samples:
        telemetry.add(sample)
    return telemetry.summary(after, own_seconds=11.25, sampling_seconds=0.0123)


def test_counters_are_differences_and_never_negative():
    found = summary()
    assert (found["interval"], found["samples"], found["seconds"]) == (2.0, 0, 10.5)
    assert found["cpu"] == {
        "own_seconds": 11.25,
        "cores": 2,
        "busy_seconds": 12.5,
        "iowait_seconds": 0,
        "steal_seconds": 0.5,
    }
    assert found["cpu_throttle_events"] == 0
    assert found["sampling_seconds"] == 0.0123


def test_traffic_is_in_mib_by_interface_that_was_there_all_the_time():
    found = summary()
    assert found["network"] == {"lo": {"received_mib": 3.0, "sent_mib": 0.5, "errors": 2}}
    assert found["infiniband"] == {"mlx5_0/1": {"received_mib": 2.0, "link_downed": 1}}


def test_gauges_are_spread_over_the_samples_and_the_load_before_stays_apart():
    found = summary(
        {"load": 1.0, "memory_used_mib": 100.0, "cpu_mhz": 2000.0},
        {"load": 3.0, "memory_used_mib": 300.0},
    )
    assert found["samples"] == 2
    assert found["load"] == {"before": 0.25, "min": 1.0, "mean": 2.0, "max": 3.0}
    assert found["memory_used_mib"] == {"min": 100.0, "mean": 200.0, "max": 300.0}
    assert found["cpu_mhz"] == {"min": 2000.0, "mean": 2000.0, "max": 2000.0}


def test_what_is_sampled_is_kept_whatever_its_name():
    once = {"min": 61.5, "mean": 61.5, "max": 61.5}
    assert summary({"cpu_temperature_c": 61.5})["cpu_temperature_c"] == once
    gpu = GpuTelemetry()
    gpu.add({"index": 0, "memory_temperature_c": 61.5, "throttle": [], "xid": []})
    assert gpu.summary()["memory_temperature_c"] == once


def test_what_a_node_does_not_have_is_absent():
    found = summary({}, before={"time": 1.0}, after={"time": 2.0})
    assert found == {
        "interval": 2.0,
        "samples": 1,
        "seconds": 1.0,
        "cpu": {"own_seconds": 11.25},
        "sampling_seconds": 0.0123,
    }


def test_a_gpu_has_spreads_shares_of_reasons_and_errors_of_the_repeat_only():
    gpu = GpuTelemetry()
    known = {"index": 3, "uuid": "GPU-3", "name": "H100", "power_limit_w": 700.0}
    gpu.add({**known, "power_w": 100.0, "throttle": ["gpu_idle"], "ecc_uncorrected": 7, "xid": []})
    gpu.add({**known, "power_w": 650.0, "throttle": [], "ecc_uncorrected": 7, "xid": [63]})
    gpu.add({**known, "power_w": 690.0, "throttle": ["sw_power_cap"], "ecc_uncorrected": 9})
    gpu.add({**known, "power_w": 700.0, "throttle": ["sw_power_cap"], "xid": [94]})
    assert gpu.summary() == {
        **known,
        "power_w": {"min": 100.0, "mean": 535.0, "max": 700.0},
        "throttle": {"gpu_idle": 0.25, "sw_power_cap": 0.5},
        "ecc_uncorrected": 2,
        "xid": [63, 94],
    }


def test_reasons_and_interfaces_are_in_order_of_their_names():
    gpu, names = GpuTelemetry(), ["sw_power_cap", "hw_slowdown", "gpu_idle", "sync_boost"]
    gpu.add({"index": 0, "throttle": names})
    assert list(gpu.summary()["throttle"]) == sorted(names)
    ports = {f"eth{number}": {"sent_bytes": 0} for number in range(9, -1, -1)}
    network = {"time": 1.0, "network": ports}
    assert list(summary(before=network, after=network)["network"]) == sorted(ports)


def test_what_only_one_reading_has_is_absent():
    for before, after in ((BEFORE, {"time": 110.0}), ({"time": 100.0}, AFTER)):
        found = summary(before=before, after=after)
        assert not {"cpu_throttle_events", "network", "infiniband"} & set(found)


def test_a_gauge_without_a_value_has_no_spread():
    assert Spread().summary() == {}


def test_a_gpu_with_few_figures_has_only_those():
    gpu = GpuTelemetry()
    gpu.add({"index": 0, "temperature_c": 40})
    assert gpu.summary() == {"index": 0, "temperature_c": {"min": 40, "mean": 40, "max": 40}}


def test_gpus_are_kept_apart_and_in_order():
    found = summary({"gpus": [{"index": 1, "uuid": "b"}, {"index": 0, "uuid": "a"}]})
    assert found["gpus"] == [{"index": 0, "uuid": "a"}, {"index": 1, "uuid": "b"}]


@given(some.lists(some.integers(-(10**6), 10**6), min_size=1))
def test_a_spread_is_that_of_all_values(values):
    spread = Spread()
    for value in values:
        spread.add(value)
    assert spread.summary() == {
        "min": min(values),
        "mean": round(statistics.fmean(values), 3),
        "max": max(values),
    }
