"""The module and the filters that read logs, called through Ansible."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "logs"


def ansible(*words: str) -> dict:
    command = Path(sys.executable).parent / "ansible"
    done = subprocess.run(
        [str(command), "localhost", *words],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_CALLBACK_RESULT_FORMAT": "json", "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout + done.stderr
    assert "localhost | " in text, text
    return json.JSONDecoder().raw_decode(text[text.index("=> {") + 3 :].lstrip())[0]


def facts(*extra: str, **given) -> dict:
    return ansible(*extra, "-m", "training_log_facts", "-a", json.dumps(given))


def test_one_log_in_check_mode():
    answer = facts(
        "--check",
        path=str(FIXTURES / "oneflow.log"),
        strategy="oneflow_report",
        expect={"batch_size_per_device": 128},
    )
    assert (answer["reader"], answer["throughput"], answer["changed"]) == (
        "oneflow",
        385.096,
        False,
    )
    assert answer["ending"] == {"kind": "complete", "detail": ""}
    assert answer["logs"][0]["path"] == str(FIXTURES / "oneflow.log")
    assert "mode" not in answer


def test_a_folder_is_read_at_once_and_what_is_no_log_is_named(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    log = (FIXTURES / "oneflow.log").read_text()
    (tmp_path / "deep" / "er" / "PaddleClas_ResNet50_bs256_fp32_DP_N1C8_log").write_text(log)
    (tmp_path / "a.log").write_text(log)
    (tmp_path / "notes.txt").write_text("hello\n")
    (tmp_path / "result.json").write_text("{}")
    answer = facts(path=str(tmp_path), strategy="auto")
    assert [result["throughput"] for result in answer["logs"]] == [385.096, 385.096]
    (failure,) = answer["failures"]
    assert failure["path"].endswith("notes.txt")
    assert "no known format" in failure["reason"]


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ({"path": "/nowhere/x.log"}, "No such file or directory: '/nowhere/x.log'"),
        ({"path": str(ROOT / "README.md")}, "no known format|No such file"),
        ({"path": str(FIXTURES), "strategy": "meen"}, "no strategy named 'meen'"),
        ({"path": str(FIXTURES), "reader": "x"}, "no reader named 'x'"),
    ],
)
def test_a_mistake_is_one_clear_failure(given, cause):
    answer = facts(**given)
    assert "logs" not in answer
    assert any(words in answer["msg"] for words in cause.split("|")), answer["msg"]


def test_the_filters_work_on_text():
    template = (
        "{{ dict(facts=log | training_log_facts('oneflow_report'),"
        " steady=speeds | steady_state, within=speeds | within_run,"
        " reader=(log | training_log).reader) }}"
    )
    extra = {
        "log": "{{ lookup('ansible.builtin.file', path) }}",
        "path": str(FIXTURES / "oneflow.log"),
        "speeds": "{{ (log | training_log).observations | map(attribute='throughput') }}",
    }
    answer = ansible("-m", "debug", "-a", json.dumps({"msg": template}), "-e", json.dumps(extra))
    assert answer["msg"]["reader"] == "oneflow"
    assert answer["msg"]["facts"]["throughput"] == 385.096
    assert answer["msg"]["steady"]["reached"] is None
    assert answer["msg"]["within"]["count"] == 10
