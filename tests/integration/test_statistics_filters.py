"""The filters for statistics and published results, called from a playbook."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
FILTERS = [
    "claims_text",
    "compare_published",
    "median_interval",
    "round_as",
    "scaling_facts",
    "summarise",
    "text_table",
]
CLAIMS = {"title": "", "claims": [], "confirmed": 0, "differs": 0, "impossible": 0}


def examples(name):
    """Return the example tasks of a filter."""
    text = (ROOT / f"filter_plugins/{name}.yml").read_text(encoding="utf-8")
    return yaml.safe_load(yaml.safe_load(text)["EXAMPLES"])


def examples_of_lookup(name):
    """Return the example tasks of a lookup plugin, without importing it."""
    text = (ROOT / f"lookup_plugins/{name}.py").read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "EXAMPLES":
            return yaml.safe_load(node.value.value)
    raise AssertionError(f"lookup {name} has no EXAMPLES")


def examples_of_document():
    """Return the example tasks of docs/reading-logs.md for playbooks of the reader's own."""
    text = (ROOT / "docs/reading-logs.md").read_text(encoding="utf-8")
    section = text.split("## Statistics in your own playbooks\n", 1)[1]
    return yaml.safe_load(section.split("```yaml\n", 1)[1].split("```", 1)[0])


def play(tmp_path, tasks, variables=None):
    """Run tasks on localhost in a folder that contains published/."""
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
    tasks = [task for name in FILTERS for task in examples(name)]
    tasks += examples_of_lookup("published") + examples_of_document()
    log = ROOT / "tests/fixtures/logs/oneflow.log"
    run = play(tmp_path, tasks, {"verified": CLAIMS, "path": str(log)})
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"ok={len(tasks)} " in run.stdout
    assert "352.72 352.71" in run.stdout
    assert "finding: equivalent" in run.stdout
    assert "throughput: 385.096" in run.stdout
    assert "| 1n1g     | 0.00074 |" in run.stdout


def test_ansible_doc_shows_every_filter():
    names = [path.stem for path in (ROOT / "filter_plugins").glob("*.yml")]
    run = subprocess.run(
        [Path(sys.executable).parent / "ansible-doc", "-t", "filter", "--json", *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    shown = json.loads(run.stdout)
    assert sorted(shown) == sorted(names)
    assert all(plugin["doc"]["short_description"] for plugin in shown.values())


def test_a_wrong_value_is_one_clear_message(tmp_path):
    task = {"ansible.builtin.debug": {"msg": "{{ {'1n1g': ['x']} | scaling_facts }}"}}
    run = play(tmp_path, [task])
    assert run.returncode == 2
    assert "speeds of 1n1g[0] is 'x': a finite number is needed" in run.stdout + run.stderr
    assert "Traceback" not in run.stdout + run.stderr


def test_a_broken_document_names_file_and_place(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a.yml").write_text("schema: 1\nsource: {kind: reference}\n")
    look = f"{{{{ lookup('published', folder='{folder}') }}}}"
    run = play(tmp_path, [{"ansible.builtin.debug": {"msg": look}}])
    assert "published results, a: method is missing" in run.stdout + run.stderr
