"""The telemetry of a repeat in a few figures, and as tables."""

from __future__ import annotations

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.layout.sections import table_text
from ansible_collections.scalebench.core.plugins.module_utils.records.node_names import machines_of
from ansible_collections.scalebench.core.plugins.module_utils.report.optional_sections import (
    after_sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.repeats import short_telemetry
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import campaign, documented_rows, recorded


def telemetry(own=8.0, seconds=10.0, busy=16.0, **more):
    return {
        "seconds": seconds,
        "cpu": {"cores": 2, "own_seconds": own, "busy_seconds": busy},
        "memory_used_mib": {"min": 1.0, "mean": 900.0, "max": 2048.0},
        "network": {
            "eth0": {"received_mib": 5.0, "sent_mib": 20.0, "errors": 0},
            "lo": {"received_mib": 1.0, "sent_mib": 1.0, "errors": 0},
        },
        **more,
    }


def gpu(index, **changes):
    def spread(mean, most):
        return {"min": 0.0, "mean": mean, "max": most}

    return {
        "index": index,
        "utilisation": spread(90.0, 99.0),
        "memory_used_mib": spread(9000.0, 15360.0),
        "sm_clock_mhz": spread(1500.0, 1530.0),
        "power_w": spread(250.0, 300.0),
        "temperature_c": spread(50.0, 61.0),
        "throttle": {"gpu_idle": 0.5, "sw_power_cap": 0.2},
        **changes,
    }


def node(told):
    return {"ending": "ok", "telemetry": told}


def test_nodes_of_one_machine_are_judged_together():
    nodes = {"a": node(telemetry(own=3.0)), "b": node(telemetry(own=5.0))}
    shared = short_telemetry(nodes, {"a": "m", "b": "m"})
    assert (shared["cpu_busy_share"], shared["cpu_own_share"]) == (0.8, 0.4)
    apart = short_telemetry(nodes, {"a": "m", "b": "n"})
    assert apart["cpu_own_share"] == pytest.approx(0.2)


def test_the_node_that_ran_longest_tells_of_its_machine():
    nodes = {"a": node(telemetry(seconds=1.0, busy=2.0)), "b": node(telemetry(seconds=10.0))}
    found = short_telemetry(nodes, {"a": "m", "b": "m"})
    assert found["cpu_busy_share"] == 0.8
    assert found["link"]["mib_per_second"] == 2.0


def test_the_busiest_link_is_named():
    fabric = {"mlx5_0/1": {"received_mib": 51200.0, "sent_mib": 51100.0, "errors": 0}}
    assert short_telemetry({"a": node(telemetry())}, {})["link"] == {
        "name": "eth0",
        "mib_per_second": 2.0,
    }
    assert short_telemetry({"a": node(telemetry(infiniband=fabric))}, {})["link"] == {
        "name": "mlx5_0/1",
        "mib_per_second": 5120.0,
    }


def test_gpus_are_summed_up_over_all_nodes():
    hot = gpu(1, temperature_c={"min": 1.0, "mean": 1.0, "max": 80.0}, throttle={"gpu_idle": 1.0})
    slow = gpu(0, throttle={"sw_thermal_slowdown": 0.3, "sw_power_cap": 0.1})
    nodes = {"a": node(telemetry(gpus=[gpu(0), hot])), "b": node(telemetry(gpus=[slow]))}
    found = short_telemetry(nodes, {})
    assert found["gpu_utilisation"] == 90.0
    assert found["gpu_power_w"] == 250.0
    assert found["gpu_sm_clock_mhz"] == 1500.0
    assert found["gpu_temperature_c"] == 80.0
    assert found["gpu_memory_used_mib"] == 15360.0
    assert found["gpu_throttle"] == {"sw_power_cap": 0.2, "sw_thermal_slowdown": 0.3}


def test_what_no_node_told_is_not_there():
    assert short_telemetry({"a": node(None)}, {}) is None
    least = {"seconds": 2.0, "cpu": {"own_seconds": 1.0}}
    assert short_telemetry({"a": node(least)}, {}) == {}


def test_machines_are_told_by_their_kernel():
    nodes = {"a": {"boot_id": "k", "machine_id": "1"}, "b": {"boot_id": "k"}, "c": {}}
    assert machines_of(nodes) == {"a": "k", "b": "k", "c": "c"}


def reported(told):
    plan, _ = campaign({"1n1g": [10.0, 10.0], "2n1g": [20.0, 20.0]})
    runs = [
        recorded(cell, i, 10.0 * cell["nodes"], nodes={"a": node(told)})
        for cell in plan["cells"]
        for i in (1, 2)
    ]
    return build_results(plan, runs)


def test_the_plan_tells_which_nodes_are_one_machine():
    plan, _ = campaign({"2n1g": [20.0]})
    plan["nodes"] = {"a": {"boot_id": "k"}, "b": {"boot_id": "k"}}
    told = {"a": node(telemetry(own=3.0)), "b": node(telemetry(own=5.0))}
    results = build_results(plan, [recorded(plan["cells"][0], 1, 20.0, nodes=told)])
    (repeat,) = results["cells"][0]["repeats"]
    assert repeat["telemetry"]["cpu_own_share"] == 0.4


def telemetry_tables(results):
    return [table_text(one) for part in after_sections(results) for one in part["tables"]]


def columns(table):
    return [[word.strip() for word in line.strip("|").split("|")] for line in table.splitlines()]


def test_tables_have_a_row_a_cell_and_fit():
    (table,) = telemetry_tables(reported(telemetry()))
    _, _, one, two = columns(table)
    assert one == ["1n1g", "80", "40", "2.00", "eth0", "2.00"]
    assert two[0] == "2n1g"
    machines, gpus = telemetry_tables(reported(telemetry(gpus=[gpu(0)])))
    assert columns(gpus)[2] == ["1n1g", "90", "15.00", "250", "1500", "61", "sw_power_cap 20%"]
    _, cool = telemetry_tables(reported(telemetry(gpus=[gpu(0, throttle={"gpu_idle": 0.1})])))
    assert columns(cool)[2][-1] == "no"
    assert all(len(line) <= 120 for line in (machines + "\n" + gpus).splitlines())


def test_the_documentation_says_what_each_column_means():
    tables = telemetry_tables(reported(telemetry(gpus=[gpu(0)])))
    titles = {title for table in tables for title in columns(table)[0]} - {"cell"}
    told = [row[0] for row in documented_rows("reading-a-report.md", "Telemetry")]
    missing = titles - {*told, *", ".join(told).split(", ")}
    assert not missing, "add rows to the section Telemetry of docs/reading-a-report.md"


def test_without_telemetry_there_is_no_table():
    assert telemetry_tables(build_results(*campaign({"1n1g": [10.0]}))) == []
