"""What is shown of a text that a log, a path or a host gave."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import (
    csv_value,
    last_lines,
    plain,
)
from cpu_time import check_proportion
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mError\x1b[0m: no", "Error: no"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("a\x00b\x07c\r\nd", "a b c d"),
        ("left \u202egnp.exe", "left gnp.exe"),
        ("half \ud800 pair", "half pair"),
        (None, "None"),
        ("Grüße, 世界", "Grüße, 世界"),
    ],
)
def test_only_what_has_a_shape_is_left(text, shown):
    assert plain(text) == shown


def test_a_long_text_is_cut_and_says_so():
    assert plain("x" * 400) == "x" * 299 + "…"
    assert plain("x" * 300) == "x" * 300


@given(st.text(max_size=80))
def test_any_text_becomes_one_line_that_can_be_written(text):
    shown = plain(text)
    assert shown == plain(shown)
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")


def test_last_lines_are_those_with_something_in_them():
    text = "first\n" + "\n".join(f"line {number}\n\x1b[0m\n" for number in range(30))
    assert last_lines(text, 2) == ["line 28", "line 29"]
    assert last_lines("10%\r20%\r30%", 2) == ["20%", "30%"]
    assert last_lines("") == []


def test_ten_megabytes_in_one_line_take_time_in_proportion():
    short, long = ("x" * size for size in (1_000_000, 10_000_000))
    assert last_lines(long) == ["x" * 299 + "…"]
    check_proportion(last_lines, [short], [long], times=30)


def test_no_field_of_a_csv_file_is_a_formula():
    for text in ("=cmd|'/c calc'!A1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\x1b[0m=1"):
        assert csv_value(text).startswith("'"), text
    assert [csv_value(value) for value in ("r50", -1, 2.5, None, True)] == [
        "r50",
        -1,
        2.5,
        None,
        True,
    ]
