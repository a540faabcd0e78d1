"""The filters of statistics and published results, as a playbook uses them."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILTERS = [
    "claims_text",
    "compare_published",
    "median_interval",
    "published_rows",
    "round_as",
    "scaling_facts",
    "speedup_rows",
    "speedup_table",
    "speedups",
    "summarise",
    "text_table",
]
CLAIMS = {"title": "", "claims": [], "confirmed": 0, "differs": 0, "impossible": 0}


def documentation(path, name):
    """Return one of the documentation texts of a plugin, without importing it."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            return yaml.safe_load(node.value.value)
    raise AssertionError(f"{path} has no {name}")


def play(tmp_path, tasks, variables=None):
    """Run tasks on localhost from a folder in which published/ can be found."""
    playbook = tmp_path / "play.yml"
    head = {"hosts": "localhost", "connection": "local", "gather_facts": False}
    playbook.write_text(yaml.safe_dump([{**head, "vars": variables or {}, "tasks": tasks}]))
    (tmp_path / "published").symlink_to(ROOT / "published")
    return subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-i", "localhost,", playbook],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_STDOUT_CALLBACK": "default", "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_every_example_in_the_documentation_runs(tmp_path):
    paths = [ROOT / f"filter_plugins/{name}.py" for name in FILTERS]
    paths.append(ROOT / "lookup_plugins/published.py")
    tasks = [task for path in paths for task in documentation(path, "EXAMPLES")]
    run = play(tmp_path, tasks, {"verified": CLAIMS})
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"ok={len(tasks)} " in run.stdout
    assert "352.72 352.71" in run.stdout
    assert "finding: equivalent" in run.stdout


@pytest.mark.parametrize("name", FILTERS)
def test_every_option_is_documented(name):
    document = documentation(ROOT / f"filter_plugins/{name}.py", "DOCUMENTATION")
    tree = ast.parse((ROOT / f"filter_plugins/{name}.py").read_text(encoding="utf-8"))
    imported = next(n for n in reversed(tree.body) if isinstance(n, ast.ImportFrom))
    module = __import__(imported.module, fromlist=[imported.names[0].name])
    code = getattr(module, imported.names[0].name).__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    options = set(document["options"]) - {"_input"}
    assert options == set(parameters[1:])
    positional = [word.strip() for word in document.get("positional", "").split(",") if word]
    assert positional == list(parameters[1 : code.co_argcount])


def test_a_wrong_value_is_one_clear_message(tmp_path):
    task = {"ansible.builtin.debug": {"msg": "{{ {'1n1g': ['x']} | scaling_facts }}"}}
    run = play(tmp_path, [task])
    assert run.returncode == 2
    assert "speeds of 1n1g[0] is 'x': a finite number is needed" in run.stdout + run.stderr
    assert "Traceback" not in run.stdout + run.stderr


def test_a_broken_document_names_file_and_place(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a.yml").write_text("schema: 1\nsource: {kind: seed}\n")
    look = f"{{{{ lookup('published', folder='{folder}') }}}}"
    run = play(tmp_path, [{"ansible.builtin.debug": {"msg": look}}])
    assert "published results, a: method is missing" in run.stdout + run.stderr
