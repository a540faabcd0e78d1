"""A wheel built from a package with a build system of its own of ten lines."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from ansible_collections.scalebench.core.plugins.module_utils.node import wheel_build
from live_processes import alive

BUILD = """
import json, sys
sys.path.insert(0, "collections")
from ansible_collections.scalebench.core.plugins.module_utils.node.wheel_build import build_wheel
try:
    print(build_wheel(*json.loads(sys.argv[1])))
except ValueError as error:
    print("ValueError:", error)
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
BACKEND = """
import os, zipfile
def build_wheel(folder, *_settings):
    {}
    name, info = f"tiny-{{os.environ['V']}}", {{
        "METADATA": f"Metadata-Version: 2.1\\nName: tiny\\nVersion: {{os.environ['V']}}\\n",
        "WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        "RECORD": "",
    }}
    with zipfile.ZipFile(os.path.join(folder, f"{{name}}-py3-none-any.whl"), "w") as wheel:
        for file, text in info.items():
            wheel.writestr(f"{{name}}.dist-info/{{file}}", text)
    return f"{{name}}-py3-none-any.whl"
"""


def start(source, folder):
    arguments = [sys.executable, str(source), {"V": "1.5"}, str(folder)]
    return subprocess.Popen(
        [sys.executable, "-c", BUILD, json.dumps(arguments)], stdout=subprocess.PIPE, text=True
    )


def package(folder, code="pass"):
    folder.mkdir()
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "backend.py").write_text(BACKEND.format(code))
    return folder


def test_a_wheel_is_built_with_its_settings_and_nothing_else_is_left(tmp_path):
    said, _ = start(package(tmp_path / "tiny"), tmp_path / "made").communicate()
    assert said.strip() == str(tmp_path / "made/tiny-1.5-py3-none-any.whl")
    assert sorted(os.listdir(tmp_path / "made")) == ["build.log", "tiny-1.5-py3-none-any.whl"]


def test_a_wheel_is_on_the_disk_before_it_counts_and_what_a_killed_build_left_goes(
    tmp_path, monkeypatch
):
    synced, fsync, wheel = [], os.fsync, tmp_path / "tiny-1.5.whl"
    (tmp_path / "build-1/pip-build").mkdir(parents=True)

    def build(argv, *_rest, **_more):
        work = Path(argv[argv.index("--wheel-dir") + 1])
        assert not list(work.iterdir())
        (work / "tiny-1.5.whl").write_text("wheel")
        return {"ending": "ok"}

    def noted(opened):
        synced.append((os.fstat(opened).st_ino, wheel.exists()))
        fsync(opened)

    monkeypatch.setattr(wheel_build, "supervise", build)
    monkeypatch.setattr(os, "fsync", noted)
    assert wheel_build.build_wheel("python", "tiny", {}, str(tmp_path)) == str(wheel)
    assert synced == [(wheel.stat().st_ino, False), (tmp_path.stat().st_ino, True)]
    assert os.listdir(tmp_path) == ["tiny-1.5.whl"]


def test_a_build_that_fails_says_why_and_leaves_its_log(tmp_path):
    source = package(tmp_path / "tiny", "raise SystemExit('no compiler here')")
    said, _ = start(source, tmp_path / "made").communicate()
    assert said.startswith(f"ValueError: {source}: crashed: exit code 1")
    assert os.listdir(tmp_path / "made") == ["build.log"]
    assert "no compiler here" in (tmp_path / "made/build.log").read_text()


def test_a_build_ends_with_the_connection_to_its_controller(tmp_path):
    pid_file = tmp_path / "pid"
    waits = f"open({str(pid_file)!r}, 'w').write(str(os.getpid())); import time; time.sleep(60)"
    building = start(package(tmp_path / "tiny", waits), tmp_path / "made")
    end = time.monotonic() + 120
    while not (pid_file.exists() and pid_file.read_text()):
        assert time.monotonic() < end
        time.sleep(0.1)
    building.stdout.close()
    building.wait(60)
    assert not alive(pid_file.read_text())
    assert os.listdir(tmp_path / "made") == ["build.log"]
