"""docs/architecture.md: every addition it describes is made in a copy of the tree and tried."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/architecture.md"
MU = "collections/ansible_collections/scalebench/core/plugins/module_utils"
COPIED = (
    *("ansible.cfg", "action_plugins", "benchmarks", "collections", "docs"),
    *("filter_plugins", "inventory", "library", "lookup_plugins", "playbooks", "published"),
    *("pyproject.toml", "roles", "stacks", "tests", "workloads"),
)
_BLOCK = re.compile(
    r"^(?P<how>New file|In the imports of|At the end of `(?P<table>\w+)` in) `(?P<path>[^`]+)`:\n\n"
    r"```\w+\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Edit(NamedTuple):
    """One code block of the document: a new file, or lines for a table or the imports of one."""

    path: str
    text: str
    table: str | None
    new: bool


def described():
    """Return the edits of the document by section."""
    sections = re.split(r"^### ", DOCUMENT.read_text(), flags=re.MULTILINE)[1:]
    return {
        section.partition("\n")[0]: [
            Edit(
                found["path"].replace("MU/", f"{MU}/"),
                found["text"],
                found["table"],
                found["how"] == "New file",
            )
            for found in _BLOCK.finditer(section)
        ]
        for section in sections
    }


def apply(edit: Edit, tree: Path) -> None:
    """Make one edit in a copy of the tree."""
    path = tree / edit.path
    if edit.new:
        assert not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(edit.text)
        return
    lines = path.read_text().splitlines(keepends=True)
    body = ast.parse("".join(lines)).body
    types = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
    if edit.table in types:
        at = types[edit.table].end_lineno
    elif edit.table:
        [value] = [
            node.value
            for node in body
            if isinstance(node, (ast.Assign, ast.AnnAssign))
            and edit.table
            in [getattr(one, "id", "") for one in getattr(node, "targets", None) or [node.target]]
        ]
        # A table may be made of a tuple by a comprehension: its end is the end of that tuple.
        if isinstance(value, ast.DictComp):
            value = value.generators[0].iter
        at = value.end_lineno - 1
    else:
        at = max(node.end_lineno for node in body if isinstance(node, ast.ImportFrom))
    path.write_text("".join([*lines[:at], edit.text, *lines[at:]]))


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """Return a copy of the tree, whose bytecode and unchanged files all sections share."""
    folder = tmp_path_factory.mktemp("copied")
    for name in COPIED:
        source = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy2(source, folder / name)
    return folder


@pytest.fixture
def tree(copied, request):
    """Return the copy with the additions of one section, which no other one finds."""
    before = {path for path in copied.rglob("*") if "__pycache__" not in path.parts}
    edits = described()[request.param]
    assert edits
    for edit in edits:
        apply(edit, copied)
    yield copied
    for path in {path for path in copied.rglob("*") if "__pycache__" not in path.parts} - before:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for edit in edits:
        if not edit.new:
            # With its time, by which Python tells bytecode of another content.
            shutil.copy2(ROOT / edit.path, copied / edit.path)


def section(name):
    return pytest.mark.parametrize("tree", [name], indirect=True, ids=[name])


def python(tree, code, *words):
    """Run code with the copy's collection and return what it prints as JSON."""
    head = (
        "import json, sys\n"
        "from pathlib import Path\n"
        f"sys.path[:0] = [{str(tree / 'collections')!r}, {str(tree / 'tests/unit')!r},"
        f" {str(tree / 'tests/support')!r}]\n"
        "import ansible_collections.scalebench.core.plugins.module_utils as mu\n"
        f"assert {str(tree)!r} in list(mu.__path__)[0], mu.__path__\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", head + code, *words],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def unit_tests(tree, *words):
    """Run tests of the copy."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout


def playbook(tree, *words):
    run = subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), *words],
        cwd=tree,
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


PLAN = """
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.planning import benchmark_file, plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import (
    misspelt, parse_options)
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import (
    declared_factors)
from campaign_data import cluster
def planned(name, change=lambda data: None, **given):
    data = yaml.safe_load(Path("benchmarks", name + ".yml").read_text())
    change(data)
    known = {name: benchmark_file.check_benchmark(data, name)}
    options = parse_options({"benchmark": name, **given}, own=declared_factors(known))
    return plan.build(known, options, cluster(2))["cells"]
"""


@section("A factor")
def test_a_factor_is_one_entry(tree):
    code = """
def change(data):
    recipe = data["recipes"]["portable"]
    recipe["choices"]["optimizer"] = ["sgd", "lamb"]
    recipe["arguments"].append("--optimizer={optimizer}")
cells = planned("pytorch", change, optimizer="sgd,lamb", topology="1n1g")
from ansible_collections.scalebench.core.plugins.module_utils.comparison import cell_pairs
measured = [{**cell, "unit": "images/s", "repeats": [{"throughput": 1.0}]} for cell in cells]
other = {**measured[0], "optimizer": "adam"}
print(json.dumps({
    "paths": [cell["directory"] for cell in cells],
    "words": [cell["commands"][cell["node_names"][0]]["argv"][-1] for cell in cells],
    "apart": [one["reason"] for one in cell_pairs.cell_pairs(
        measured[:1], [{"campaign": "b", "cells": [other]}])[1]],
    "misspelt": misspelt(["optimiser"], []),
}))
"""
    result = python(tree, PLAN + code)
    assert result["paths"] == ["pytorch/bz2/1n1g", "pytorch/bz2-lamb/1n1g"]
    assert result["words"] == ["--optimizer=sgd", "--optimizer=lamb"]
    assert "optimizer adam in the baseline, sgd here" in result["apart"][0]
    assert "did you mean 'optimizer'" in result["misspelt"][0]
    plans = sorted(str(path) for path in (tree / "tests/unit/planning").glob("test_plan*.py"))
    unit_tests(tree, "tests/unit/published", "tests/unit/records", "tests/unit/history", *plans)


@section("A column")
def test_a_column_is_one_entry(tree):
    python(
        tree,
        "from written_campaigns import write_campaign\n"
        "write_campaign(Path('results/example'), {'1n1g': 20.0, '2n1g': 39.0})\n"
        "print('0')",
    )
    playbook(tree, "playbooks/report.yml", "-e", "campaign=example")
    folder = tree / "results/example"
    assert ",range," in (folder / "results.csv").read_text().splitlines()[0] + ","
    for name in ("report.md", "report.html"):
        assert "range" in (folder / name).read_text()
    metric = "scalebench_throughput_range_samples_per_second{"
    assert metric in (folder / "scalebench.prom").read_text()


@section("An ending")
def test_an_ending_is_one_entry(tree):
    code = """
from ansible_collections.scalebench.core.plugins.module_utils.records.endings import ENDINGS
from ansible_collections.scalebench.core.plugins.module_utils.running.policy import (
    default_retry_policy, should_retry)
from ansible_collections.scalebench.core.plugins.module_utils.running.record import record
cell = {"node_names": ["node1"], "oversubscribed": False, "iterations": 100}
repeat = {"cell": cell, "repeat": 1, "log": "a.log"}
run = {"ending": "preempted", "reason": "drained", "seconds": 1.0}
made = record({"campaign": "c"}, repeat, {"node1": run}, {"msg": "no log"})
print(json.dumps({"made": [made["ending"], made["reason"]],
                  "retried": should_retry(["preempted"], default_retry_policy())}))
"""
    result = python(tree, code)
    assert result == {
        "made": ["preempted", "node1: drained"],
        "retried": [False, "preempted: a resume runs it again"],
    }


@section("A reader")
def test_a_reader_is_one_file_and_one_entry(tree):
    code = """
from ansible_collections.scalebench.core.plugins.module_utils import logs
reading = logs.read("".join(f"step {n}: 120.5 sequences/s\\n" for n in range(1, 30)))
from ansible_collections.scalebench.core.plugins.module_utils.strategies import usual
print(json.dumps([reading["reader"], reading["unit"], usual(reading)]))
"""
    assert python(tree, code) == ["example", "sequences/s", "mean_after_warmup"]


@section("A strategy")
def test_a_strategy_is_one_entry(tree):
    code = """
from ansible_collections.scalebench.core.plugins.module_utils import logs, strategies
from log_lines import lines
reading = logs.read("".join(lines("oneflow", 12)))
plain = strategies.apply(reading, "mean")
print(json.dumps([strategies.apply(reading, "example_rule")["count"], plain["count"]]))
"""
    assert python(tree, code) == [10, 12]


@section("A benchmark with a factor and a unit of its own")
def test_a_benchmark_with_its_own_factor_is_one_file(tree):
    code = """
cells = planned("example", sequence_length="128,512", topology="1n1g")
print(json.dumps([[cell["directory"], cell["own_factors"]] for cell in cells]))
"""
    assert python(tree, PLAN + code) == [
        ["example/bz4/1n1g", {"sequence_length": 128}],
        ["example/bz4-s512/1n1g", {"sequence_length": 512}],
    ]


@section("A framework")
def test_a_framework_has_a_package_set(tree):
    unit_tests(tree, "tests/unit/test_framework_sets.py", "-k", "example and not documentation")


@section("A launcher")
def test_a_launcher_is_one_function_and_one_entry(tree):
    code = """
def change(data):
    recipe = data["recipes"]["portable"]
    recipe.update(launcher="ranks", launcher_options={"prefix": ["nice"]})
(cell,) = planned("pytorch", change, topology="2n1g")
print(json.dumps([json.loads(cell["commands"][name]["argv"][-1]) for name in cell["node_names"]]))
"""
    one, two = python(tree, PLAN + code)
    assert one["argv"][0] == "nice"
    assert [each["environment"]["RANK"] for each in (one, two)] == ["0", "1"]
    assert one["environment"]["WORLD_SIZE"] == "2"
    assert one["environment"]["MASTER_ADDR"] == two["environment"]["MASTER_ADDR"]


@section("A role")
def test_a_role_keeps_the_conventions_and_runs(tree):
    unit_tests(tree, "tests/unit/test_conventions.py", "-k", "example")
    play = [{"hosts": "localhost", "gather_facts": False, "roles": ["example"]}]
    (tree / "playbooks/example.yml").write_text(json.dumps(play))
    target = tree / "made"
    playbook(
        tree, "playbooks/example.yml", "-i", "localhost,", "-c", "local",
        "-e", f"example_directory={target}",
    )  # fmt: skip
    assert target.is_dir()


def test_every_section_is_tried():
    tried = set(re.findall(r'^@section\("(.+)"\)', Path(__file__).read_text(), re.MULTILINE))
    assert tried == set(described())


def test_the_tables_are_where_the_document_says():
    text = DOCUMENT.read_text()
    rows = re.findall(r"^\|[^|]+\| ((?:`\w+`(?:, )?)+) in ([^|]+)\|", text, re.MULTILINE)
    assert len(rows) >= 8
    for names, places in rows:
        sources = [
            (ROOT / path.replace("MU/", f"{MU}/")).read_text()
            for path in re.findall(r"`([^`]+)`", places)
        ]
        for name in re.findall(r"`(\w+)`", names):
            for source in sources:
                assert re.search(rf"^(class )?{name}\b", source, re.MULTILINE), (name, places)


_OF_SLURM = re.compile(r"slurm|srun|sbatch|scontrol|squeue|scancel|sacct", re.IGNORECASE)
# Paths of code, or beginnings of them, in which Slurm is known, and what of it.
KNOW_SLURM = {
    # What Carriers of the document names.
    f"{MU}/slurm/": "its command lines, options and answers",
    MU.replace("module_utils", "connection/slurm.py"): "the carrier",
    MU.replace("module_utils", "plugin_utils/slurm_programs.py"): "starts its programs",
    "roles/slurm/": "the allocation",
    "action_plugins/slurm_": "the allocation",
    "library/slurm_": "their documentation",
    "playbooks/callback_plugins/allocations.py": "gives the allocation back",
    "playbooks/allocate.yml": "chooses the carrier by its name",
    "playbooks/inventory_check.yml": "the names of the carriers",
    "inventory/example_slurm/": "its inventory",
    "inventory/slurm/": "the testbed's",
    # Names of variables and carriers, for what users misspell.
    "roles/campaign/": "lists of them",
    f"{MU}/planning/benchmark_file.py": "names that a factor cannot have",
    f"{MU}/planning/carried.py": "the carriers' names, and the option of a longer time limit",
    # MPI systems and containers that srun starts, and what a node has of it.
    "action_plugins/campaign_plan.py": "hands it on",
    "library/campaign_plan.py": "documents it",
    "playbooks/bench.yml": "needs no ssh between nodes with it",
    f"{MU}/planning/container.py": "its containers",
    f"{MU}/planning/launch.py": "stands for mpirun",
    f"{MU}/planning/launch_mpirun.py": "stands for mpirun",
    f"{MU}/planning/plan_changes.py": "the host's other name",
    f"{MU}/records/plans.py": "the fact of a node",
    f"{MU}/planning/variable_types.py": "an option that YAML would change",
    "workloads/launch/": "takes over the ranks",
    # Logs of any origin, and examples in comments.
    f"{MU}/logs/": "words in logs",
    "roles/host_baseline/tasks/system.yml": "an example",
    "roles/nvidia_driver/tasks/reboot_node.yml": "an example",
}
CODE = (
    *("action_plugins", "collections", "filter_plugins", "inventory"),
    *("library", "lookup_plugins", "playbooks", "roles", "workloads", "benchmarks"),
)


def test_only_the_places_of_a_carrier_know_it():
    """Another carrier would be as far away: the campaign asks none of them by its name."""
    knowing = set()
    for path in (path for folder in CODE for path in (ROOT / folder).rglob("*")):
        if path.is_file() and path.suffix != ".pyc" and ".venv" not in path.parts:
            text = path.read_text(encoding="utf-8", errors="replace")
            if _OF_SLURM.search(text):
                knowing.add(path.relative_to(ROOT).as_posix())
    strange = {name for name in knowing if not name.startswith(tuple(KNOW_SLURM))}
    assert not strange, "use the neutral names of docs/architecture.md, Carriers"
    unused = [place for place in KNOW_SLURM if not any(n.startswith(place) for n in knowing)]
    assert not unused
