"""Tables: the rows that the reference efforts print, and aligned text."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.layout import table
from ansible_collections.scalebench.core.plugins.module_utils.results import scaling
from published_data import by_series

PRINTED = """\
| node_num | gpu_num | samples/s | speedup |
| -------: | ------: | --------: | ------: |
|        1 |       1 |    362.44 |    1.00 |
|        1 |       4 |   1391.28 |    3.84 |
|        1 |       8 |   2721.98 |    7.51 |
|        2 |      16 |   5099.42 |   14.07 |
|        4 |      32 |   9514.64 |   26.25 |"""


def test_table_of_reference_effort_000():
    printed = by_series()["reference_000_tensorflow_ngc", "fp32_b128_dali"]
    facts = scaling.reference_facts({topology: row["runs"] for topology, row in printed.items()})
    assert table.speedup_table(facts) == PRINTED
    assert table.speedup_table(facts["r50"]) == PRINTED
    rows = table.speedup_rows(facts)
    assert rows[-1] == {
        "node_num": 4,
        "gpu_num": 32,
        "samples/s": 9514.64,
        "speedup": 26.25,
        "efficiency": 0.8203,
    }


def test_missing_figures_are_a_dash():
    facts = scaling.reference_facts({"1n8g": [10.0], "2n8g": [None]})
    assert table.speedup_table(facts).splitlines()[2:] == [
        "|        1 |       8 |     10.00 |       - |",
        "|        2 |      16 |         - |       - |",
    ]


def test_several_models_need_a_name():
    facts = {
        **scaling.reference_facts({"1n1g": [1.0]}),
        **scaling.reference_facts({"1n1g": [2.0]}, "bert"),
    }
    with pytest.raises(ValueError, match=r"\['bert', 'r50'\], not None: name one of them"):
        table.speedup_rows(facts)
    assert table.speedup_rows(facts, "bert")[0]["samples/s"] == 2.0


def test_no_facts_give_an_empty_table():
    assert table.speedup_rows({}) == []
    assert len(table.speedup_table({}).splitlines()) == 2


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
        (lambda: table.speedup_rows([1]), "a mapping as scaling_facts returns it"),
        (lambda: table.speedup_rows({"1n1g": {"median_speed": 1.0}, "x": {}}), "not a topology"),
        (lambda: table.speedup_rows({"1n1g": {"median_speed": 1}, "1n2g": 2}), "no median_speed"),
        (lambda: table.text_table("rows"), "a list of mappings"),
        (lambda: table.text_table([{"a": 1}], ["b"]), "row 0 has no column 'b'"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
