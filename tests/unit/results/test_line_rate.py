"""The line rate of the adapters that carried a cell's messages."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.report.collectives_text import (
    collective_sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.collectives import line_rate
from collective_data import results_of


def port(rate, state="4: ACTIVE"):
    return {"rate": rate, "state": state}


def node(speed=None, *ports):
    cards = {"eth0": {"mtu": 1500, "speed_mbit": speed}, "eth1": {"speed_mbit": 1000}}
    adapters = {f"mlx5_{n}": {"ports": {"1": port}} for n, port in enumerate(ports)}
    return {"interfaces": cards, "infiniband": adapters}


EDR = "100 Gb/sec (4X EDR)"


@pytest.mark.parametrize(
    ("nodes", "ways", "rate"),
    [
        ([node(10000), node(25000)], ["TCP/eth0"], 1250.0),
        ([node(10000), node(None)], ["TCP/eth0"], None),
        ([node(10000), node(10000)], ["TCP/eth0", "TCP/eth1"], None),
        ([node(10000), node(10000)], ["NET/Socket"], None),
        ([node(10000), node(10000)], ["TCP/wlan0"], None),
        ([node(10000)], ["TCP/eth0"], None),
        ([node(None, port(EDR), port(EDR))] * 2, ["NET/IB/GDRDMA", "P2P/IPC"], 25000.0),
        ([node(None, port(EDR), port(EDR, "1: DOWN"))] * 2, ["NET/IB"], 12500.0),
        ([node(None, port(EDR)), node(None, port("56 Gb/sec (4X FDR)"))], ["NET/IB"], 7000.0),
        ([node(None, port(EDR), port("unknown"))] * 2, ["NET/IB"], None),
        ([node(), node()], ["NET/IB"], None),
        ([{}, {}], ["NET/IB"], None),
        ([{"infiniband": {"mlx5_0": {}}}] * 2, ["NET/IB"], None),
    ],
)
def test_of_the_way_that_was_taken_and_of_the_slowest_node(nodes, ways, rate):
    named = {f"node{number}": one for number, one in enumerate(nodes)}
    assert line_rate(named, list(named), ways) == rate


def test_the_report_has_the_share_of_the_line_rate():
    cluster = {f"node{number}": node(10000) for number in range(1, 5)}
    results = results_of(cluster=cluster, ways=["TCP/eth0"])
    assert {group["line_rate"] for group in results["collectives"]["groups"]} == {1250.0}
    (section,) = collective_sections(results)
    sizes = section["tables"][1]
    titles = [column["name"] for column in sizes["columns"]]
    largest = dict(zip(titles, (cell["value"] for cell in sizes["rows"][3]), strict=True))
    share = 100 * largest["busbw, MB/s"] / 1250
    assert largest["of the line rate %"] == pytest.approx(share)
    assert 10 < share < 100
    assert "The line rate is" in section["paragraphs"][0]


def test_without_it_nothing_is_said():
    (section,) = collective_sections(results_of())
    assert "line rate" not in section["paragraphs"][0]
