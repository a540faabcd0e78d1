"""report.html in a browser: narrow and wide, light and dark, with and without JavaScript."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.report.plots import (
    drawn_figures,
    plot_series,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.step_text import describe_parts
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import Measured
from ansible_collections.scalebench.core.plugins.plugin_utils.report_files import report_files
from browser import SCHEMES, WIDTHS, overflowing_elements, serious_violations
from local_nodes import WHOLE, failures
from page_data import HOSTILE, eventful_results, hostile_results
from playwright.sync_api import expect

ROOT = Path(__file__).resolve().parents[2]
TF2 = "Oneflow-Inc+DLPerf@e36df2e/Tensorflow/resnet50v1.5/logs/tensorflow/resnet50"
NAMES = ("campaign", "compared", "dlperf", "eventful", "hostile")
GATE = {"rules": [{"min_throughput": 1e9}, {"allowed_failures": 0}]}


def written(folder: Path, results: Any) -> Path:
    """Write the report of results that no files gave, as the playbook does."""
    for failure in results["failures"]:
        log = folder / failure["log"]
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"Traceback\n{HOSTILE}\n")
    measured = Measured(folder, {}, [], results)
    files = report_files(measured, [ROOT / "roles/report/templates"], plots=True, png=False)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def hostile_campaign(folder: Path) -> Path:
    """Write a campaign with hostile names and a log that has a line of ten megabytes."""
    _, plan, runs = hostile_results()
    (folder / "logs").mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps(plan))
    for index, run in enumerate(runs):
        (folder / f"logs/{index}.run.json").write_text(json.dumps(run))
        log = f"{'<b>' * 3_333_333}\n{'<b>' * 333}\n{HOSTILE}\n"
        (folder / f"logs/{index}.log").write_text(log)
        if run["facts"]:
            (folder / f"logs/{index}.log").unlink()
    return folder


@pytest.fixture(scope="session")
def made(tmp_path_factory, request):
    """Return a function that creates the folder of a named page, once for each name."""
    folders: dict[str, Path] = {}

    def make(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        if name == "eventful":
            return written(folder, eventful_results())
        cluster = request.getfixturevalue("cluster")
        if name == "hostile":
            campaign = hostile_campaign(folder / "<img src=x onerror='window.hostile = 1'>")
            runner = cluster.run("report.yml", report_campaign_dir=str(campaign))
            assert runner.rc == 0, failures(runner)
            return campaign
        if name == "campaign":
            runner = cluster.bench(campaign="page", topology="1n1g,2n1g", **WHOLE)
            assert runner.rc == 0, failures(runner)
            return cluster.results / "page"
        if name == "compared":
            once("campaign")
            gate = folder / "gate.yml"
            gate.write_text(json.dumps(GATE))
            given = {"campaign": "again", "baseline": "page", "gate": str(gate)}
            runner = cluster.bench(**given, **WHOLE, topology="1n1g")
            assert "1 rule(s) of the gate undecided, which fails it" in failures(runner)
            return cluster.results / "again"
        tree = ROOT.parent / "shared/logs" / TF2
        if not tree.is_dir():
            pytest.skip("the real logs are not here")
        runner = cluster.run("report.yml", log_dir=str(tree), output_dir=str(folder))
        assert runner.rc == 0, failures(runner)
        return folder

    def once(name: str) -> Path:
        if name not in folders:
            folders[name] = make(name)
        return folders[name]

    return once


@pytest.fixture
def opened(open_file, made):
    """Return a function that opens the page of this name."""

    def open_page(name: str, width: int = 1280, **options: Any) -> Any:
        return open_file(made(name) / "report.html", width, **options)

    return open_page


@pytest.mark.parametrize("name", NAMES)
def test_no_error_no_request_no_overflow(opened, name):
    for width, scheme in itertools.product(WIDTHS, SCHEMES):
        shown = opened(name, width, color_scheme=scheme)
        assert shown.messages == []
        assert overflowing_elements(shown, width) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", NAMES)
def test_no_serious_accessibility_violation(opened, name, scheme):
    assert serious_violations(opened(name, color_scheme=scheme)) == []


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_every_cell_and_repeat_is_on_the_page(opened, made, name, script):
    shown = opened(name, java_script_enabled=script)
    rows = [
        row.split("\t")
        for row in shown.locator("main tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.cells].map(cell => cell.textContent).join('\\t'))"
        )
    ]
    results = json.loads((made(name) / "results.json").read_text())
    assert results["cells"]
    for cell in results["cells"]:
        counts = [str(cell[key]) for key in ("nodes", "devices")]
        speed = "-" if cell["median_speed"] is None else f"{cell['median_speed']:.2f}"
        assert any(row[:4] == [cell["topology"], *counts, speed] for row in rows)
        for repeat in cell["repeats"]:
            value = "-" if repeat["throughput"] is None else f"{repeat['throughput']:.2f}"
            assert any(row[:3] == [cell["topology"], str(repeat["repeat"]), value] for row in rows)


@pytest.mark.parametrize("name", NAMES)
def test_plots_are_there_and_have_words(made, opened, name):
    drawings = opened(name).locator("figure svg[role=img]")
    results = json.loads((made(name) / "results.json").read_text())
    words = {*drawn_figures(plot_series(results)), *describe_parts(results)}
    assert ("step_parts" in words) == (name == "campaign")
    assert drawings.count() == len(words)
    for index in range(drawings.count()):
        drawing = drawings.nth(index)
        box = drawing.bounding_box()
        assert min(box["width"], box["height"]) > 250
        assert drawing.locator("use").count() > 3
        assert "by topology" in drawing.locator("desc").text_content()
        colour = drawing.locator("text").first.evaluate("text => getComputedStyle(text).fill")
        assert colour == "rgb(28, 33, 40)"


def test_plots_follow_the_colour_scheme(opened):
    drawing = opened("eventful", color_scheme="dark").locator("figure svg").first
    colour = drawing.locator("text").first.evaluate("text => getComputedStyle(text).fill")
    assert colour == "rgb(230, 233, 238)"


def first_column(table) -> list[str]:
    return table.locator("tbody tr td:first-child").all_text_contents()


def test_tables_sort_by_mouse_and_keyboard(opened):
    shown = opened("eventful")
    table = shown.locator("#speed-up table").first
    heading = table.locator("th", has_text="samples/s")
    assert heading.get_attribute("aria-sort") is None
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert first_column(table) == ["1n1g", "2n1g", "4n1g"]
    heading.locator("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert first_column(table) == ["4n1g", "2n1g", "1n1g"]
    # The invalid cell has no speed-up and comes last in both orders.
    other = table.locator("th", has_text="speedup").first
    for last in ("ascending", "descending"):
        other.locator("button").press("Space")
        assert other.get_attribute("aria-sort") == last
        assert first_column(table)[-1] == "4n1g"
    assert heading.get_attribute("aria-sort") is None


def test_a_command_can_be_copied_by_keyboard(opened):
    shown = opened("campaign", permissions=["clipboard-read", "clipboard-write"])
    command = shown.locator(".command").first
    button = command.get_by_role("button")
    assert button.get_attribute("aria-label") == "Copy the command of node1"
    button.press("Enter")
    expect(button).to_have_text("Copied")
    expect(shown.get_by_role("status")).to_have_text("The command was copied.")
    copied = shown.evaluate("navigator.clipboard.readText()")
    assert copied == command.locator("code").last.text_content()
    assert " -m torch.distributed.run --nnodes=1 " in copied


def test_what_is_hostile_is_shown_and_does_nothing(opened):
    shown = opened("hostile")
    assert shown.evaluate("window.hostile") is None
    assert shown.locator("img").count() == 0
    assert "<script>window.hostile = true</script>" in shown.locator("h1").text_content()
    quote = shown.locator(".quote pre").first.text_content()
    assert "<b><b>" in quote
    assert "<img src=x onerror=" in quote
    assert len(quote) < 1000
    # The content security policy blocks scripts that were inserted.
    shown.evaluate("document.body.append(document.createElement('script'))")
    shown.evaluate("document.scripts[document.scripts.length - 1].text = 'window.hostile = 1'")
    assert shown.evaluate("window.hostile") is None


def test_without_script_there_are_no_buttons_and_with_print_all_is_open(opened):
    shown = opened("eventful", java_script_enabled=False)
    assert shown.locator("button").count() == 0
    shown = opened("hostile")
    for details in shown.locator("details").all():
        details.evaluate("element => { element.open = false }")
    hidden = shown.locator("details table").first
    assert not hidden.is_visible()
    shown.emulate_media(media="print")
    assert hidden.bounding_box()["height"] > 20
    assert not shown.locator("nav").is_visible()


def test_the_skip_link_leads_to_the_results(opened):
    shown = opened("eventful", width=390)
    shown.keyboard.press("Tab")
    link = shown.locator("a.skip")
    assert link.evaluate("element => element === document.activeElement && element.offsetLeft >= 0")
    shown.keyboard.press("Enter")
    assert shown.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dlperf", {"published": "Against published results"}),
        (
            "compared",
            {
                "comparison": "Against page",
                "gate": "Gate",
                "published": "Against published results",
                "preflight": "Preflight",
            },
        ),
    ],
)
def test_the_sections_of_some_reports_come_before_the_tables(opened, name, expected):
    shown = opened(name)
    titles = shown.locator("main h2").all_text_contents()
    assert titles[: titles.index("Speed-up")] == ["Summary", *expected.values()]
    for ident in expected:
        assert shown.locator(f"nav a[href='#{ident}']").count() == 1


def test_a_comparison_and_a_broken_gate_are_on_the_page(opened):
    shown = opened("compared")
    compared = shown.locator("#comparison").text_content()
    assert "1n1g" in compared
    assert "2n1g" in compared, "the baseline alone has it, and the reason stands there"
    rules = shown.locator("#gate tbody tr").all_text_contents()
    assert len(rules) == len(GATE["rules"])
    # One repeat shows no spread, and a rule without data fails.
    assert "undecided" in rules[0] and "failed" in rules[0]
    assert "undecided" not in rules[1] and "broken" not in rules[1]
