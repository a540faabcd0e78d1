"""Tables: the rows that the reference efforts print, and aligned text."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.layout import table
from ansible_collections.scalebench.core.plugins.module_utils.results import scaling
from ansible_collections.scalebench.core.plugins.module_utils.stats.statistics import spread
from ansible_collections.scalebench.core.plugins.module_utils.topology import parse_topology
from published_data import by_series

PRINTED = """\
| node_num | gpu_num | samples/s | speedup |
| -------: | ------: | --------: | ------: |
|        1 |       1 |    362.44 |    1.00 |
|        1 |       4 |   1391.28 |    3.84 |
|        1 |       8 |   2721.98 |    7.51 |
|        2 |      16 |   5099.42 |   14.07 |
|        4 |      32 |   9514.64 |   26.25 |"""


def reference_table(facts):
    """Return the table that the reference efforts print, of the facts of one model."""
    rows = []
    for place, figures in facts.items():
        nodes, devices = parse_topology(place)
        speeds = {"samples/s": figures["median_speed"], "speedup": figures["speedup"]}
        rows.append({"node_num": nodes, "gpu_num": nodes * devices, **speeds})
    return table.text_table(rows, ["node_num", "gpu_num", "samples/s", "speedup"])


def test_table_of_reference_effort_000():
    printed = by_series()["reference_000_tensorflow_ngc", "fp32_b128_dali"]
    facts = scaling.reference_facts({topology: row["runs"] for topology, row in printed.items()})
    assert reference_table(facts["r50"]) == PRINTED
    assert round(scaling.efficiency(facts["r50"]["4n8g"]["speedup"], "4n8g"), 4) == 0.8203


def test_missing_figures_are_a_dash():
    facts = scaling.reference_facts({"1n8g": [10.0], "2n8g": [None]})
    assert reference_table(facts["r50"]).splitlines()[2:] == [
        "|        1 |       8 |     10.00 |       - |",
        "|        2 |      16 |         - |       - |",
    ]


def test_a_small_figure_keeps_two_digits():
    values = [0.0, 0.00123, -0.00123, 0.0999, 0.1, 0.123, 12.0]
    assert [table.shown(value, 2) for value in values] == [
        *("0.00", "0.0012", "-0.0012", "0.10", "0.10", "0.12", "12.00")
    ]
    assert table.shown(0.04, 0) == "0"


def test_equal_repeats_have_no_spread_of_the_arithmetic():
    cv = spread([0.1, 0.1, 0.1])["cv"]
    assert cv > 0
    assert table.shown(100 * cv, 2) == "0.00"


def test_no_rows_give_an_empty_table():
    assert table.text_table([]) == ""
    assert len(table.text_table([], ["node", "img/s"]).splitlines()) == 2


def test_text_stands_left_and_a_bar_is_escaped():
    text = table.text_table([{"rule": "a|b", "n": 10}, {"rule": "", "n": None}])
    assert text.splitlines() == [
        "| rule |   n |",
        "| ---- | --: |",
        "| a\\|b |  10 |",
        "|      |   - |",
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: table.text_table([1]), "a list of mappings"),
        (lambda: table.text_table("rows"), "a list of mappings"),
        (lambda: table.text_table([{"a": 1}], ["b"]), "row 0 has no column 'b'"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
