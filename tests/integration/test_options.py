"""Options from an inventory, and a benchmark with a factor and a unit of its own."""

import json
import shutil
import sys

import pytest
import yaml
from local_nodes import ROOT, events, failures
from playbook_runs import run_playbook

TOY = ROOT / "tests/integration/workloads"


@pytest.fixture
def plan(tmp_path):
    """Return a function that plans with variables of all nodes and of single ones, and with -e."""

    def run(everywhere, nodes, arguments="--check", **extra):
        connection = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "scalebench_bytecode": True,
            "scalebench_work_dir": str(tmp_path / "node"),
            "framework_python": sys.executable,
            "campaign_results_dir": str(tmp_path / "results"),
        }
        folder = tmp_path / "inventory"
        (folder / "group_vars").mkdir(parents=True, exist_ok=True)
        (folder / "hosts.yml").write_text(yaml.safe_dump({"nodes": {"hosts": nodes}}))
        (folder / "group_vars/all.yml").write_text(yaml.safe_dump({**connection, **everywhere}))
        hosts = str(folder / "hosts.yml")
        return run_playbook(tmp_path, "playbooks/bench.yml", arguments, inventory=hosts, **extra)

    return run


def cells(runner):
    """Return the paths of the planned cells."""
    assert runner.rc == 0, failures(runner)
    planned = events(runner, "campaign_plan")[-1]
    return [f"{cell['directory']}/{cell['name']}" for cell in planned["cells"]]


def test_an_inventory_gives_options_and_the_command_line_stands_over_it(plan):
    everywhere = {
        "precision": ["fp32", "amp"],
        "campaign_batch_size_per_device": "{{ [8] }}",
        "repeats": 4,
        "mode": "0644",
        "campaign_mode": "",
    }
    runner = plan(everywhere, {"node1": {}}, repeats="2")
    assert cells(runner) == [
        "pytorch/bz8/1n1g/r50_b8_fp32",
        "pytorch/bz8/1n1g/r50_b8_amp",
    ]
    assert events(runner, "campaign_plan")[-1]["repeats"] == 4


@pytest.mark.parametrize(
    ("everywhere", "nodes", "said"),
    [
        (
            {"mode": "0644"},
            {"node1": {}},
            "variable mode=0644: there is no mode '0644'; the choices are train",
        ),
        (
            {"repeats": 3},
            {"node1": {}, "node2": {"repeats": 5}},
            "variable repeats differs between the nodes: node1 has 3, node2 has 5",
        ),
        (
            {"batch_size_per_device": "max", "topology": "2n1g"},
            {"node1": {"cell_memory_mib": 4096}, "node2": {}},
            "without one the kernel would kill processes when the machine's memory is exhausted"
            " (node2 without one)",
        ),
        (
            {"campaign_benchmarks_dir": str(TOY), "sequence_length": "abc"},
            {"node1": {}},
            "variable sequence_length=abc: 'abc' is not a whole number (sequence_length is a"
            " variable of the inventory or the play; sequence_length is a factor of benchmark"
            " toy_sequences",
        ),
    ],
)
def test_a_wrong_variable_is_named_as_such(plan, everywhere, nodes, said):
    extra = {"benchmark": "toy_sequences"} if "sequence_length" in everywhere else {}
    runner = plan(everywhere, nodes, **extra)
    assert runner.rc != 0
    assert said in failures(runner)


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (
            {"campaign_precison": "amp"},
            "-e campaign_precison: there is no option 'campaign_precison'; did you mean"
            " 'campaign_precision'?",
        ),
        (
            {"benchmark": "other", "sequence_length": "128"},
            "-e sequence_length=128: there is no sequence_length in the benchmarks asked for; it is"
            " a factor of benchmark toy_sequences",
        ),
    ],
)
def test_a_wrong_option_is_refused(plan, two_benchmarks, extra, said):
    runner = plan({"campaign_benchmarks_dir": str(two_benchmarks)}, {"node1": {}}, **extra)
    assert runner.rc != 0
    assert said in failures(runner)


def test_too_few_forks_are_refused_before_anything_runs(plan, tmp_path):
    nodes = {f"node{number}": {} for number in range(1, 5)}
    # The trainers are asked for before.
    shutil.copytree(ROOT / "workloads", tmp_path / "node/workloads")
    runner = plan({}, nodes, "-f 2", topology="4n1g")
    assert runner.rc != 0
    assert "4 nodes train at the same time, and Ansible works on 2 at most: give -f 4" in (
        failures(runner)
    )
    assert not list((tmp_path / "results").glob("*"))


@pytest.fixture
def two_benchmarks(tmp_path):
    """Return a folder of two benchmarks, of which only the first has factors of its own."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    toy = yaml.safe_load((TOY / "toy_sequences.yml").read_text())
    (folder / "toy_sequences.yml").write_text(yaml.safe_dump(toy))
    (recipe,) = toy["recipes"].values()
    del toy["factors"], recipe["additions"], recipe["choices"]["packed"]
    del recipe["defaults"]["cpu"]["sequence_length"]
    recipe["arguments"].remove("--sequence-length={sequence_length}")
    (folder / "other.yml").write_text(yaml.safe_dump({**toy, "benchmark": "other"}))
    return folder


def test_a_factor_of_another_benchmark_in_an_inventory_is_ignored(plan, two_benchmarks):
    everywhere = {"campaign_benchmarks_dir": str(two_benchmarks), "sequence_length": 128}
    nodes = {"node1": {"packed": True}, "node2": {"packed": False}}
    extra = {"benchmark": "other", "precision": "{{ ['amp'] }}", "topology": "1n1g"}
    assert cells(plan(everywhere, nodes, **extra)) == ["other/bz4/1n1g/toy_b4_amp"]


def test_a_factor_of_a_benchmark_has_a_variable_of_role_campaign(plan):
    everywhere = {
        "campaign_benchmarks_dir": str(TOY),
        "campaign_sequence_length": 512,
        "sequence_length": 64,
        "packed": "my own",
        "campaign_packed": "",
    }
    extra = {"benchmark": "toy_sequences"}
    assert cells(plan(everywhere, {"node1": {}}, **extra)) == [
        "toy_sequences/bz4-s512/1n1g/toy_b4_fp32"
    ]


def test_a_factor_of_a_benchmark_is_an_option_like_the_others(plan):
    everywhere = {"campaign_benchmarks_dir": str(TOY), "packed": True}
    extra = {"benchmark": "toy_sequences", "sequence_length": "128,512"}
    assert cells(plan(everywhere, {"node1": {}}, **extra)) == [
        "toy_sequences/bz4-packed/1n1g/toy_b4_fp32",
        "toy_sequences/bz4-s512-packed/1n1g/toy_b4_fp32",
    ]


def test_a_benchmark_of_its_own_unit_runs_and_is_reported(plan, tmp_path):
    everywhere = {"campaign_benchmarks_dir": str(TOY), "workload_dir": str(TOY), "repeats": 1}
    extra = {"benchmark": "toy_sequences", "sequence_length": 512, "campaign": "toy"}
    runner = plan(everywhere, {"node1": {}}, "", **extra)
    assert runner.rc == 0, failures(runner)
    folder = tmp_path / "results/toy"
    (cell,) = json.loads((folder / "results.json").read_text())["cells"]
    assert (cell["median_speed"], cell["unit"]) == (1000.0, "sequences/s")
    assert cell["own_factors"] == {"sequence_length": 512, "packed": False}
    for name in ("report.html", "report.md", "results.csv", "scalebench.prom", "throughput.svg"):
        text = (folder / name).read_text()
        assert "sequences/s" in text and "images/s" not in text
    other = plan({**everywhere, "repeats": 2}, {"node1": {}}, **extra)
    assert other.rc != 0
    assert "repeats comes from a variable of the inventory" in failures(other)


def test_a_diagnosis_that_cannot_be_read_is_refused_before_anything_is_planned(plan):
    for arguments in ("--check", ""):
        refused = plan({}, {"node1": {}}, arguments, diagnosis="/no/such.json")
        assert "-e diagnosis=/no/such.json: No such file" in failures(refused)
        assert not events(refused, "campaign_plan")
    assert cells(plan({}, {"node1": {}}, diagnosis="/no/such.json", preflight=False))


def test_tags_of_nothing_that_a_campaign_has_do_nothing(plan):
    for arguments in ("--tags framework --check", "--tags framework"):
        done = plan({}, {"node1": {}}, arguments)
        assert (done.rc, events(done, "campaign_plan")) == (0, []), failures(done)


def test_a_trainer_that_no_playbook_copies_is_told_with_the_key_that_names_it(plan, tmp_path):
    definition = yaml.safe_load((ROOT / "benchmarks/pytorch.yml").read_text())
    definition["recipes"]["portable"]["workload"] = "line_fit/nope.py"
    (tmp_path / "pytorch.yml").write_text(yaml.safe_dump(definition))
    everywhere = {"campaign_benchmarks_dir": str(tmp_path)}
    checked = plan(everywhere, {"node1": {}})
    assert (
        "the trainer line_fit/nope.py is not there, nor in workloads/, which provision.yml copies."
        f" Correct {tmp_path}/pytorch.yml: recipes.portable.workload, or give both"
    ) in failures(checked)
    assert cells(checked)[0] == "pytorch/bz2/1n1g/r50_b2_fp32"
    assert "line_fit/nope.py is not there" in failures(plan(everywhere, {"node1": {}}, ""))
    (tmp_path / "own/line_fit").mkdir(parents=True)
    (tmp_path / "own/line_fit/nope.py").touch()
    found = plan(everywhere, {"node1": {}}, workload_own_source=str(tmp_path / "own"))
    assert cells(found) and not failures(found)
