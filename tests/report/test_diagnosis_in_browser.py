"""diagnosis.html in a browser: a map of pairs whose slow cells are coloured, in light and dark."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.diagnosis_text import (
    headline,
    sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.suspects import judge
from ansible_collections.scalebench.core.plugins.plugin_utils.page_html import page_html
from browser import SCHEMES, WIDTHS, overflowing_elements, serious_violations
from diagnosis_data import measured
from page_data import HOSTILE

ROLES = Path(__file__).resolve().parents[2] / "roles"


@pytest.fixture(scope="session")
def diagnosis(tmp_path_factory):
    """Return diagnosis.html of eight nodes with links of all deficits, one with a hostile name."""
    slow = {(0, 3): 0.5, (1, 4): 0.3, (2, 5): 0.15, (3, 6): 0.07}
    data = measured(8, 1, link=slow)
    found = {"campaign": HOSTILE, **judge(data, {}), "tolerance": 3.0, "groups": {}, **data}
    page = {"title": HOSTILE, "head": headline(found), "parts": sections(found)}
    templates = [ROLES / "diagnosis/templates", ROLES / "report/templates"]
    file = tmp_path_factory.mktemp("diagnosis") / "diagnosis.html"
    file.write_text(page_html(templates, "diagnosis.html.j2", page, []))
    return file


def test_no_error_no_request_no_overflow(open_file, diagnosis):
    for width, scheme in itertools.product(WIDTHS, SCHEMES):
        shown = open_file(diagnosis, width, color_scheme=scheme)
        assert shown.messages == []
        assert overflowing_elements(shown, width) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_map_is_coloured_and_readable(open_file, diagnosis, scheme):
    shown = open_file(diagnosis, color_scheme=scheme)
    assert serious_violations(shown) == []
    table = shown.locator("#pairs table")
    colours = [
        {
            cell.evaluate("cell => getComputedStyle(cell).backgroundColor")
            for cell in table.locator(f"td.slow{mark}").all()
        }
        for mark in (1, 2, 3, 4)
    ]
    assert [len(same) for same in colours] == [1] * 4
    assert len(set.union(*colours)) == 4
    plain = table.locator("td.n:not([class*=slow])").first
    assert plain.evaluate("cell => getComputedStyle(cell).backgroundColor") == "rgba(0, 0, 0, 0)"
    assert table.locator("td.slow4").all_text_contents() == ["50"] * 2
