"""Files are written atomically and only where they differ; left-over files are removed."""

import errno
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest
import yaml
from ansible.errors import AnsibleActionFail
from ansible_collections.scalebench.core.plugins.plugin_utils import files
from ansible_collections.scalebench.core.plugins.plugin_utils.files import (
    read_json,
    read_yaml,
    write_files,
    write_only,
    write_texts,
)

from action_plugins import campaign_plan


def test_what_differs_is_written_and_shown(tmp_path):
    same, other = tmp_path / "same", tmp_path / "sub/other"
    same.write_text("ä")
    made = write_texts({same: "ä", other: "b\n"}, False, True)
    assert made["paths"] == [str(other)]
    assert other.read_text() == "b\n"
    (diff,) = made["diff"]
    assert (diff["before"], diff["after"]) == ("", "b\n")
    assert write_texts({same: "ä", other: "b\n"}, False, False) == {"changed": False, "paths": []}


def test_what_a_failed_write_left_is_not_taken_for_written(tmp_path, monkeypatch):
    texts, fsync = {tmp_path / "a": "a", tmp_path / "b": "b"}, os.fsync
    folders = []

    def be_full(opened):
        if stat.S_ISDIR(os.fstat(opened).st_mode):
            folders.append(opened)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(opened)

    monkeypatch.setattr(os, "fsync", be_full)
    for path, text in [*texts.items()] * 2:
        with pytest.raises(AnsibleActionFail, match=f"{path}: cannot be written: No space"):
            write_texts({path: text}, False, False)
    monkeypatch.setattr(os, "fsync", folders.append)
    folders.clear()
    write_texts(texts, True, False)
    assert not folders
    assert write_texts(texts, False, False)["changed"] is False
    assert len(folders) == 1


def test_nothing_of_what_a_link_leads_to_is_shown_or_changed(tmp_path):
    (tmp_path / "other").write_text("another's")
    for name in ("written", "removed"):
        (tmp_path / name).symlink_to(tmp_path / "other")
    (tmp_path / "empty").symlink_to(tmp_path / "other")
    assert write_files({tmp_path / "empty": b""}, False, False)["changed"]
    (tmp_path / "empty").unlink()
    contents = {tmp_path / "written": b"ours"}
    made = write_only(contents, [tmp_path / "removed"], False, True)
    assert [(diff["before"], diff["after"]) for diff in made["diff"]] == [("", "ours"), ("", "")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "written"]
    assert (tmp_path / "written").read_text() == "ours"
    assert (tmp_path / "other").read_text() == "another's"


def test_a_partial_file_of_a_killed_report_goes_also_where_nothing_differs(tmp_path):
    report = tmp_path / "report.html"
    report.write_text("page")
    ended = subprocess.Popen(["true"])
    ended.wait()
    part = tmp_path / f".report.html.{ended.pid}.part"
    part.touch()
    assert not write_only({report: b"page"}, [], True, False)["changed"]
    assert part.exists()
    assert not write_only({report: b"page"}, [], False, False)["changed"]
    assert not part.exists()


def test_check_mode_writes_and_removes_nothing(tmp_path):
    old = tmp_path / "old"
    old.write_text("figures")
    made = write_only({tmp_path / "new": b"x"}, [old], True, True)
    assert (made["changed"], made["removed"]) == (True, [str(old)])
    assert [one["before"] for one in made["diff"]] == ["", "figures"]
    assert list(tmp_path.iterdir()) == [old]


def test_left_over_files_are_removed_once(tmp_path):
    old = tmp_path / "old"
    old.write_text("figures")
    assert write_only({}, [old], False, False)["changed"] is True
    again = {"changed": False, "paths": [], "removed": []}
    assert write_only({}, [old], False, False) == again


def test_binary_content_is_shown_by_its_size(tmp_path):
    path = tmp_path / "a.png"
    (diff,) = write_files({path: b"\x89PNG"}, False, True)["diff"]
    assert diff["after"] == "4 bytes that are not text\n"
    assert path.read_bytes() == b"\x89PNG"


def test_a_path_that_cannot_be_written_or_removed_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AnsibleActionFail, match="file/x: cannot be written: Not a directory"):
        write_files({tmp_path / "file/x": b""}, False, False)
    (tmp_path / "folder").mkdir()
    with pytest.raises(AnsibleActionFail, match="folder: cannot be removed: not a regular file"):
        write_only({}, [tmp_path / "folder"], False, False)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AnsibleActionFail, match="pipe: cannot be written: not a regular file"):
        write_files({tmp_path / "pipe": b""}, False, False)
    assert not list(tmp_path.glob(".*"))


def test_a_file_of_any_size_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST", 1 << 20)
    path = tmp_path / "plan.json"
    path.write_text("[]".ljust(1 << 20))
    assert read_json(path) == []
    path.write_text("[]".ljust((1 << 20) + 1))
    with pytest.raises(ValueError, match="it has more than 1 MiB"):
        read_json(path)


# What writes on the controller by itself, and why: none of it is a finished file of a campaign.
OTHER_WRITERS = {
    "archive_reading.py": "below a folder that is renamed once all of it is synced",
    "archive_writing.py": "piece by piece, then durable.replace",
    "campaign_files.py": "the link and the rename of a record that is set aside, then durable.sync",
    "compiled_templates.py": "what a process compiled, with its digest, until the playbook's end",
    "module_payload.py": "payloads of modules, linked or copied once they are synced",
    "run_watch.py": "a mark that lasts as long as a wave",
    "side_by_side.py": "a pipe",
}
WRITES = re.compile(
    r"""\.write_(?:text|bytes)\(|open\([^)\n]*["'][wax]b?["']|os\.(?:replace|rename|link)\("""
    r"""|shutil\.(?:copy|move)|\.rename\("""
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # Not read up to its end, which says something else.
        ("[" * 60_000 + "\0", "nested too deep"),
        ("a: " + "{b: " * 60_000 + "\0", "nested too deep"),
        ("a: 1" + ":1" * 1000, "to the base 60 has 2001 characters"),
        ("a: !!int '1" + " :1" * 1000 + "'", "to the base 60 has 3001 characters"),
        ("a: 1" + ":1" * 400 + ".5", "not what its tag"),
        (
            "".join(f"%TAG !a{n}! !b\n" for n in range(18)) + "--- 1",
            "more than 16 lines begin with %",
        ),
        (f"a: &a {'x' * 2048}\nb: [{'*a,' * 100_000}]", "too large with its aliases"),
        (
            "\n".join(
                ["a0: &a0 [1, 1]", *(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]" for n in range(25))]
            ),
            "too large with its aliases",
        ),
        ("a: &a [*a]", "too large with its aliases"),
        ("a: 2026-01-01", "a date: put it in quotes"),
        ("2026-01-01: 1", "a date: put it in quotes"),
        ("a: !!binary aGk=", "a bytes: put it in quotes"),
        ("a: !!set {x}", "a set: put it in quotes"),
        ("a: .nan", "holds nan, which is no figure"),
        ("a: 1" + "0" * 400, "which is no figure"),
        ("a: 1" + "0" * 5000, "4300 digits"),
        ("a: 2026-13-01", "month must be in 1..12"),
    ],
)
def test_what_yaml_has_beside_json_is_refused(tmp_path, text, message):
    (tmp_path / "x.yml").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_yaml(tmp_path / "x.yml")


def test_keys_of_one_hash_are_refused(tmp_path):
    (tmp_path / "x.yml").write_text(f"{{{2**61 - 1}: 1, {50 * (2**61 - 1)}: 2}}")
    with pytest.raises(yaml.YAMLError, match="line 1: a key beyond 64 bits"):
        read_yaml(tmp_path / "x.yml")


def test_aliases_of_usual_size_are_read(tmp_path):
    (tmp_path / "x.yml").write_text("a: &a {b: [1, 2]}\nc: {<<: *a, d: *a}")
    assert read_yaml(tmp_path / "x.yml")["c"] == {"b": [1, 2], "d": {"b": [1, 2]}}


def test_yaml_from_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "x.yml")
    with pytest.raises((ValueError, OSError)):
        read_yaml(tmp_path / "x.yml")


def test_files_of_a_campaign_are_written_in_one_place():
    places = [Path(files.__file__).parent, Path(campaign_plan.__file__).parent]
    every = [path for place in places for path in sorted(place.glob("*.py"))]
    writers = {path.name for path in every if WRITES.search(path.read_text())}
    assert writers == {"files.py", *OTHER_WRITERS}, "write with PU/files.py"


def test_a_home_that_nobody_has_is_an_error_with_the_path():
    assert files.user_path("~/x") == Path.home() / "x"
    with pytest.raises(ValueError, match=r"^~nobody-here/x: no user of this name"):
        files.user_path("~nobody-here/x")


@pytest.mark.parametrize("text", ["!!int ''", "!!bool maybe", "!!timestamp x", "!!float ''"])
def test_a_value_that_is_not_what_its_tag_says_is_an_error(tmp_path, text):
    (tmp_path / "a.yml").write_text(f"a: {text}\n")
    with pytest.raises(ValueError, match="a value is not what its tag"):
        files.read_yaml(tmp_path / "a.yml")


def test_a_key_twice_is_an_error(tmp_path):
    (tmp_path / "a.yml").write_text("a: 1\nb: 2\na: 3\n")
    with pytest.raises(yaml.YAMLError, match="line 1: 'a' is there twice"):
        files.read_yaml(tmp_path / "a.yml")
