"""Sections: one description, shown as Markdown here and as HTML elsewhere."""

from ansible_collections.scalebench.core.plugins.module_utils.layout.sections import (
    markdown,
    section,
    table,
)


def test_a_column_with_text_is_not_numeric_and_missing_is_a_dash():
    made = table("Speeds", [{"node": "a", "img/s": 12.345}, {"node": "b", "img/s": None}])
    assert made["columns"] == [
        {"name": "node", "numeric": False},
        {"name": "img/s", "numeric": True},
    ]
    assert made["rows"][0] == [
        {"text": "a", "value": "a"},
        {"text": "12.35", "value": 12.345},
    ]
    assert made["rows"][1][1] == {"text": "-", "value": None}


def test_the_columns_can_be_chosen():
    made = table("Speeds", [{"a": 1, "b": 2}], ["b"])
    assert [column["name"] for column in made["columns"]] == ["b"]


def test_markdown_has_title_paragraphs_table_and_items_in_this_order():
    speeds = table("Speeds", [{"node": "a", "img/s": 1.0}])
    text = markdown(section("speeds", "All speeds", ["What it is."], [speeds], ["one", "two"]))
    assert text.split("\n\n") == [
        "## All speeds",
        "What it is.",
        "Speeds:",
        "| node | img/s |\n| ---- | ----: |\n| a    |  1.00 |",
        "- one\n- two",
    ]


def test_markup_in_a_text_stays_text():
    text = markdown(section("x", "X", ["<b>`rm` *all*\n# of [it](y)"]))
    assert text.split("\n\n")[1] == r"\<b\>\`rm\` \*all\* # of \[it\](y)"
    text = markdown(section("x", "X", ["# no heading, _not_ out_of_memory"]))
    assert text.split("\n\n")[1] == r"\# no heading, \_not\_ out_of_memory"


def test_a_cell_is_one_line_without_markup_in_markdown():
    made = table("Hosts\n", [{"host": "a\n| <b>out_of_memory</b> \x1b[31m"}])
    assert made["caption"] == "Hosts"
    assert made["rows"][0][0]["value"] == "a | <b>out_of_memory</b>"
    row = markdown(section("x", "X <i>", tables=[made])).splitlines()[-1]
    assert row == r"| a \| \<b\>out_of_memory\</b\> |"


def test_a_long_cell_is_cut():
    made = table("Reasons", [{"reason": "x" * 1000}])
    assert made["rows"][0][0]["text"] == "x" * 299 + "…"
