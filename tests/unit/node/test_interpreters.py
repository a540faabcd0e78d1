"""The interpreters of this machine, and their packages."""

import sys
from importlib.metadata import version

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.interpreters import (
    _prefixes,
    environment_facts,
    filled,
    nccl_version,
    packages,
    platform_tag,
    why_not,
)


def environment(folder):
    (folder / "bin").mkdir()
    return folder / "bin/python"


def test_a_working_interpreter_is_usable(tmp_path):
    python = environment(tmp_path)
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    assert why_not(str(python)) is None
    # Role framework made the environment and could not fill it.
    (tmp_path / "unavailable").write_text("no package index has oneflow==0.1.8: …\n")
    assert why_not(str(python)) == "no package index has oneflow==0.1.8: …"


def test_the_reason_that_provisioning_left_is_returned(tmp_path):
    python = environment(tmp_path)
    (tmp_path / "unavailable").write_text("needs Python 3.7 (looked at it)\n")
    assert why_not(str(python)) == "needs Python 3.7 (looked at it)"


def test_a_missing_file_and_one_that_is_not_executable(tmp_path):
    python = environment(tmp_path)
    assert why_not(str(python)) == "there is no such file"
    python.write_text("")
    assert why_not(str(python)) == "it is not executable"


def test_the_platform_names_machine_and_c_library():
    assert platform_tag().startswith("linux-")
    assert platform_tag().count("-") <= 2


def test_packages_are_read_from_the_names_of_folders():
    names = [
        "torch-2.9.1+cpu.dist-info",
        "typing_extensions-4.16.0.dist-info",
        "horovod-0.28.1-py3.8.egg-info",
        "Cython-3.0a1.dist-info",
        "torch",
        "no_version.dist-info",
        "distutils-precedence.pth",
    ]
    assert packages(names) == {
        "cython": "3.0a1",
        "horovod": "0.28.1",
        "torch": "2.9.1+cpu",
        "typing-extensions": "4.16.0",
    }


@pytest.mark.parametrize(
    ("installed", "expected"),
    [({"torch": "2", "nvidia-nccl-cu12": "2.21.5"}, "2.21.5"), ({"nvidia-cudnn": "9"}, None)],
)
def test_nccl_is_that_of_the_installed_package(installed, expected):
    assert nccl_version(installed) == expected


def test_packages_of_this_interpreter_are_those_it_has():
    facts = environment_facts(sys.executable)
    assert facts["python"] == sys.version.split()[0]
    assert facts["packages"]["pytest"] == version("pytest")
    assert facts["packages"]["ansible-core"] == version("ansible-core")


def test_an_environment_over_another_has_the_packages_of_both_and_its_own_first(tmp_path):
    base, made = tmp_path / "base", tmp_path / "made"
    for prefix, names in {base: ("numpy-1.0", "six-1.16"), made: ("numpy-2.0",)}.items():
        for name in names:
            (prefix / "lib/python3.9/site-packages" / f"{name}.dist-info").mkdir(parents=True)
        (prefix / "bin").mkdir()
    (base / "bin/python3.9").touch()
    (made / "bin/python").symlink_to(base / "bin/python3.9")
    (made / "pyvenv.cfg").write_text(
        f"home = {base}/bin\ninclude-system-site-packages = true\nversion = 3.9.18\n"
    )
    assert environment_facts(str(made / "bin/python")) == {
        "python": "3.9.18",
        "packages": {"numpy": "2.0", "six": "1.16"},
        "nccl": None,
    }
    assert environment_facts(str(base / "bin/python3.9"))["packages"]["numpy"] == "1.0"


def test_a_missing_interpreter_has_no_packages(tmp_path):
    facts = environment_facts(str(tmp_path / "bin/python"))
    assert facts == {"python": None, "packages": {}, "nccl": None}


@pytest.mark.parametrize(
    ("program", "prefixes"),
    [("/usr/bin/python3", ["/usr/local", "/usr"]), ("/opt/own/bin/python3", ["/opt/own"])],
)
def test_the_systems_interpreter_looks_below_usr_local_first(program, prefixes, monkeypatch):
    monkeypatch.setattr("os.path.realpath", str)
    assert _prefixes(program, {}) == prefixes


def test_what_fills_an_environment_changes_with_each_package_and_what_was_asked_for(tmp_path):
    folder = tmp_path / "venvs[1]"
    folder.mkdir()
    asked = ["torch==2.9.1", "pillow==12.0.0"]
    assert filled(str(folder), asked) is None
    python = environment(folder)
    python.symlink_to(sys.executable)
    site = folder / "lib/python3.11/site-packages"
    metadata = site / "sympy-1.14.0.dist-info/METADATA"
    for path in (site / "torch-2.9.1+cpu.dist-info/METADATA", metadata, site / "old.egg-info"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Name: one of them\n")
    seen = [filled(str(folder), asked), filled(str(folder), asked[:1])]
    assert seen[0] == filled(str(folder), reversed(asked))
    metadata.write_text("")
    seen.append(filled(str(folder), asked))
    metadata.parent.rename(site / "sympy-1.13.0.dist-info")
    seen.append(filled(str(folder), asked))
    (site / "old.egg-info").unlink()
    seen.append(filled(str(folder), asked))
    python.unlink()
    python.symlink_to("/bin/sh")
    seen.append(filled(str(folder), asked))
    assert len({*seen}) == len(seen) and None not in seen


@pytest.mark.parametrize("requirement", ["/srv/tiny", "tiny @ https://127.0.0.1/tiny", "tiny>=1"])
def test_only_pip_looks_for_what_has_no_exact_version(tmp_path, requirement):
    environment(tmp_path).symlink_to(sys.executable)
    assert filled(str(tmp_path), ["wheel==0.45.1"]) is not None
    assert filled(str(tmp_path), ["wheel==0.45.1", requirement]) is None


def test_an_environment_that_cannot_be_used_is_not_filled(tmp_path):
    python = environment(tmp_path)
    python.symlink_to(tmp_path / "removed")
    assert filled(str(tmp_path), []) is None
    python.unlink()
    python.symlink_to(sys.executable)
    assert filled(str(tmp_path), []) is not None
    (tmp_path / "unavailable").write_text("needs Python 3.7 (looked at it)\n")
    assert filled(str(tmp_path), []) is None
