"""The checksum of a plan, and the facts of the controller."""

import os
import platform
import subprocess

import pytest
from ansible_collections.scalebench.core.plugins.plugin_utils.plan_evidence import (
    PROJECT,
    controller_facts,
    plan_sha256,
)

CELL = {"name": "r50_b4_fp32", "topology": "1n1g", "estimate_seconds": 15}
PLAN = {"options": {"precision": ["fp32"]}, "cells": [CELL], "nodes": {"node1": {"load": 0.1}}}


@pytest.mark.parametrize(
    "change",
    [
        {"nodes": {"node1": {"load": 9.9}}},
        {"cells": [{**CELL, "estimate_seconds": 99}]},
        {"cells": [dict(reversed(CELL.items()))]},
    ],
)
def test_what_does_not_change_the_measurement_does_not_change_the_checksum(change):
    assert plan_sha256({**PLAN, **change}) == plan_sha256(PLAN)


@pytest.mark.parametrize(
    "change", [{"options": {}}, {"cells": []}, {"cells": [{**CELL, "topology": "2n1g"}]}]
)
def test_another_matrix_has_another_checksum(change):
    assert plan_sha256({**PLAN, **change}) != plan_sha256(PLAN)


def git(folder, *arguments):
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("owner", [os.geteuid(), 65534])
def test_a_checkout_has_a_commit_and_whether_it_was_changed(tmp_path, owner):
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a.yml").write_text("a: 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")
    if owner != os.geteuid():
        if os.geteuid() != 0:
            pytest.skip("only root may give files to another user")
        for path in (tmp_path, tmp_path / ".git"):
            os.chown(path, owner, -1)
    facts = controller_facts(tmp_path)
    assert facts["commit"] == commit
    assert facts["dirty"] is False
    (tmp_path / "new.yml").touch()
    assert controller_facts(tmp_path)["dirty"] is True


def test_without_a_checkout_of_its_own_there_is_no_commit(tmp_path, monkeypatch):
    git(tmp_path, "init", "--quiet")
    inside = tmp_path / "unpacked"
    inside.mkdir()
    assert set(controller_facts(inside)) == {"ansible_core", "python"}
    monkeypatch.setenv("PATH", "/nowhere")
    assert controller_facts(tmp_path)["python"] == platform.python_version()
    assert "commit" not in controller_facts(tmp_path)


def test_the_project_is_the_folder_with_the_playbooks():
    assert (PROJECT / "playbooks/bench.yml").is_file()
