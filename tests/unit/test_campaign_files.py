"""The files of a campaign, as a killed controller leaves them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.facts import facts
from ansible_collections.scalebench.core.plugins.module_utils.node import claim, durable
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.report.text import terminal_table
from ansible_collections.scalebench.core.plugins.plugin_utils import campaign_files as files
from ansible_collections.scalebench.core.plugins.plugin_utils.acceptances import kept_with
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import (
    read_campaign,
    read_log_tree,
)
from campaign_data import ROOT, benchmarks, cluster
from hostile_files import write_whole_campaign
from written_campaigns import write_campaign


def test_a_partial_first_plan_does_not_block_the_campaign(tmp_path):
    (tmp_path / ".plan.json.42.part").write_text('{"schema"')
    assert files.kept_plan(tmp_path) == {}
    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(
        ValueError, match=r"is not a campaign.* no plan.json. Restore that, or give"
    ):
        files.kept_plan(tmp_path)


def test_one_ansible_playbook_at_a_time_runs_a_campaign(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as other:
        mine = claim.identity(other.pid)
        claim.take(str(tmp_path), {"campaign": "a", "taken": "2026-11-23T08:00:00.1", **mine})
        # Killed before its first plan, it does not block the campaign.
        assert files.kept_plan(tmp_path) == {}
        told = f"process {other.pid} of this machine has been running campaign a since .*08:00:00Z"
        with pytest.raises(ValueError, match=told):
            files.hold(tmp_path, "a")
        assert claim.held(str(tmp_path))["pid"] == other.pid
        other.kill()
    for _again in range(2):
        files.hold(tmp_path, "a")
        assert claim.held(str(tmp_path))["pid"] == os.getpid()


def test_of_two_that_continue_a_crashed_campaign_at_once_one_is_refused(tmp_path, monkeypatch):
    def claim_of(pid, **more):
        return {"campaign": "a", "taken": "2026-11-23T08:00:00.1", **claim.identity(pid), **more}

    claim.take(str(tmp_path), claim_of(os.getpid(), start=1))
    take, other = claim.take, os.getppid()

    def be_slower(folder, mine, dead=None):
        if dead:
            take(folder, claim_of(other), dead)
        return take(folder, mine, dead)

    monkeypatch.setattr(claim, "take", be_slower)
    with pytest.raises(ValueError, match=f"process {other} of this machine"):
        files.hold(tmp_path, "a")
    assert claim.held(str(tmp_path))["pid"] == other


def test_a_campaign_that_another_machine_held_goes_on_here(tmp_path):
    theirs = {**claim.identity(os.getpid()), "boot_id": "another", "pid": 1}
    claim.take(str(tmp_path), {"campaign": "a", "taken": "2026-11-23T08:00:00.1", **theirs})
    files.hold(tmp_path, "a")
    assert claim.held(str(tmp_path))["pid"] == os.getpid()


def test_of_a_killed_process_no_partial_file_stays(tmp_path):
    logs = tmp_path / "logs/pytorch"
    logs.mkdir(parents=True)
    ended = subprocess.Popen(["true"])
    ended.wait()
    (tmp_path / f".plan.json.{ended.pid}.part").touch()
    (logs / f".r50_1.log.{ended.pid}.part").touch()
    (logs / f".r50_2.log.{os.getppid()}.part").touch()
    (logs / ".notes.part").touch()
    files.hold(tmp_path, "a")
    left = {path.name for path in tmp_path.rglob("*.part")}
    assert left == {f".r50_2.log.{os.getppid()}.part", ".notes.part"}


def plan_of(folder, **changes):
    """Write a plan with these changes; return the folder."""
    made = plan.build(benchmarks(), parse_options({"topology": "1n1g"}), cluster(1))
    (folder / "plan.json").write_text(json.dumps({**made, **changes}))
    return folder


@pytest.mark.parametrize("changes", [{"nodes": [1]}, {"options": None}, {"cells": {}}])
def test_a_damaged_plan_is_named_to_bench_and_to_the_report(tmp_path, changes):
    (key,) = changes
    with pytest.raises(ValueError, match=f"plan.json is not a plan: .*{key} is .*, not a"):
        files.read_plan(plan_of(tmp_path, **changes))
    with pytest.raises(ValueError, match=r"plan.json is not a plan: .*another -e campaign=NAME"):
        files.kept_plan(tmp_path)
    with pytest.raises(ValueError, match=f"not a campaign: plan.json: .*{key} is "):
        read_campaign(tmp_path, "auto", {})


def test_a_plan_without_commands_is_reported_and_not_continued(tmp_path):
    plan_of(tmp_path)
    assert files.kept_plan(tmp_path) == files.read_plan(tmp_path)
    made = files.kept_plan(tmp_path)
    del made["cells"][0]["commands"]
    plan_of(tmp_path, **made)
    assert len(read_campaign(tmp_path, "auto", {}).results["cells"]) == 1
    with pytest.raises(ValueError, match=r"plan.json .* has no commands\. Restore the file"):
        files.kept_plan(tmp_path)


@pytest.mark.parametrize("text", ["[1, 2", "[" * 100_000, b"\xff\xfe"])
def test_a_plan_that_is_no_json_is_refused_by_name(tmp_path, text):
    (tmp_path / "plan.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=r"plan.json is not a plan"):
        files.read_plan(tmp_path)


@pytest.mark.parametrize(
    "text", [b"[1, 2", b'{"x": 1, "x": 1, REST', b'{"verdict": 3}', b"[]", b"\xff"]
)
@pytest.mark.parametrize("name", ["plan.json", "preflight.json", "*_1.run.json"])
def test_what_cannot_be_read_is_named_in_the_report(tmp_path, name, text):
    path = next(write_whole_campaign(tmp_path / "mine").rglob(name))
    path.write_bytes(text.replace(b"REST", path.read_bytes()[1:]))
    (problem, *others) = read_campaign(tmp_path / "mine", "auto", {}).results["unmatched"]
    assert problem["path"] == str(path.relative_to(tmp_path / "mine"))
    assert problem["reason"].startswith("it cannot be read: ")
    assert all(other["path"].endswith(".log") for other in others)


def repeat(folder, text):
    """Write a repeat's record and log; return the record."""
    record = {"log": "logs/r50_1.log", "ending": "crashed", "reason": text}
    log = folder / record["log"]
    log.parent.mkdir(exist_ok=True)
    log.write_text(text)
    log.with_suffix(".run.json").write_text(json.dumps(record))
    return record


def test_what_is_set_aside_keeps_its_number_and_its_log(tmp_path):
    files.set_aside(tmp_path, repeat(tmp_path, "first"))
    files.set_aside(tmp_path, repeat(tmp_path, "second"))
    assert files.records(tmp_path) == {}
    for number, text in ((1, "first"), (2, "second")):
        base = tmp_path / f"logs/r50_1.attempt{number}"
        assert json.loads(base.with_suffix(base.suffix + ".json").read_text())["reason"] == text
        assert base.with_suffix(base.suffix + ".out").read_text() == text


def test_no_record_is_without_its_log_after_an_interrupted_rename(tmp_path, monkeypatch):
    record = repeat(tmp_path, "first")
    log = tmp_path / record["log"]
    with monkeypatch.context() as patch:
        patch.setattr(type(log), "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            files.set_aside(tmp_path, record)
    assert log.read_text() == "first"
    files.set_aside(tmp_path, record)
    assert log.with_suffix(".attempt1.out").read_text() == "first"
    assert not log.exists()


def write_a_campaign(folder, made):
    """Do what bench.yml does to the files of a campaign: plan, failed attempt, second attempt."""
    if not files.kept_plan(folder):
        files.write(folder, "demo", made)
    log = plan.repeats(made["cells"])[0]["log"]
    cell = made["cells"][0]
    for text in ("first", "second"):
        record = {"cell": cell, "repeat": 1, "log": log, "reason": text}
        known = files.records(folder).get(log)
        if known and known["reason"] == text:
            continue
        if known:
            files.set_aside(folder, known)
        durable.make_folder((folder / log).parent)
        part = (folder / log).with_name("fetched.part")
        part.write_text(text)
        durable.replace(part, folder / log)
        files.write_record(folder, {**record, "ending": "crashed"})
    return log


def test_a_writer_killed_between_any_two_system_calls_loses_nothing(tmp_path):
    """The child ends itself at its n-th change of a file; the next writer goes on."""
    made = plan.build(benchmarks(), parse_options({"topology": "1n1g"}), cluster(1))
    changes = {"os.rename", "os.link", "os.remove", "os.mkdir", "open"}
    killed, at = True, 0
    while killed:
        at += 1
        folder = tmp_path / str(at)
        child = os.fork()
        if not child:
            seen = []

            def end(event, args, seen=seen, at=at, folder=folder):
                if event in changes and str(args[0]).startswith(str(folder)):
                    seen.append(event)
                    if len(seen) == at:
                        os._exit(9)

            sys.addaudithook(end)
            try:
                write_a_campaign(folder, made)
            except BaseException:
                os._exit(1)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, 9)
        killed = status == 9
        for path in folder.glob("logs/**/*.json"):
            assert path.with_suffix("").with_suffix(".log").exists() or (
                path.with_suffix(".out").exists()
            ), f"{path.name} has no log after a kill at change {at}"
        log = write_a_campaign(folder, made)
        assert files.records(folder)[log]["reason"] == "second"
        assert (folder / log).read_text() == "second"
        shutil.rmtree(folder)
    assert at > 20, "the writer was killed at too few places"


def test_content_is_on_the_disk_before_its_name_and_its_record(tmp_path, monkeypatch):
    steps = []
    rename, fsync = os.replace, os.fsync

    def sync(opened):
        steps.append(f"sync {Path(os.readlink(f'/proc/self/fd/{opened}')).name}")
        fsync(opened)

    def replace(path, target):
        steps.append(f"rename {Path(target).name}")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    record = {"log": "logs/r50_1.log"}
    files.write_record(tmp_path, record)
    assert steps == [
        f"sync {tmp_path.name}",
        f"sync .r50_1.run.json.{os.getpid()}.part",
        "rename r50_1.run.json",
        "sync logs",
    ]


def test_the_log_of_a_failed_attempt_goes_after_its_copy_is_on_the_disk(tmp_path, monkeypatch):
    steps = []
    unlink, fsync = Path.unlink, os.fsync

    def sync(opened):
        there = sorted(path.name for path in Path(f"/proc/self/fd/{opened}").iterdir())
        steps.append(f"sync {there}")
        fsync(opened)

    def remove(path, missing_ok=False):
        steps.append(f"remove {path.name}")
        unlink(path, missing_ok)

    (tmp_path / "r50_1.log").touch()
    (tmp_path / "r50_1.run.json").touch()
    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "unlink", remove)
    files.set_aside(tmp_path, {"log": "r50_1.log"})
    assert steps == [
        "remove r50_1.attempt1.out",
        "sync ['r50_1.attempt1.json', 'r50_1.attempt1.out', 'r50_1.log']",
        "remove r50_1.log",
    ]


def test_a_link_where_a_record_is_written_is_replaced(tmp_path):
    other = tmp_path / "other"
    other.write_text("precious")
    (tmp_path / "logs").mkdir()
    for name in ("r50_1.run.json.part", f".r50_1.run.json.{os.getpid()}.part", "r50_1.run.json"):
        (tmp_path / "logs" / name).symlink_to(other)
    path = files.write_record(tmp_path, {"log": "logs/r50_1.log"})
    assert json.loads(path.read_text()) == {"log": "logs/r50_1.log"}
    assert other.read_text() == "precious"


def test_the_reason_of_an_older_record_is_shown_without_secrets(tmp_path):
    made = plan.build(benchmarks(), parse_options({"topology": "1n1g"}), cluster(1))
    record = {"log": "logs/r50_1.log", "cell": made["cells"][0], "repeat": 1}
    files.write_record(tmp_path, {**record, "reason": "login --password hunter22 \x1b[2J"})
    reason = files.read_record(tmp_path, "logs/r50_1.run.json")["reason"]
    assert reason == "login --password [redacted: option of a command] "


def test_a_record_that_is_too_large_costs_only_itself(tmp_path, monkeypatch):
    folder = write_campaign(tmp_path / "mine", {"1n1g": 24.0}, repeats=2)
    monkeypatch.setattr(files, "_LARGEST_RECORD", 1 << 20)
    name = next(folder.rglob("*_1.run.json"))
    name.write_text(name.read_text().rstrip() + " " * (1 << 20))
    results = read_campaign(folder, "auto", {}).results
    named = {one["path"]: one["reason"] for one in results["unmatched"]}
    assert "it has more than 1 MiB" in named[name.relative_to(folder).as_posix()]
    assert len([one for one in results["cells"][0]["repeats"] if one["ending"] == "ok"]) == 1


def test_a_repeat_whose_log_lost_its_content_runs_again(tmp_path):
    folder = write_campaign(tmp_path / "mine", {"1n1g": 24.0}, repeats=4)
    logs = sorted(files.records(folder))
    (folder / logs[0]).write_bytes(b"")
    (folder / logs[1]).write_bytes(bytes(100))
    (folder / logs[2]).unlink()
    # As of a program that truncates its own output.
    (folder / logs[3]).write_bytes(bytes(100) + (folder / logs[3]).read_bytes())
    problems = []
    # Without a log, the facts of the record count.
    assert sorted(files.records(folder, problems)) == logs[2:]
    assert {one["reason"] for one in problems} == {"it cannot be read: its log is empty"}


def test_a_log_that_is_no_longer_good_says_how_to_run_its_repeat_again(tmp_path):
    folder = write_campaign(tmp_path / "mine", {"1n1g": 24.0}, repeats=4)
    logs = sorted(files.records(folder))
    record = logs[1].removesuffix(".log") + ".run.json"
    (folder / logs[0]).write_bytes(b"")
    for log in logs[1:3]:
        (folder / log).write_text("something else\n")
    (folder / logs[3]).with_suffix(".run.json").write_text("{")
    measured = read_campaign(folder, "auto", {})
    said = {run["log"]: run["reason"] for run in measured.runs}
    assert f"remove {record} to run it again" in said[logs[1]]
    # bench.yml runs it again by itself.
    assert "remove" not in said[logs[0]]
    unmatched = {one["path"]: one["reason"] for one in measured.results["unmatched"]}
    assert logs[3] not in unmatched
    shown = " ".join(terminal_table(measured.results).split())
    assert f"{logs[3].removesuffix('.log')}.run.json: left out: it cannot be read" in shown


def test_for_an_error_of_ours_no_record_is_to_be_removed(tmp_path, monkeypatch):
    folder = write_campaign(tmp_path / "mine", {"1n1g": 24.0}, repeats=1)
    monkeypatch.setattr(facts, "within_run", lambda _values: {}["gone"])
    (run,) = read_campaign(folder, "auto", {}).runs
    assert "please report KeyError('gone') at unit/test_campaign_files.py:" in run["reason"]
    assert "remove" not in run["reason"]


def test_a_log_without_a_record_is_renamed(tmp_path):
    log = tmp_path / "logs/r50_1.log"
    log.parent.mkdir()
    log.write_text("cut off")
    files.set_aside_unrecorded(tmp_path, "logs/r50_1.log")
    files.set_aside_unrecorded(tmp_path, "logs/r50_2.log")
    assert not log.exists()
    assert (tmp_path / "logs/r50_1.unrecorded.out").read_text() == "cut off"


def test_benchmarks_are_read_by_name_and_a_bad_file_is_named(tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match=r"none: no benchmark file \(\*\.yml\) there"):
        files.load_benchmarks(tmp_path / "none")
    found = files.load_benchmarks(ROOT / "benchmarks")
    assert set(found) == {path.stem for path in (ROOT / "benchmarks").glob("*.yml")}
    assert {name: one["benchmark"] for name, one in found.items()} == {name: name for name in found}
    for text in ("a: [", "benchmark: x"):
        (tmp_path / "bad.yml").write_text(text)
        with pytest.raises(ValueError, match=r"bad\.yml"):
            files.load_benchmarks(tmp_path)


def test_a_benchmark_has_the_name_of_its_file(tmp_path):
    (tmp_path / "line_fit.yml").write_bytes((ROOT / "benchmarks/pytorch.yml").read_bytes())
    said = r"line_fit\.yml: benchmark: 'pytorch' is not the file's name: write line_fit, or rename"
    with pytest.raises(ValueError, match=said):
        files.load_benchmarks(tmp_path)


def test_a_plan_with_an_impossible_rule_for_more_repeats_is_refused_by_name(tmp_path):
    options = parse_options({"topology": "1n1g", "half_width": 0.02})
    made = plan.build(benchmarks(), options, cluster(1))
    for key, value, said in (
        ("half_width", -0.02, "half-width -0.02"),
        ("max_repeats", 3, "at most 3"),
    ):
        files.write(tmp_path, "demo", {**made, "options": {**options, key: value}})
        with pytest.raises(ValueError, match=f"plan.json is not a plan: {said}"):
            files.read_plan(tmp_path)


def test_a_copied_record_is_no_repeat(tmp_path):
    folder = write_campaign(tmp_path / "mine", {"1n1g": 24.0, "2n1g": 46.0}, repeats=2)
    whole = read_campaign(folder, "auto", {}).results
    place = folder / "logs/pytorch/bz4/1n1g"
    shutil.copytree(place, folder / "logs/copy/0")
    first = next(place.glob("*_1.run.json"))
    for end in (".run.json", ".log"):
        shutil.copy(f"{place}/{first.name[:-9]}{end}", f"{place}/r50_b4_fp32_9{end}")
    again = read_campaign(folder, "auto", {}).results
    assert again["cells"] == whole["cells"]
    named = {one["path"]: one["reason"] for one in again["unmatched"]}
    log = f"logs/pytorch/bz4/1n1g/{first.name[:-9]}.log"
    assert len(named) == 3
    for path in (f"logs/copy/0/{first.name[:-9]}.log", "logs/pytorch/bz4/1n1g/r50_b4_fp32_9.log"):
        assert named[path] == f"it is the same repeat as {log}, which counts: remove this one"


def test_the_times_of_a_campaign_that_is_gone_tell_nothing(tmp_path):
    write_campaign(tmp_path / "mine", {"1n1g": 24.0}, repeats=2)
    known = files.earlier(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/plan.json").symlink_to(tmp_path / "nowhere")
    assert files.earlier(tmp_path) == known


def test_a_link_to_itself_as_promises_costs_no_report(tmp_path):
    folder = write_campaign(tmp_path / "mine", {"1n1g": 24.0}, repeats=2)
    (folder / "acceptance.json").symlink_to("acceptance.json")
    with pytest.raises(ValueError, match=r"acceptance\.json: Too many levels"):
        kept_with(folder, "", tmp_path)


def test_results_that_cannot_be_written_are_told_before_the_first_repeat(tmp_path):
    (tmp_path / "gone").symlink_to("nowhere")
    with pytest.raises(ValueError, match=r"gone: a link to nowhere, which is not there"):
        files.check_room(tmp_path / "gone/mine", 0)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"file: results need a folder"):
        files.check_room(tmp_path / "file/mine", 0)
    # Root may write everywhere, and others may not enter its folder of tests.
    as_root = os.getuid() == 0
    child = os.fork()
    if not child:
        if as_root:
            os.setuid(65534)
        told = [refusal(folder) for folder in ("/usr/mine", *[tmp_path / "mine"] * as_root)]
        os._exit(not all("not to be written by this account" in one for one in told))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def refusal(folder):
    """Return why results cannot be written there; empty if they can."""
    try:
        files.check_room(Path(folder), 0)
    except ValueError as error:
        return str(error)
    return ""


def test_the_folder_of_a_campaign_is_no_tree_of_logs(tmp_path):
    folder = write_campaign(tmp_path / "mine", {"1n1g": 24.0})
    said = f"is the folder of a campaign: .* -e campaign=mine .* -e report_results_dir={tmp_path}$"
    with pytest.raises(ValueError, match=said):
        read_log_tree(str(folder), "auto", {})
    assert read_log_tree(str(folder / "logs"), "auto", {}).results["cells"]
