"""Module system_changes on a folder that stands for /etc; programs are stand-ins without effect."""

import json
import os
import shlex
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node import system_state
from ansible_collections.scalebench.core.plugins.module_utils.node.system_changes import APT_GET

from library import system_changes


@pytest.fixture
def etc(tmp_path, monkeypatch):
    """Return a folder with files, which the module takes for all that may change."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("systemctl", "apt-get", "apt-mark", "sysctl", "gpasswd"):
        (programs / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {tmp_path}/calls\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(system_state, "_lines", lambda *command: [])
    folder = tmp_path / "etc"
    folder.mkdir()
    monkeypatch.setattr(
        system_changes, "read_state", partial(system_state.read_state, [str(folder)])
    )
    (folder / "hosts").write_text("127.0.0.1 localhost\n")
    (folder / "hosts").chmod(0o640)
    (folder / "issue").symlink_to("os-release")
    (folder / "issue.net").write_text("Debian\n")
    return folder


@pytest.fixture
def step(run, etc, tmp_path):
    """Return a function that runs the module on a record and a work folder in tmp_path."""
    return lambda state, **more: run(
        system_changes,
        state=state,
        directory=str(tmp_path / "record"),
        **({"folders": [str(tmp_path / "work")]} if state == "begun" else {}),
        **more,
    )


def tree(folder):
    return {
        path.name: os.readlink(path) if path.is_symlink() else (
            path.is_dir() or (path.read_text(), path.stat().st_mode)
        )
        for path in folder.iterdir()
    }  # fmt: skip


def provision(etc, tmp_path):
    (etc / "hosts").write_text("127.0.0.1 localhost\n10.0.0.1 node1\n")
    (etc / "hosts").chmod(0o644)
    (etc / "issue").unlink()
    (etc / "issue").symlink_to("scalebench")
    (etc / "issue.net").unlink()
    (etc / "chrony").mkdir()
    (etc / "chrony/scalebench.conf").write_text("pool x\n")
    (tmp_path / "work/venvs").mkdir(parents=True)


def test_all_is_as_before_afterwards(step, etc, tmp_path):
    before = tree(etc)
    step("begun")
    provision(etc, tmp_path)
    assert step("recorded")["changed"] is False
    changed = tree(etc)
    would = step("undone", check=True)
    assert tree(etc) == changed
    done = step("undone")
    assert tree(etc) == before
    assert not (tmp_path / "work").exists()
    assert not (tmp_path / "record").exists()
    assert would["changed"] is done["changed"] is True
    assert would["undo"] == done["undo"]
    assert (tmp_path / "calls").read_text() == "systemctl daemon-reload\n"
    assert step("undone")["changed"] is False


def test_what_another_program_installed_meanwhile_is_noted(step, tmp_path, monkeypatch):
    history, packages = tmp_path / "history.log", {}
    read = system_changes.read_state
    monkeypatch.setattr(system_changes, "read_state", lambda: {**read(), "packages": {**packages}})
    monkeypatch.setattr(system_changes, "_APT_HISTORY", str(history))
    step("begun")
    packages.update(htop="3")
    now = time.strftime("%Y-%m-%d  %H:%M:%S", time.localtime(time.time() + 1))
    history.write_text(
        f"\nStart-Date: {now}\nCommandline: apt install htop\nInstall: htop:amd64 (3)\n"
    )
    step("recorded")
    done = step("undone")
    assert done["undo"]["packages"] == []
    assert done["undo"]["stays"] == {"package htop": "apt installed it meanwhile"}


def test_only_packages_that_are_still_there_are_asked_for_their_files(step, monkeypatch):
    packages, asked = {}, []
    read = system_changes.read_state
    monkeypatch.setattr(system_changes, "read_state", lambda: {**read(), "packages": {**packages}})
    monkeypatch.setattr(system_changes, "package_files", lambda _, names: asked.extend(names) or {})
    step("begun")
    packages.update(chrony="4", htop="3")
    step("recorded")
    del packages["htop"]
    assert step("undone")["undo"]["packages"] == ["chrony"]
    assert {*asked} == {"chrony"}


def test_kernel_parameters_are_undone_where_a_file_of_the_run_sets_them(step, etc, monkeypatch):
    kernel = {"vm.swappiness": "60", "net.core.rmem_max": "212992"}
    read = system_changes.read_state
    monkeypatch.setattr(system_changes, "read_state", lambda: {**read(), "kernel": {**kernel}})
    monkeypatch.setattr(system_changes, "_SYSCTL", f"{etc}/sysctl")
    (etc / "sysctl.conf").write_text("vm.swappiness = 60\n")
    step("begun")
    (etc / "sysctl-scalebench.conf").write_text("net.core.rmem_max = 67108864\n")
    kernel.update({"vm.swappiness": "1", "net.core.rmem_max": "67108864"})
    step("recorded")
    assert step("undone")["undo"]["kernel"] == {"net.core.rmem_max": "212992"}


def test_a_run_that_failed_is_recorded_by_the_next(step, etc, tmp_path):
    before = tree(etc)
    step("begun")
    provision(etc, tmp_path)
    step("begun")
    step("recorded")
    step("undone")
    assert tree(etc) == before


def test_uninstalling_after_a_run_that_failed(step, etc, tmp_path):
    before = tree(etc)
    step("begun")
    provision(etc, tmp_path)
    step("undone")
    assert tree(etc) == before


def test_what_others_did_in_between_stays(step, etc, tmp_path):
    step("begun")
    provision(etc, tmp_path)
    step("recorded")
    (etc / "hosts").write_text("mine\n")
    (etc / "chrony/mine.conf").write_text("mine\n")
    done = step("undone")
    assert done["undo"]["stays"] == {
        str(etc / "hosts"): "somebody else changed it since",
        str(etc / "chrony"): "it holds files of others",
    }
    assert (etc / "hosts").read_text() == "mine\n"
    assert (etc / "chrony/mine.conf").exists()
    assert not (etc / "chrony/scalebench.conf").exists()


def test_what_is_older_than_an_hour_is_not_undone(step, etc, tmp_path):
    step("begun")
    begun = tmp_path / "record/begun.json"
    text = json.loads(begun.read_text())
    begun.write_text(json.dumps({**text, "time": text["time"] - 3601}))
    (etc / "hosts").write_text("mine\n")
    (etc / "new.conf").write_text("of that run\n")
    told = {
        str(etc / "new.conf"): "it came after a run began that failed: ours, or somebody else's"
    }
    assert step("undone", check=True)["undo"]["stays"] == told
    # A later run keeps the names.
    step("begun")
    step("recorded")
    done = step("undone")
    assert (done["changed"], (etc / "hosts").read_text()) == (False, "mine\n")
    assert done["undo"]["stays"] == told
    assert (etc / "new.conf").exists()


def test_a_run_of_more_than_an_hour_is_recorded(step, etc, tmp_path):
    before = tree(etc)
    step("begun")
    provision(etc, tmp_path)
    begun = tmp_path / "record/begun.json"
    text = json.loads(begun.read_text())
    begun.write_text(json.dumps({**text, "time": text["time"] - 3601}))
    step("recorded")
    step("undone")
    assert tree(etc) == before


def test_check_mode_shows_what_a_failed_run_changed(step, etc, tmp_path):
    step("begun")
    provision(etc, tmp_path)
    would = step("undone", check=True)
    assert would["undo"] == step("undone")["undo"]
    assert would["undo"]["files"]


def test_a_file_without_a_copy_stays_and_is_named(step, etc, tmp_path):
    step("begun")
    provision(etc, tmp_path)
    step("recorded")
    (tmp_path / f"record/originals{etc}/hosts").write_text("trunc")
    done = step("undone")
    assert done["undo"]["stays"] == {str(etc / "hosts"): "there is no copy of what it was"}
    assert "node1" in (etc / "hosts").read_text()


def test_a_work_folder_that_is_reached_by_a_link_stays(run, etc, tmp_path):
    def step(state):
        return run(
            system_changes,
            state=state,
            directory=str(tmp_path / "record"),
            folders=[str(tmp_path / "scratch/work")] if state == "begun" else [],
        )

    (tmp_path / "disk").mkdir()
    (tmp_path / "scratch").symlink_to(tmp_path / "disk")
    step("begun")
    (tmp_path / "disk/work").mkdir()
    step("recorded")
    done = step("undone")
    assert (tmp_path / "disk/work").exists()
    assert list(done["undo"]["stays"].values()) == ["it is a link or holds a mount"]


def test_a_work_folder_that_was_there_stays(step, etc, tmp_path):
    (tmp_path / "work").mkdir()
    step("begun")
    step("recorded")
    done = step("undone", work_dir=str(tmp_path / "work"))
    assert (tmp_path / "work").exists()
    assert done["undo"]["stays"][str(tmp_path / "work")].endswith("if all in it is Scalebench's")


def test_what_an_older_version_made_stays_and_is_named(step, etc, tmp_path):
    unit = etc / "system/scalebench-sshd.service"
    unit.parent.mkdir()
    unit.write_text("[Service]\n")
    (tmp_path / "work").mkdir()
    done = step("undone", work_dir=str(tmp_path / "work"))
    assert [line.split(" stays: ")[0] for line in done["summary"]] == [
        str(tmp_path / "work"), str(unit)
    ]  # fmt: skip
    assert "cluster_ssh_state=absent" in done["undo"]["stays"][str(unit)]
    step("begun")
    unit.unlink()
    step("recorded")
    assert step("undone", work_dir="/nowhere")["undo"]["files"] == {}


def test_files_of_version_0_1_do_not_come_back(step, etc):
    limits, sysctl, site = (
        etc / name for name in ("90-scalebench.conf", "scalebench.sources", "90-scalebench-site~")
    )
    for path in (limits, sysctl, site):
        path.write_text("of version 0.1\n")
    step("begun")
    limits.write_text("of version 0.2\n")
    site.write_text("of version 0.2\n")
    step("recorded")
    undo = step("undone")["undo"]
    assert not limits.exists()
    assert site.read_text() == "of version 0.1\n"
    assert "remove it yourself" in undo["stays"][str(sysctl)]


def test_nothing_is_recorded_in_check_mode(step, tmp_path):
    step("begun", check=True)
    step("recorded", check=True)
    assert not (tmp_path / "record").exists()


def test_another_work_folder_is_refused_while_that_of_the_record_is_there(step, etc, tmp_path):
    own, other = str(tmp_path / "work"), str(tmp_path / "other")
    step("begun", work_dir=own)
    provision(etc, tmp_path)
    step("recorded", work_dir=own)
    before = tree(etc)
    for state in ("begun", "recorded", "undone"):
        refused = step(state, work_dir=other)
        assert f"was provisioned with scalebench_work_dir={own} (" in refused["msg"], state
        assert "-e scalebench_take_over=true" in refused["msg"]
    assert tree(etc) == before
    first, *_ = step("undone", check=True, work_dir=other)["summary"]
    assert first.endswith("Without --check this run ends here.")
    assert "msg" not in step("begun", work_dir=own)
    assert "msg" not in step("begun", work_dir=other, take_over=True)
    (tmp_path / "other").mkdir()
    assert f"scalebench_work_dir={other} (" in step("begun", work_dir=own)["msg"]


def test_a_work_folder_that_is_gone_binds_nobody(step, etc, tmp_path):
    step("begun", work_dir=str(tmp_path / "gone"))
    assert "msg" not in step("begun", work_dir=str(tmp_path / "work"))


def test_what_came_before_python_is_undone_too_and_python_last(step, etc, tmp_path):
    """Role python_bootstrap lists what it installed before this module could run."""
    (tmp_path / "record").mkdir()
    early = [etc / "python3", etc / "python3/debian_config"]
    early[0].mkdir()
    early[1].write_text("[DEFAULT]\n")
    (tmp_path / "work").mkdir()
    lines = [*(f"files {path}" for path in early), f"folders {tmp_path}/work"]
    (tmp_path / "record/python_bootstrap").write_text("\n".join(lines) + "\n")
    for _ in range(2):  # A second run finds them, and takes none for the site's or for edited.
        step("begun")
        step("recorded")
    done = step("undone")
    assert done["undo"]["stays"] == {}
    assert {str(path): None for path in early} == done["undo"]["files"]
    assert done["undo"]["folders"] == [f"{tmp_path}/work"]
    # The interpreter still runs then.
    assert early[1].exists() and (tmp_path / "work").exists()
    subprocess.run(["sh", "-ec", done["last"]], check=True)
    assert not early[0].exists() and not (tmp_path / "work").exists()


def test_pythons_packages_are_removed_last_but_not_configuration_that_was_changed():
    empty = system_changes.Undo(**dict.fromkeys(system_changes.Undo._fields, ()))
    plan = empty._replace(packages=["chrony", "python3"], files={}, stays={})
    early = {"packages": ["python3"], "files": ["/etc/python3/debian_config"]}
    rest, last = system_changes.set_apart(plan, early)
    assert rest.packages == ["chrony"]
    assert last == f"{shlex.join(APT_GET)} remove python3 && dpkg --purge python3"
    changed = plan._replace(stays={"/etc/python3/debian_config": "somebody else changed it since"})
    assert system_changes.set_apart(changed, early)[1] == f"{shlex.join(APT_GET)} remove python3"


BLOCK = "# BEGIN Scalebench: the nodes\n10.0.0.1 node1\n# END Scalebench: the nodes\n"


def test_of_a_file_that_somebody_changed_since_our_marked_lines_go(step, etc, tmp_path):
    hosts, copy = etc / "hosts", etc / "hosts.7.2026-11-25@14:07:09~"
    step("begun")
    copy.write_text(hosts.read_text())
    hosts.write_text(f"127.0.0.1 localhost\n{BLOCK}")
    step("recorded")
    hosts.write_text(f"127.0.0.1 localhost\n{BLOCK}10.0.0.9 theirs\n")
    done = step("undone")
    assert hosts.read_text() == "127.0.0.1 localhost\n10.0.0.9 theirs\n"
    assert hosts.stat().st_mode & 0o777 == 0o640
    assert copy.exists()
    assert f"remove only the lines of Scalebench from: {hosts}" in done["summary"]


def test_nothing_is_removed_after_a_command_that_failed(step, etc, tmp_path, monkeypatch):
    packages = {}
    read = system_changes.read_state
    monkeypatch.setattr(system_changes, "read_state", lambda: {**read(), "packages": {**packages}})
    step("begun")
    provision(etc, tmp_path)
    packages.update(chrony="4")
    step("recorded")
    changed = tree(etc)
    locked = '#!/bin/sh\ncase "$*" in *Simulate*) ;; *) echo locked >&2; exit 100;; esac\n'
    (tmp_path / "bin/apt-get").write_text(locked)
    failed = step("undone")
    assert "remove chrony: locked" in failed["msg"]
    assert tree(etc) == changed and (tmp_path / "work").exists()
    (tmp_path / "bin/apt-get").write_text("#!/bin/sh\n")
    assert step("undone")["changed"]
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/opt/own", ""),
        ("/home/me/venvs", "it is on a file server (nfs4), where other nodes may use it"),
        ("/scratch/x", "it is on a file server (fuse.sshfs), where other nodes may use it"),
        ("/srv", "it is a link or holds a mount"),
        ("/scratch/my disk", "it is a link or holds a mount"),
    ],
)
def test_folders_that_others_may_use_stay(tmp_path, path, why):
    mounts = [("/", "ext4"), ("/home", "nfs4"), ("/scratch", "fuse.sshfs"), ("/srv/data", "xfs")]
    mounts.append(("/scratch/my\\040disk", "ext4"))
    lines = [f"36 35 98:0 / {place} rw master:1 - {kind} x rw" for place, kind in mounts]
    (tmp_path / "mountinfo").write_text("\n".join(lines) + "\n")
    assert system_changes.held_by_others(path, str(tmp_path / "mountinfo")) == why


def test_a_damaged_record_is_named(tmp_path):
    record = system_changes.Record(str(tmp_path))
    Path(record.begun).write_text("")
    with pytest.raises(ValueError, match=r"begun\.json is damaged .*mend it, or remove it"):
        record.read(record.begun)
