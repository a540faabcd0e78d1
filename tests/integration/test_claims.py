"""Claims of nodes: one ansible-playbook at a time, an owner, and given back however it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLAYBOOK = ROOT / "tests/integration/playbooks/claim_and_wait.yml"
NODES = ("node1", "node2")
_WITH_CTRL_C = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL);"
    "signal.signal(signal.SIGHUP, signal.SIG_DFL);"
    "os.execvp('ansible-playbook', sys.argv)"
)
# Python ignores what a function raises that it calls around a fork. It is called in the parent.
_WITH_CTRL_C_IN_A_FORK = """
import os, pathlib, signal, sys
from ansible.cli.playbook import main
signal.signal(signal.SIGINT, signal.SIG_DFL)
sent = []
def interrupt():
    if not sent and len(list(pathlib.Path(sys.argv[2]).parent.glob("*/claim.json"))) == 2:
        sent.append(True)
        os.killpg(0, signal.SIGINT)
os.register_at_fork(after_in_parent=interrupt)
main(sys.argv)
"""
# As a worker that is ended while it sends a result leaves the queue: with the lock taken.
_WITH_CTRL_C_BESIDE_A_LOST_LOCK = """
import os, pathlib, signal, sys, threading, time
from ansible.cli.playbook import main
from ansible.executor.task_queue_manager import FinalQueue
signal.signal(signal.SIGINT, signal.SIG_DFL)
queues, made = [], FinalQueue.__init__
def make(self):
    queues.append(self)
    made(self)
FinalQueue.__init__ = make
def interrupt():
    while len(list(pathlib.Path(sys.argv[2]).parent.glob("*/claim.json"))) < 2:
        time.sleep(0.1)
    queues[0]._wlock.acquire()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
main(sys.argv)
"""
OTHER = {
    **{"campaign": "night", "controller": "somebody@elsewhere"},
    **{"boot_id": "b", "pid": 7, "start": 1},
    "taken": "2026-11-22T20:00:00Z",
}


@pytest.fixture
def cluster(tmp_path):
    """Return the folder of two nodes that are folders of this machine."""
    inventory = {"nodes": {"hosts": {name: {} for name in NODES}}}
    inventory["nodes"]["vars"] = {
        "ansible_connection": "local",
        "scalebench_work_dir": f"{tmp_path}/{{{{ inventory_hostname }}}}",
        "scalebench_state_dir": str(tmp_path),
        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
        "scalebench_bytecode": True,
    }
    (tmp_path / "hosts.json").write_text(json.dumps(inventory))
    for name in NODES:
        (tmp_path / name).mkdir()
    return tmp_path


def start(cluster, *options, inside=(), program=_WITH_CTRL_C):
    """Start the playbook in a session of its own, so that Ctrl-C reaches it alone.

    :param inside: the command that starts it in a container of its own.
    """
    return subprocess.Popen(
        # A test that runs in the background ignores these, and so would what it starts.
        [
            *inside,
            sys.executable,
            "-c",
            program,
            "-i",
            cluster / "hosts.json",
            PLAYBOOK,
            *options,
        ],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(cluster, *options, inside=()):
    """Run the playbook; return exit code and output, its lines joined."""
    process = start(cluster, *options, inside=inside)
    out, _ = process.communicate(timeout=120)
    return process.returncode, " ".join(out.split())


def claims(cluster):
    return [name for name in NODES if (cluster / name / "claim.json").exists()]


def test_nodes_are_free_after_a_run(cluster):
    code, out = finish(cluster)
    assert code == 0, out
    assert claims(cluster) == []
    assert "Giving back" not in out


def test_a_node_that_fails_is_given_back(cluster):
    code, out = finish(cluster, "-e", "broken=node1")
    assert code == 2, out
    assert "Giving back node1" in out
    assert claims(cluster) == []


def test_a_node_of_an_inventory_in_vaults_is_given_back(cluster):
    # A vault of its own name, from a script that answers once: nothing is asked a second time.
    password = cluster / "password"
    password.write_text('#!/bin/sh\nset -e\ncd "${0%/*}"\nmkdir asked\necho secret\n')
    password.chmod(0o755)
    vault = ("--vault-id", f"site@{password}")
    variables = cluster / "vars.yml"
    variables.write_text("claim_work_dir: '{{ scalebench_state_dir }}/{{ inventory_hostname }}'\n")
    words = ["ansible-vault", "encrypt", *vault, "--encrypt-vault-id", "site", variables]
    subprocess.run(words, check=True, capture_output=True)
    (cluster / "asked").rmdir()
    code, out = finish(cluster, *vault, "-e", f"@{variables}", "-e", "broken=node1")
    assert code == 2 and "not all of" not in out, out
    assert "Giving back node1" in out
    assert claims(cluster) == []


def wait_for_claims(cluster):
    end = time.monotonic() + 60
    while claims(cluster) != [*NODES] and time.monotonic() < end:
        time.sleep(0.1)
    assert claims(cluster) == [*NODES]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nodes_are_given_back_after_ctrl_c_and_the_like(cluster, number):
    process = start(cluster, "-e", "seconds=300")
    wait_for_claims(cluster)
    os.killpg(process.pid, number)
    out, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "Giving back node[1-2]" in out
    assert claims(cluster) == []


def test_nodes_are_given_back_after_ctrl_c_twice(cluster):
    process = start(cluster, "-e", "seconds=300")
    wait_for_claims(cluster)
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "Giving back node[1-2]" in out
    assert claims(cluster) == []


def test_nodes_are_given_back_after_ctrl_c_that_ends_the_reader_of_the_output_too(cluster):
    with start(cluster, "-e", "seconds=300") as process:
        wait_for_claims(cluster)
        process.stdout.close()
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=120) != 0
    assert claims(cluster) == []


@pytest.mark.parametrize("program", [_WITH_CTRL_C_IN_A_FORK, _WITH_CTRL_C_BESIDE_A_LOST_LOCK])
def test_ctrl_c_ends_the_run_where_ansible_would_wait_forever(cluster, program):
    process = start(cluster, "-e", "seconds=300", program=program)
    out, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "Giving back node[1-2]" in out
    assert claims(cluster) == []


def test_nodes_are_given_back_though_ctrl_c_arrives_meanwhile(cluster):
    process = start(cluster, "-e", "broken=node1")
    while "Giving back" not in (line := process.stdout.readline()):
        assert line, "it ended"
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    end = time.monotonic() + 60
    while claims(cluster) and time.monotonic() < end:
        time.sleep(0.1)
    assert claims(cluster) == []


def test_a_node_that_another_uses_is_refused_by_name_and_the_rest_goes_on(cluster):
    held = cluster / "node1/claim.json"
    held.write_text(json.dumps(OTHER))
    code, out = finish(cluster)
    assert code == 2, out
    assert (
        "FAILED node1: claim : Claim the node campaign night has been running on node1 since 2026"
        in out
    )
    assert "as process 7 of somebody@elsewhere" in out
    assert json.loads(held.read_text()) == OTHER
    assert claims(cluster) == ["node1"]
    assert (cluster / "node2/owner.json").exists()
    code, out = finish(cluster, "--check")
    assert code == 0, out
    assert (
        "WOULD FAIL node1: claim : Claim the node campaign night has been running on node1" in out
    )


def test_of_two_that_begin_together_who_gets_the_first_node_gets_all(cluster):
    """The winner, in the moment in which it has the first node alone, and the other on both."""
    anna, ben = (("-e", f"scalebench_controller={name}") for name in ("anna@one", "ben@two"))
    with start(cluster, *anna, "--limit", "node1", "-e", "seconds=300") as first:
        try:
            while claims(cluster) != ["node1"]:
                assert first.poll() is None
                time.sleep(0.1)
            held = json.loads((cluster / "node1/claim.json").read_text())
            # The owner is named later; here another controller takes what it may.
            code, out = finish(cluster, *ben, "-e", "scalebench_take_over=true")
            assert code == 2, out
            assert "provision.yml has been running on node1 since 2" in out
            assert f"as process {held['pid']} of {held['controller']}. Wait for it" in out
            assert "Giving back" not in out
            assert [*(cluster / "node2").iterdir()] == []
            os.killpg(first.pid, signal.SIGINT)
            first.communicate(timeout=120)
        finally:
            first.kill()
    code, out = finish(cluster, *anna)
    assert code == 0, out
    assert claims(cluster) == []


def test_controllers_in_containers_of_one_machine_use_the_nodes_by_turns(cluster):
    """Neither sees the other's processes, so neither may take the other for dead."""
    container = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    tried = subprocess.run([*container, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no pid namespace can be made here: {tried.stderr.strip()}")
    with start(cluster, "-e", "seconds=300", inside=container) as first:
        try:
            wait_for_claims(cluster)
            held = [(cluster / name / "claim.json").read_text() for name in NODES]
            for inside in (container, ()):
                code, out = finish(cluster, inside=inside)
                assert code == 2, out
                assert f"as process {json.loads(held[0])['pid']} of" in out
                assert "if that machine or container is gone" in out
                assert [(cluster / name / "claim.json").read_text() for name in NODES] == held
            os.killpg(first.pid, signal.SIGINT)
            out, _ = first.communicate(timeout=120)
        finally:
            # With all that it started in the container.
            first.kill()
    assert "Giving back node[1-2]" in out
    code, out = finish(cluster, inside=container)
    assert code == 0, out
    assert claims(cluster) == []


def test_nodes_that_cannot_be_given_back_are_no_success(tmp_path):
    lost = {"ansible_host": "127.0.0.1", "ansible_port": 1, "scalebench_work_dir": "/nowhere"}
    (tmp_path / "lost.yml").write_text(json.dumps({"nodes": {"hosts": {"lost": lost}}}))
    command = ["ansible-playbook", "-i", tmp_path / "lost.yml", ROOT / "playbooks/release.yml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Connection refused" in done.stdout


def test_a_second_controller_is_told_who_owns_the_nodes(cluster):
    assert finish(cluster, "-e", "scalebench_controller=anna@one")[0] == 0
    code, out = finish(cluster, "-e", "scalebench_controller=ben@two")
    assert code == 2, out
    assert "is provisioned by controller anna@one" in out
    assert "-e scalebench_take_over=true" in out
    assert claims(cluster) == []
    ben = ("-e", "scalebench_controller=ben@two")
    guest = finish(cluster, *ben, "-e", "scalebench_guest=true")
    assert guest[0] == 2 and "all else is the owner's" in guest[1]
    code, out = finish(cluster, *ben, "-e", "scalebench_take_over=true")
    assert code == 0, out
    owner = json.loads((cluster / "node1/owner.json").read_text())
    assert owner == {"controller": "ben@two"}
    assert finish(cluster, "-e", "scalebench_controller=anna@one")[0] == 2
