"""The bytecode in what Ansible sends for a module, taken from a run of a playbook."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.scalebench.core.plugins.plugin_utils import module_payload

ROOT = Path(__file__).resolve().parents[2]
# --limit leaves the first play without a host.
PLAY = """
- hosts: other
  gather_facts: false

- hosts: localhost
  gather_facts: false
  tasks:
    - name: Send a module
      {module}:
"""


def run(
    folder: Path, module: str = "ansible.builtin.ping", **given: Any
) -> subprocess.CompletedProcess[str]:
    """Run a playbook with a task; what it sends stays in the folder."""
    (folder / "play.yml").write_text(PLAY.format(module=module))
    kept = {
        "ANSIBLE_CONFIG": f"{ROOT}/ansible.cfg",
        "ANSIBLE_KEEP_REMOTE_FILES": "1",
        "ANSIBLE_PIPELINING": "0",
        "ANSIBLE_REMOTE_TEMP": str(folder),
    }
    command = [Path(sys.executable).parent / "ansible-playbook", "-c", "local"]
    command += ["-i", "localhost,other,", "--limit", "localhost"]
    given["ansible_python_interpreter"] = sys.executable
    done = subprocess.run(
        [*command, "-e", json.dumps(given), folder / "play.yml"],
        env={**os.environ, **kept},
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "prefork" not in done.stderr
    return done


def sent(folder: Path, module: str = "ansible.builtin.ping", **given: Any) -> dict[str, bytes]:
    """Run a playbook with a task; return the files of the payload of its module."""
    run(folder, module, **given)
    (program,) = folder.glob("*/AnsiballZ_*.py")
    (data,) = re.findall("zip_data='([^']+)'", program.read_text())
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(data))) as zipped:
        return {name: zipped.read(name) for name in zipped.namelist()}


@pytest.fixture(scope="module")
def payload(tmp_path_factory) -> dict[str, bytes]:
    """Return the files of a payload with bytecode."""
    return sent(tmp_path_factory.mktemp("payload"), scalebench_bytecode=True)


def ping(files: dict[str, bytes], archive: Path) -> subprocess.CompletedProcess[str]:
    """Run the module of these files."""
    with zipfile.ZipFile(archive, "w") as zipped:
        for name, content in files.items():
            zipped.writestr(name, content)
    program = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        "import atexit, gc, inspect\n"
        "atexit.register(lambda: print(gc.get_threshold()[0], file=sys.stderr))\n"
        "from ansible.module_utils._internal._ansiballz import _loader\n"
        # So does Ansible with a module that another Python shall run.
        "assert 'def run_module' in inspect.getsource(_loader)\n"
        # And who says that something is deprecated.
        f"assert _loader.run_module.__code__.co_filename.startswith({str(archive)!r})\n"
        f"_loader.run_module(json_params=b'{{\"ANSIBLE_MODULE_ARGS\": {{}}}}', profile='legacy',\n"
        f"    module_fqn='ansible.modules.ping', modlib_path={str(archive)!r}, extensions={{}})\n"
    )
    # Without the files of an environment, of which one may set the same threshold.
    command = [sys.executable, "-IS", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def sources(files: dict[str, bytes]) -> list[str]:
    return [name for name in files if name.endswith(".py")]


def test_each_source_has_its_bytecode_beside_it(payload):
    assert len(sources(payload)) > 40
    assert sorted(payload) == sorted(
        name + ending for name in sources(payload) for ending in ("", "c")
    )


@pytest.mark.parametrize("given", [{}, {"scalebench_bytecode": "{{ not_there }}"}], ids=str)
def test_without_the_option_modules_are_sent_as_they_are(tmp_path, given):
    assert {Path(name).suffix for name in sent(tmp_path, **given)} == {".py"}


def test_no_node_gets_the_import_hook(tmp_path):
    files = sent(tmp_path, "running_work_info")
    parent = "ansible_collections/scalebench/core/plugins"
    assert files[f"{parent}/__init__.py"] == b""
    assert len(files[f"{parent}/module_utils/node/processes.py"]) > 100


def test_what_one_playbook_built_the_next_one_sends(payload, tmp_path, monkeypatch):
    monkeypatch.setenv("ANSIBLE_DEBUG", "1")
    said = run(tmp_path, scalebench_bytecode=True).stdout
    assert "using cached module" in said and "Creating module" not in said


def test_a_module_on_this_machine_is_not_read_byte_by_byte(tmp_path, monkeypatch):
    given = {"PYTHONUNBUFFERED": "1", "SCALEBENCH_BESIDE": "it", "ANSIBLE_VERBOSITY": "1"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    said = run(tmp_path, "ansible.builtin.command: env\n      environment").stdout
    assert "SCALEBENCH_BESIDE=it" in said
    assert "PYTHONUNBUFFERED" not in said


def test_python_takes_the_bytecode(payload, tmp_path):
    broken = {**payload, **dict.fromkeys(sources(payload), b"this is no Python")}
    read = "ansible/module_utils/_internal/_ansiballz/_loader.py"
    done = ping({**broken, read: payload[read]}, tmp_path / "payload.zip")
    assert done.returncode == 0, done.stderr
    assert '"ping": "pong"' in done.stdout
    assert done.stderr == "100000\n"


def test_a_python_of_another_version_takes_the_source(payload, tmp_path):
    other = {
        name: b"\0\0\r\n" + content[4:] if name.endswith("c") else content
        for name, content in payload.items()
    }
    done = ping(other, tmp_path / "payload.zip")
    assert done.returncode == 0, done.stderr
    assert '"ping": "pong"' in done.stdout


def test_another_version_of_ansible_core_sends_what_it_sends(tmp_path):
    program = (
        "from ansible.executor import module_common\n"
        "from ansible_collections.scalebench.core.plugins.plugin_utils import module_payload\n"
        "del module_common.recursive_finder\n"
        "before = dict(vars(module_common))\n"
        "module_payload.prepare()\n"
        "assert vars(module_common) == before\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/collections"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


@pytest.mark.parametrize("source", ["if 1 is 1:\n    pass\n", "return\n", "x = (\n", "\0"])
def test_what_is_wrong_with_a_source_is_left_to_its_run(source, recwarn):
    compiled = module_payload._bytecode("m.py", source.encode())
    assert bool(compiled) is source.startswith("if")
    assert not recwarn.list
