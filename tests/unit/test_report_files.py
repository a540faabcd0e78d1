"""What the report takes from the campaign's folder, whatever lies there, and what it writes."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.plugin_utils.log_files import files_below
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import (
    Measured,
    read_campaign,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.report_files import (
    log_tails,
    report_files,
)
from cpu_time import check_proportion
from report_data import campaign, cell, recorded

TEMPLATES = [Path(__file__).resolve().parents[2] / "roles/report/templates"]


def tail(folder, log, reason=""):
    return log_tails(folder, [{"log": log, "reason": reason}]).get(log)


def test_last_twenty_lines_without_colours(tmp_path):
    text = "\n".join(f"\x1b[31mline {number}\x1b[0m" for number in range(100))
    (tmp_path / "a.log").write_text(text)
    assert tail(tmp_path, "a.log") == [f"line {number}" for number in range(80, 100)]


def test_the_node_that_failed_has_the_word(tmp_path):
    (tmp_path / "a.log").write_text("said by the leading node")
    (tmp_path / "a.node2.out").write_text("KeyError: said by node2")
    assert tail(tmp_path, "a.log", "node2: exit code 1") == ["KeyError: said by node2"]
    assert tail(tmp_path, "a.log", "node1: exit code 1") == ["said by the leading node"]


def test_the_end_of_a_huge_log_is_read_as_soon_as_that_of_a_small_one(tmp_path):
    for name, size in (("small.log", 1 << 20), ("huge.log", 3 << 30)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
            file.seek(0, os.SEEK_END)
            file.write(b"x" * 10_000_000 + b"\nlast words")
        assert tail(tmp_path, name) == ["last words"]
    check_proportion(tail, (tmp_path, "small.log"), (tmp_path, "huge.log"), times=10)


def test_the_rest_of_a_secret_is_not_shown(tmp_path, monkeypatch):
    monkeypatch.setitem(log_tails.__globals__, "_LAST_BYTES", 70)
    key = f"{'x' * 40}\n{'x' * 20}\n-----END OPENSSH PRIVATE {'KEY'}-----\n"
    progress = f"begin api_key={'x' * 40}\r{'y' * 30}\rlast {'y' * 20}"
    for log in (f"{key}last", progress.replace("\r", "\n"), progress):
        (tmp_path / "a.log").write_text(log)
        assert "x" not in "".join(tail(tmp_path, "a.log"))
        assert tail(tmp_path, "a.log")[-1].startswith("last")


def test_secrets_are_replaced(tmp_path):
    (tmp_path / "a.log").write_text("export HF_TOKEN=hf_abcdefghijklmnop\n")
    assert tail(tmp_path, "a.log") == ["export HF_TOKEN=[redacted: secret of the environment]"]
    secret = "hf_" + "aB3" * 12
    for log in (f"\x1b[31m{secret}\x1b[0m", f"hf_\x1b[0m{secret[3:]}"):
        (tmp_path / "a.log").write_text(log)
        assert tail(tmp_path, "a.log") == ["[redacted: Hugging Face token]"]


def test_stored_words_are_shown_without_secrets(tmp_path):
    """Those of a preflight, of a node and of an error, which another program may have written."""
    plan, _ = campaign({"1n1g": [10.0]})
    good = recorded(plan["cells"][0], 1, 10.0)
    secret = "HF_TOKEN=hunter2hunter2"
    node = {**next(iter(good["nodes"].values()), {}), "transport": [secret]}
    (tmp_path / "logs/1n1g").mkdir(parents=True)
    record = {**good, "nodes": {"node1": node}}
    (tmp_path / "logs/1n1g/1.run.json").write_text(json.dumps(record))
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    row = {"check": "c", "node": "n", "verdict": "fail", "found": secret, "todo": secret}
    checks = {"verdict": "fail", "summary": secret, "counts": {"fail": 1}, "rows": [row]}
    (tmp_path / "preflight.json").write_text(json.dumps(checks))
    read = read_campaign(tmp_path, "auto", {})
    texts = json.dumps([read.runs, read.results])
    assert "hunter2" not in texts
    assert texts.count("HF_TOKEN=[redacted") == 5


@pytest.mark.parametrize("log", ["../secret.log", "/etc/hostname", "x/../../secret.log", "..", ""])
def test_no_file_outside_of_the_folder_is_shown(tmp_path, log):
    (tmp_path / "secret.log").write_text("secret")
    folder = tmp_path / "campaign"
    folder.mkdir()
    assert tail(folder, log) is None
    assert tail(folder, log, "../../secret: x") is None


def test_a_link_out_of_the_folder_is_neither_read_nor_quoted(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/r50_b4_fp32_1.log").write_text("secret")
    folder = tmp_path / "logs"
    (folder / "pytorch/bz4/1n1g").mkdir(parents=True)
    link = folder / "pytorch/bz4/1n1g/r50_b4_fp32_1.log"
    link.symlink_to(tmp_path / "outside/r50_b4_fp32_1.log")
    (folder / "more").symlink_to(tmp_path / "outside")
    (folder / "again").symlink_to("pytorch")
    assert tail(folder, str(link.relative_to(folder))) is None
    assert tail(folder, "more/r50_b4_fp32_1.log") is None
    paths, problems = files_below(folder)
    assert paths == []
    assert [item["path"] for item in problems] == ["more", "again/bz4/1n1g/r50_b4_fp32_1.log"]
    assert all("leads out of the folder" in item["reason"] for item in problems)
    (folder / "pytorch/other.log").write_text("x")
    assert len(files_below(folder)[0]) == 1


def test_files_come_in_the_order_of_their_names_on_every_file_system(tmp_path):
    names = ["d.log", "a.log", "e.log", "b.log", "c.log"]
    for folder in (tmp_path, tmp_path / "2n1g", tmp_path / "1n1g"):
        folder.mkdir(exist_ok=True)
        for name in names:
            (folder / name).touch()
    parts = [path.rpartition("/") for path in files_below(tmp_path)[0]]
    assert [name for *_, name in parts] == sorted(names) * 3
    assert [folder for folder, *_ in parts][::5] == ["", "1n1g", "2n1g"]


def test_a_log_with_an_impossible_name_is_not_quoted(tmp_path):
    assert tail(tmp_path, "a\0b.log") is None


def test_what_is_no_log_has_no_last_lines(tmp_path):
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "binary.log").write_bytes(bytes(range(256)))
    assert tail(tmp_path, "pipe.log") is None
    assert tail(tmp_path, "gone.log") is None
    assert all(line.isprintable() for line in tail(tmp_path, "binary.log"))


KINDS = ("nodes", "disturbances", "packed_with", "facts")


def test_damaged_records_are_left_out(tmp_path):
    plan, _ = campaign({"1n1g": [10.0]})
    good = recorded(plan["cells"][0], 1, 10.0)
    (tmp_path / "logs/1n1g").mkdir(parents=True)
    for name, content in {
        "1n1g/1": good,
        "number": {**good, "log": "b", "repeat": "<1>"},
        "cell": {**good, "log": "c", "cell": {"topology": "2n"}},
        "list": [1, 2],
        **{name: {**good, name: 7} for name in KINDS},
    }.items():
        (tmp_path / f"logs/{name}.run.json").write_text(json.dumps(content))
    (tmp_path / "logs/deep.run.json").write_text("[" * 100_000)
    (tmp_path / "plan.json").write_text(json.dumps({"cells": [*plan["cells"], "no cell"]}))
    read = read_campaign(tmp_path, "auto", {})
    assert "cells" not in read.plan, "its damaged cell is a problem of the whole plan"
    assert [run["log"] for run in read.runs] == ["logs/1n1g/1.log"]
    problems = {item["path"] for item in read.results["unmatched"]}
    assert {
        f"logs/{name}.run.json" for name in ("number", "cell", "list", "deep", *KINDS)
    } <= problems
    assert "plan.json" in problems


def written(folder, results, **options):
    given = {"plots": False, "png": False, **options}
    return report_files(Measured(folder, {}, [], results), TEMPLATES, **given)


def test_without_plots_there_are_none_and_without_commands_the_page_says_so(tmp_path):
    files = written(tmp_path, build_results(*campaign({"1n1g": [10.0]})))
    assert set(files) == {
        *("results.json", "results.csv", "junit.xml", "scalebench.prom"),
        *("report.html", "report.md"),
    }
    assert b"No commands are recorded" in files["report.html"]
    assert b"<figure>" not in files["report.html"]
    assert b".svg" not in files["report.md"]


def test_every_plot_is_a_file_on_the_page_and_in_markdown(tmp_path):
    results = build_results(*campaign({"1n1g": [10.0]}))
    files = written(tmp_path, results, plots=True, png=True)
    for figure in ("throughput", "speedup", "efficiency"):
        assert files[f"{figure}.png"].startswith(b"\x89PNG")
        assert f"]({figure}.svg)".encode() in files["report.md"]
    assert files["report.html"].count(b"<figure>") == 3
    assert files == written(tmp_path, results, plots=True, png=True)


def test_junit_has_the_last_lines_from_the_folder_of_the_logs(tmp_path):
    of = cell("1n1g", repeats=1)
    bad = recorded(of, 1, None, ending="crashed", reason="exit code 1", log="1n1g/1.log")
    results = build_results({"campaign": "mine", "cells": [of]}, [bad])
    (tmp_path / "logs/1n1g").mkdir(parents=True)
    (tmp_path / "logs/1n1g/1.log").write_text("fine\nRuntimeError: no\n")
    for folder, expected in ((tmp_path / "logs", "fine\nRuntimeError: no"), (tmp_path, None)):
        root = ElementTree.fromstring(written(folder, results)["junit.xml"])
        assert root.findtext(".//system-out") == expected
