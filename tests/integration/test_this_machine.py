"""The playbooks with inventory/this_machine: no sshd, no ssh, this interpreter, any user."""

import json
import os
import pwd
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from pathlib import Path

import pytest
from local_nodes import ROOT, SMALL, TIMED_STEPS, Cluster, failures, wait_until
from trainers import interpreter

# With --limit, which leaves localhost out.
INVENTORY = ("-i", "inventory/this_machine", "--limit", "this_machine")
# Where an unprivileged user may run the controller: the environment's own may lie in a home folder.
SYSTEM_PYTHON = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """Return this machine, provisioned with an interpreter that has PyTorch already."""
    nodes = Cluster(tmp_path_factory.mktemp("machine"), tmp_path_factory.mktemp("results"))
    done = nodes.run("provision.yml", *INVENTORY, framework_python=python())
    assert done.rc == 0, failures(done)
    nodes.provisioned = done
    return nodes


def python():
    """Return the interpreter with PyTorch."""
    return interpreter("pytorch", "torch", "pytorch")


def bench(machine, **variables):
    return machine.bench(*INVENTORY, framework_python=python(), **variables)


def test_provision_runs_no_role_that_changes_the_system(machine):
    roles = {
        event["event_data"].get("role")
        for event in machine.provisioned.events
        if event["event"] == "runner_on_ok"
    }
    # hardware and stack only read; claim writes a file of Scalebench's own.
    read = {"hardware", "stack", "claim"}
    assert roles == {"local_cluster", "framework", "workload", "dataset"} | read
    made = {path.name for path in machine.state.glob("nodes/this_machine/*")}
    assert made == {"claim.lock", "workloads"}
    assert not (machine.state / "ssh").exists()


def test_a_second_run_changes_nothing(machine):
    again = machine.run("provision.yml", *INVENTORY, framework_python=python())
    assert again.rc == 0, failures(again)
    assert sum(again.stats["changed"].values()) == 0


def test_an_interpreter_without_the_framework_is_refused(machine):
    done = machine.run("provision.yml", *INVENTORY, framework_python="/usr/bin/false")
    assert done.rc != 0
    assert "this_machine: /usr/bin/false does not import torch" in failures(done)


def test_more_nodes_than_this_machine_are_refused_with_the_reason(machine):
    done = bench(machine, topology="2n1g", campaign="wide")
    assert done.rc != 0
    assert "2n1g: it needs 2 node(s)" in failures(done)
    assert "the inventory has 1 (this_machine)" in failures(done)


def test_bench_and_report_without_ssh_as_an_ordinary_user(machine):
    """All commands as nobody where the tests are root's, with no program of ssh in the PATH."""
    user = "nobody" if os.geteuid() == 0 else None
    # Not pytest's own temporary folder, which no other user may enter.
    with tempfile.TemporaryDirectory() as folder:
        if user:
            entry = pwd.getpwnam(user)
            os.chown(folder, entry.pw_uid, entry.pw_gid)
        programs = Path(folder, "bin")
        programs.mkdir()
        for path in Path("/usr/bin").iterdir():
            if not path.name.startswith(("ssh", "systemd", "systemctl")):
                (programs / path.name).symlink_to(path)
        environment = {
            "PATH": str(programs),
            "HOME": folder,
            "LANG": "C.UTF-8",
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "PYTHONPATH": sysconfig.get_path("purelib"),
        }
        imports = f"{SYSTEM_PYTHON} -c 'import ansible' && {python()} -c 'import torch'"
        if subprocess.run(
            ["sh", "-c", imports], user=user, env=environment, check=False
        ).returncode:
            pytest.skip(f"{user or 'this user'} cannot run {imports}")
        given = {
            "scalebench_state_dir": folder,
            "campaign_results_dir": f"{folder}/results",
            "framework_python": python(),
        }
        campaign = {"campaign": "plain", "topology": "1n1g,1n2g", "campaign_cpu_processes": 2}
        for playbook, variables in {
            "provision": {},
            "preflight": {"preflight_file": f"{folder}/verdicts.json"},
            "bench": {**SMALL, **campaign},
            "report": {"campaign": "plain"},
            "teardown": {},
        }.items():
            done = subprocess.run(
                [SYSTEM_PYTHON, "-m", "ansible", "playbook", *INVENTORY,
                 f"playbooks/{playbook}.yml", "-e", json.dumps({**given, **variables})],
                cwd=ROOT, env=environment, user=user, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
        verdicts = json.loads(Path(folder, "verdicts.json").read_text())
        assert verdicts["counts"]["fail"] == 0
        results = json.loads(Path(folder, "results/plain/results.json").read_text())
        measured = {cell["topology"]: cell["state"] for cell in results["cells"]}
        assert list(measured) == ["1n1g", "1n2g"]
        assert set(measured.values()) <= {"measured", "oversubscribed"}
        # Each module's file is removed, or was never there.
        assert list(Path(folder, "tmp").glob("*")) == []


def test_the_run_ends_with_a_killed_controller(machine):
    process = start(machine, campaign="killed", iterations=100000)
    wait_until(machine.running)
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not machine.running(), patience=60)
    process.wait()


def test_a_supervisor_that_does_not_answer_is_a_timeout_and_ended(machine):
    process = start(
        machine, campaign="frozen", iterations=100000, cell_timeout=8, cell_grace=2,
        campaign_retry={"attempts": 1},
    )  # fmt: skip
    # A full pipe would stop the playbook.
    reader = threading.Thread(target=process.stdout.read, daemon=True)
    reader.start()
    wait_until(machine.processes)
    os.kill(machine.processes()[0].parent, signal.SIGSTOP)
    process.wait(timeout=180)
    assert machine.running() == []
    (record,) = machine.records("frozen").values()
    assert (record["ending"], record["reason"]) == (
        "timeout", "this_machine: the node gave no answer within 8 s and 2 s more",
    )  # fmt: skip


def start(machine, **variables):
    """Start bench.yml with one long repeat of slept steps."""
    given = {
        **machine.variables, **SMALL, **TIMED_STEPS, "topology": "1n1g", **variables
    }  # fmt: skip
    return machine.start(
        ["ansible-playbook", *INVENTORY, "playbooks/bench.yml", "-e", json.dumps(given)]
    )


def toy(workloads):
    """Return the options of a benchmark without a framework, with its trainers in a folder."""
    return {
        "benchmark": "toy_sequences",
        "batch_size_per_device": 4,
        "campaign_benchmarks_dir": str(ROOT / "tests/integration/workloads"),
        "workload_dir": str(workloads),
        "framework_python": sys.executable,
        "topology": "1n1g",
    }


def test_a_machine_that_was_never_provisioned_is_told_what_it_lacks(tmp_path):
    nodes = Cluster(tmp_path / "state", tmp_path / "results")
    source = {"workload_own_source": str(ROOT / "tests/integration/workloads")}
    done = nodes.bench(*INVENTORY, **toy(tmp_path / "nowhere"), **source, campaign="bare")
    assert done.rc != 0
    assert "this_machine: the trainer toy_sequences.py is not there. Run ansible" in failures(done)
    assert "playbooks/provision.yml" in failures(done)
    assert not (tmp_path / "results/bare").exists()


def test_a_failed_preflight_gives_the_node_back(tmp_path):
    nodes = Cluster(tmp_path / "state", tmp_path / "results")
    given = toy(ROOT / "tests/integration/workloads")
    claim = tmp_path / "state/nodes/this_machine/claim.json"
    done = nodes.bench(*INVENTORY, **given, campaign="early", preflight=True, preflight_gpus=1000)
    assert done.rc != 0
    assert "1 check(s) failed" in failures(done)
    # It had been taken.
    assert claim.with_name("claim.lock").exists()
    assert not claim.exists()
    done = nodes.bench(*INVENTORY, **given, campaign="whole")
    assert done.rc == 0, failures(done)
    assert not claim.exists()
