"""What the action plugin distribution_packages takes for missing."""

import os
import shutil
import subprocess
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleActionFail

from action_plugins.distribution_packages import ActionModule

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

    def _install(self, names, _):
        return {"changed": True, "installed": names}


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
                      "installed": ["no-such-package"]}  # fmt: skip
    assert wanted(os.defpath, ["dpkg"]) == {"changed": False, "missing": []}


def test_a_package_that_was_taken_away_and_left_its_configuration_is_missing(tmp_path):
    path = answering(tmp_path, "dpkg-query", "'config-files chrony' 'installed tar'")
    assert wanted(path, ["chrony", "tar"])["missing"] == ["chrony"]


def test_rpm_is_asked_where_there_is_no_dpkg(tmp_path):
    path = answering(tmp_path, "rpm", "'installed tar' 'package chrony is not installed'")
    assert wanted(path, ["tar"])["missing"] == []
    assert wanted(path, ["chrony", "tar"])["missing"] == ["chrony"]


def test_all_are_missing_where_nothing_can_tell(tmp_path):
    assert wanted(tmp_path, ["chrony"])["missing"] == ["chrony"]


@pytest.mark.parametrize("names", [None, "chrony", [1]])
def test_a_name_alone_is_refused(names):
    with pytest.raises(AnsibleActionFail, match="name must be a list of packages, not"):
        wanted("/nowhere", names)
