"""The files beside results.json: what failed is quoted in junit.xml from the log that says it."""

from xml.etree import ElementTree

from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.plugin_utils.report_answer import answer
from report_data import cell, recorded


def test_last_lines_come_from_the_folder_of_the_logs(tmp_path):
    of = cell("1n1g", repeats=1)
    bad = recorded(of, 1, None, ending="crashed", reason="exit code 1", log="1n1g/1.log")
    results = build_results({"campaign": "mine", "cells": [of]}, [bad])
    (tmp_path / "logs/1n1g").mkdir(parents=True)
    (tmp_path / "logs/1n1g/1.log").write_text("fine\nRuntimeError: no\n")
    for logs, expected in ((tmp_path / "logs", "fine\nRuntimeError: no"), (None, None)):
        answer(results, tmp_path / "out", {}, False, False, logs)
        root = ElementTree.parse(tmp_path / "out/junit.xml").getroot()
        assert root.findtext(".//system-out") == expected
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("results.json", "results.csv", "junit.xml", "scalebench.prom"),
    }
    assert answer(results, tmp_path / "out", {}, False, False)["changed"] is False
