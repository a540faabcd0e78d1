"""What the action plugin distribution_packages takes for missing."""

import os
import shutil
import subprocess
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleActionFail

from action_plugins import distribution_packages
from action_plugins.distribution_packages import ActionModule

NODE = {"inventory_hostname": "node1"}
CONNECTION = SimpleNamespace(_shell=SimpleNamespace(tmpdir=""))


class Packages(ActionModule):
    """The plugin on this machine, with the programs of one folder; installs nothing."""

    path: str

    def _low_level_execute_command(self, cmd, **_):
        done = subprocess.run(
            ["/bin/sh", "-c", cmd], env={"PATH": self.path}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        return {"stdout": done.stdout}

    def _install(self, names, dpkg, may_remove, _):
        return {"changed": True, "installed": names, "keep": dpkg and not may_remove}


def wanted(path, names):
    task = SimpleNamespace(args={"name": names}, async_val=0, check_mode=False)
    plugin = Packages(task, CONNECTION, None, None, None, None)
    plugin.path = str(path)
    return plugin.run()


def answering(folder, program, words):
    """Make a program of this name, which prints the words and fails."""
    (folder / program).write_text(f"#!/bin/sh\nprintf '%s\\n' {words}\nexit 1\n")
    (folder / program).chmod(0o755)
    return folder


@pytest.mark.skipif(not shutil.which("dpkg-query"), reason="needs dpkg")
def test_dpkg_is_asked():
    answer = wanted(os.defpath, ["dpkg", "no-such-package"])
    assert answer == {"changed": True, "missing": ["no-such-package"],
                      "installed": ["no-such-package"], "keep": True}  # fmt: skip
    assert wanted(os.defpath, ["dpkg"]) == {"changed": False, "missing": []}


def test_a_package_that_was_taken_away_and_left_its_configuration_is_missing(tmp_path):
    path = answering(tmp_path, "dpkg-query", "'config-files chrony' 'installed tar'")
    assert wanted(path, ["chrony", "tar"])["missing"] == ["chrony"]


def test_rpm_is_asked_where_there_is_no_dpkg(tmp_path):
    path = answering(tmp_path, "rpm", "'installed tar' 'package chrony is not installed'")
    assert wanted(path, ["tar"])["missing"] == []
    assert wanted(path, ["chrony", "tar"])["missing"] == ["chrony"]
    assert wanted(path, ["chrony", "tar"])["keep"] is False


@pytest.mark.parametrize("keep", [True, False])
def test_apt_may_remove_nothing_and_the_message_says_what_to_do(monkeypatch, keep):
    given = {}
    # The words of apt-get --no-remove, in which it names no package.
    words = "E: Packages need to be removed but remove is disabled."

    def install(_, name, args, __):
        given.update(args)
        return {"failed": True, "msg": f"'/usr/bin/apt-get ...' failed: {words}"}

    monkeypatch.setattr(distribution_packages, "run_action", install)
    task = SimpleNamespace(args={}, async_val=0, check_mode=False)
    plugin = ActionModule(task, CONNECTION, None, None, None, None)
    answer = plugin._install(["docker.io"], True, not keep, NODE)
    assert given.get("fail_on_autoremove", False) == keep
    # docker.io recommends needrestart, which would restart services of the site from then on.
    assert given["install_recommends"] is False
    assert answer["msg"].startswith("node1: docker.io would remove packages that are there")


@pytest.mark.parametrize(
    "answered",
    [
        {"msg": "No package matching 'chrony' is available"},
        {"msg": "Failed to install", "failures": ["No package chrony available."]},
    ],
)
def test_a_package_that_no_source_has_is_to_be_added_to_the_mirror(monkeypatch, answered):
    failed = {"failed": True, **answered}
    monkeypatch.setattr(distribution_packages, "run_action", lambda *_: failed)
    task = SimpleNamespace(args={}, async_val=0, check_mode=False)
    plugin = ActionModule(task, CONNECTION, None, None, None, None)
    said = plugin._install(["chrony"], True, False, NODE)["msg"]
    assert said.startswith(f"node1: {answered['msg']}. It is sought in the sources")
    assert "mirror" in said


def test_dnf_gets_no_options_of_apt(monkeypatch):
    monkeypatch.setattr(distribution_packages, "run_action", lambda _, __, args, ___: args)
    task = SimpleNamespace(args={}, async_val=0, check_mode=False)
    plugin = ActionModule(task, CONNECTION, None, None, None, None)
    asked = plugin._install(["chrony"], False, False, {"inventory_hostname": "node1"})
    assert asked == {"name": ["chrony"], "state": "present"}


def test_all_are_missing_where_nothing_can_tell(tmp_path):
    assert wanted(tmp_path, ["chrony"])["missing"] == ["chrony"]


@pytest.mark.parametrize("names", [None, "chrony", [1]])
def test_a_name_alone_is_refused(names):
    with pytest.raises(AnsibleActionFail, match="name must be a list of packages, not"):
        wanted("/nowhere", names)
