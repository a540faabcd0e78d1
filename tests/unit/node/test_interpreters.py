"""Interpreters of this machine, and why one cannot be used."""

from ansible_collections.scalebench.core.plugins.module_utils.node.interpreters import (
    platform_tag,
    why_not,
)


def environment(folder):
    (folder / "bin").mkdir()
    return folder / "bin/python"


def test_an_interpreter_that_runs_has_no_reason_against_it(tmp_path):
    python = environment(tmp_path)
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    (tmp_path / "unavailable").write_text("needs Python 3.7\n")
    assert why_not(str(python)) is None


def test_the_reason_that_provisioning_left_is_told(tmp_path):
    python = environment(tmp_path)
    (tmp_path / "unavailable").write_text("needs Python 3.7 (looked at it)\n")
    assert why_not(str(python)) == "needs Python 3.7 (looked at it)"


def test_a_missing_and_a_useless_file_are_told_apart(tmp_path):
    python = environment(tmp_path)
    assert why_not(str(python)) == "there is no such file"
    python.write_text("")
    assert why_not(str(python)) == "it is no program"


def test_the_platform_names_machine_and_c_library():
    assert platform_tag().startswith("linux-")
    assert platform_tag().count("-") <= 2
