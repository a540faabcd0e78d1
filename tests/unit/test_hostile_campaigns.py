"""Damaged files of a campaign: each costs only itself, and is named.

``SCALEBENCH_FUZZ=10000`` damages that many files, ``SCALEBENCH_FUZZ_SEED=1`` others; 160 by
default. A test ends after all its damages, with the first that each cause made fail.
"""

from __future__ import annotations

import json
import os
import random
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node import durable, log_reading
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.running.outstanding import (
    Ledger,
    outstanding,
)
from ansible_collections.scalebench.core.plugins.module_utils.running.policy import policy
from ansible_collections.scalebench.core.plugins.plugin_utils import (
    campaign_files,
    files,
    page_html,
    results_reading,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.log_files import files_below
from hostile_files import (
    OTHER_KINDS,
    VALUES,
    damage,
    restore,
    restore_file,
    run_action,
    write_whole_campaign,
)
from jinja2 import Environment, FileSystemBytecodeCache

from action_plugins.campaign_history import ActionModule as History
from action_plugins.scaling_report import ActionModule as Report

COUNT = int(os.environ.get("SCALEBENCH_FUZZ", "160"))
SEED = os.environ.get("SCALEBENCH_FUZZ_SEED", "0")
PARTS = 8
ROLES = Path(__file__).resolve().parents[2] / "roles"
TEMPLATES = [str(ROLES / "report/templates")]
PAGES = [str(ROLES / "history/templates"), *TEMPLATES]


@pytest.fixture(scope="module", autouse=True)
def quick_reports(tmp_path_factory):
    """Compile the templates of the page once for thousands of reports, and wait for no disk."""
    cache = FileSystemBytecodeCache(str(tmp_path_factory.mktemp("templates")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_html, "Environment", partial(Environment, bytecode_cache=cache))
        patch.setattr(durable, "sync", lambda path: None)
        yield


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return write_whole_campaign(tmp_path_factory.mktemp("original") / "mine")


def report(folder):
    """Write the report of a campaign; return its results."""
    run_action(Report, campaign_dir=str(folder), templates=TEMPLATES, plots=False)
    return json.loads((folder / "results.json").read_text())


def figures(results):
    return {
        repeat["log"]: (repeat["ending"], repeat["throughput"])
        for cell in results["cells"]
        for repeat in cell["repeats"]
    }


@pytest.fixture(scope="module")
def good(original, tmp_path_factory):
    """Return the figures of the undamaged campaign."""
    folder = tmp_path_factory.mktemp("good") / "mine"
    restore(folder, original)
    return figures(report(folder))


def stem(path):
    """Return what a repeat's files have in common."""
    return str(path).partition(".")[0]


def refused(folder, path):
    """Return whether a file cannot be read as what it is."""
    try:
        if path.name == "plan.json":
            campaign_files.read_plan(folder)
        elif path.name == "preflight.json":
            files.read_json(folder / path)
        elif path.suffix == ".json":
            campaign_files.read_record(folder, str(path))
    except (ValueError, OSError):
        return True
    return False


def check(folder, path, good):
    """Check that only the figures of the damaged file may have changed, and not silently."""
    results = report(folder)
    named = {problem["path"] for problem in results["unmatched"]}
    now = figures(results)
    for log, figure in good.items():
        if stem(log) != stem(path):
            assert now.get(log) == figure, f"{log} was changed by {path}"
        elif log not in now and not results["counts"]["not_run"]:
            assert stem(path) in map(stem, named), f"{log} is gone and {path} not named"
    # Of a folder in place of a record, its log is named.
    words = map(stem, named) if (folder / path).is_dir() else named
    place = stem(path) if (folder / path).is_dir() else str(path)
    assert not refused(folder, path) or place in words, f"{path} is damaged and not named"
    for cell in results["cells"]:
        silent = [one["log"] for one in cell["failures"] if not one["reason"].strip()]
        assert not silent, "a repeat without a figure and a reason"


def continue_campaign(folder, damaged):
    """Decide what bench.yml runs of the campaign; the damaged file is named."""
    problems = []
    records = campaign_files.records(folder, problems)
    attempts = campaign_files.attempts(folder, problems)
    if damaged.name.endswith(("run.json", "attempt1.json")) and refused(folder, damaged):
        assert str(damaged) in {problem["path"] for problem in problems}
    times = campaign_files.earlier(folder.parent)
    try:
        planned = campaign_files.kept_plan(folder)
        rules = policy(planned.get("options", {}), {"retry": {}, "requeue": 0})
        ledger = Ledger("mine", records, attempts, "s2")
        left = outstanding(planned.get("cells", []), ledger, rules)
        for repeat in left["repeats"]:
            plan.estimate(repeat, times)
    except (ValueError, OSError) as error:
        assert damaged.name == "plan.json", error


@contextmanager
def noted(failures: dict[str, str], damaged: str) -> Iterator[None]:
    """Keep the first damage by the place of the error that it led to."""
    try:
        yield
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        words = f"{type(error).__name__}: {error}"
        failures.setdefault(f"{Path(at.filename).name}:{at.lineno}", f"{damaged}: {words:.600}")


@pytest.mark.parametrize("part", range(PARTS))
def test_a_damaged_file_costs_only_itself(part, original, good, tmp_path):
    choose, folder = random.Random(f"{SEED} files {part}"), tmp_path / "mine"
    failures: dict[str, str] = {}
    restore(folder, original)
    assert sum(speed is not None for _, speed in good.values()) == 3
    every = sorted(path for path in original.rglob("*") if path.suffix in (".json", ".log"))
    for number in range(COUNT // PARTS):
        path = choose.choice(every).relative_to(original)
        how = damage(choose, folder / path)
        with noted(failures, f"damage {number} ({how}) of {path}"):
            check(folder, path, good)
            continue_campaign(folder, path)
        restore_file(folder / path, original / path)
    assert not failures, json.dumps(failures, indent=1)


@pytest.mark.parametrize("part", range(PARTS))
def test_damaged_results_cost_the_history_only_themselves(part, original, tmp_path):
    choose = random.Random(f"{SEED} history {part}")
    failures: dict[str, str] = {}
    good = tmp_path / "results/good"
    restore(good, original)
    whole = report(good)
    bad = tmp_path / "results/bad"
    arguments = {"results_dir": str(tmp_path / "results"), "output_dir": str(tmp_path / "history")}
    for number in range(COUNT // PARTS // 4):
        bad.mkdir(exist_ok=True)
        later = {**whole, "campaign": "bad"}
        (bad / "results.json").write_text(json.dumps(later))
        how = damage(choose, bad / "results.json")
        with noted(failures, f"damage {number} ({how}) of results.json"):
            answer = run_action(History, **arguments, templates=PAGES, plots=False)
            left_out = [one["folder"] for one in answer["left_out"]]
            entries = results_reading.read_campaigns(tmp_path / "results")[0]
            assert "good" in {one["folder"] for one in entries} and "good" not in left_out
            assert "bad" in {one["folder"] for one in entries} or left_out == ["bad"]
        restore(bad, original)
    assert not failures, json.dumps(failures, indent=1)


@pytest.mark.parametrize("value", [*VALUES[:20], *VALUES[-12:]], ids=lambda value: value[:12])
def test_a_header_with_any_value_costs_only_its_log(original, good, tmp_path, value):
    folder = tmp_path / "mine"
    restore(folder, original)
    log = next(folder.rglob("*_1.log"))
    text = log.read_text()
    log.write_text(text.replace('"seconds":60.0', f'"seconds":60.0,"peak_memory_mib":{value}'))
    check(folder, log.relative_to(folder), good)
    log.write_text(text.replace('"world_size": 1,', f'"world_size": {value},'))
    check(folder, log.relative_to(folder), good)


def test_names_that_are_no_utf8_are_passed_over_by_name(original, good, tmp_path):
    folder = tmp_path / "mine"
    restore(folder, original)
    record = next(folder.rglob("*.run.json"))
    for end in (b".run.json", b".log", b".attempt1.json"):
        os.link(record, os.fsencode(record.parent) + b"/r50_\xff_1" + end)
    results = report(folder)
    assert figures(results) == good
    named = [problem["path"] for problem in results["unmatched"]]
    assert sum(path.endswith("_1.run.json") and "\\xff" in path for path in named) == 1
    assert set(campaign_files.records(folder)) == set(campaign_files.records(original))


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_what_is_no_file_is_neither_waited_for_nor_read(tmp_path, kind):
    path = tmp_path / "plan.json"
    kind(path)
    with pytest.raises((ValueError, OSError)):
        campaign_files.read_plan(tmp_path)
    (tmp_path / "logs").mkdir()
    kind(tmp_path / "logs/a.log")
    files_below(tmp_path)
    given = {name: spec.get("default") for name, spec in log_reading.ARGUMENTS.items()}
    with pytest.raises(ValueError, match="no log could be read"):
        log_reading.read_logs({**given, "path": [str(tmp_path / "logs/a.log")]})
