"""reach_node.py: the cluster's ssh configuration overrides the launcher's ssh options."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "workloads/launch/reach_node.py"
PEERS = [
    {"join": ["python", "/opt/join_ranks.py"], "nodes": {"10.11.0.2": "node1"}},
    {"join": ["/a b/python", "/opt/join_ranks.py"], "nodes": {"10.11.0.3": "node2"}},
]
OWN = ["-F", "/the config", "-o", "LogLevel=ERROR"]
SHOW = "import sys; print('\\0'.join(sys.argv[1:]), end='')"


def called(folder, *words):
    """Return the arguments that ssh gets, from a script in its place."""
    ssh = folder / "show"
    ssh.write_text(f"#!{sys.executable}\n{SHOW}\n")
    ssh.chmod(0o700)
    environment = {
        **os.environ,
        "SCALEBENCH_SSH": str(ssh),
        "SCALEBENCH_SSH_CONFIG": "/the config",
        "SCALEBENCH_PEERS": json.dumps(PEERS),
        "SCALEBENCH_JOB": "10.11.0.2:29500",
        "SCALEBENCH_PATIENCE": "60",
    }
    shown = subprocess.run(
        [sys.executable, SCRIPT, *words], env=environment, stdout=subprocess.PIPE, check=True
    )
    return shown.stdout.decode().split("\0")


def test_the_command_of_the_daemon_is_one_argument_of_join_ranks(tmp_path):
    words = called(tmp_path, "-x", "10.11.0.3", "orted", "-mca", "ess", '"env"', "x;y")
    assert words[:5] == [*OWN, "node2"]
    assert shlex.split(words[5]) == [
        *["/a b/python", "/opt/join_ranks.py", "10.11.0.2:29500", "node2", "60"],
        'orted -mca ess "env" x;y',
    ]


# As mpirun of Debian 13 (Open MPI 5.0.7) gives it to ssh, without most --prtemca.
OF_VERSION_5 = [
    *["-x", "10.11.0.3"],
    "PRTE_PREFIX=/usr;export PRTE_PREFIX;LD_LIBRARY_PATH=/usr/lib:/usr/lib/x86_64-linux-gnu/pmix2/"
    "lib:$LD_LIBRARY_PATH;export LD_LIBRARY_PATH;DYLD_LIBRARY_PATH=/usr/lib:/usr/lib/x86_64-linux-"
    "gnu/pmix2/lib:$DYLD_LIBRARY_PATH;export DYLD_LIBRARY_PATH;/usr/bin/prted",
    *["--leave-session-attached", "--allow-run-as-root", "--prtemca", "ess", '"env"'],
    *["--prtemca", "ess_base_nspace", '"prterun-vm-21196@0"', "--prtemca", "plm", '"ssh"'],
]


def test_so_is_that_of_open_mpi_5(tmp_path):
    joining = shlex.split(called(tmp_path, *OF_VERSION_5)[5])
    assert joining[:2] == PEERS[1]["join"]
    assert joining[5:] == [" ".join(OF_VERSION_5[2:])]


def test_a_word_that_contains_the_daemons_name_is_no_daemon(tmp_path):
    assert called(tmp_path, "10.11.0.3", "/opt/imported/python")[5] == "/opt/imported/python"


def hosted(job, daemon, *options):
    """Return what host_ranks.py says of a daemon that is killed, and the exit status."""
    command = f"A=1;export A;sh -c 'kill -9 $$' {daemon} --leave-session-attached"
    host = [sys.executable, SCRIPT.with_name("host_ranks.py"), f"--job={job}", "--node=n2"]
    with subprocess.Popen([*host, *options], stdout=subprocess.PIPE, text=True) as hosting:
        join = [sys.executable, SCRIPT.with_name("join_ranks.py"), job, "n2", "20", command]
        subprocess.run(join, timeout=30, check=False)
        return hosting.communicate(timeout=30)[0], hosting.returncode


@pytest.mark.parametrize("daemon", ["orted", "/usr/bin/prted"])
def test_a_daemon_that_a_signal_ended_is_named(tmp_path, daemon):
    said = f"launch error: {Path(daemon).name} was ended by signal 9\n"
    assert hosted(f"{tmp_path}:1", daemon) == (said, 128 + 9)


def test_open_mpi_5_is_refused_between_nodes_of_one_machine_alone():
    job = f"127.0.0.2:{os.getpid()}"
    one, two = {"127.0.0.2": "n2"}, {"127.0.0.2": "n2", "127.0.0.3": "n3"}
    # A node that does not lead is told of no others.
    for options in ([], [f"--peers={json.dumps([{'nodes': two}])}"]):
        said, status = hosted(job, "prted", *options)
        assert status == 1
        assert "n2: Open MPI 5 (mpirun --version) does not connect ranks between nodes" in said
    for daemon, options in (("orted", []), ("prted", [f"--peers={json.dumps([{'nodes': one}])}"])):
        assert hosted(job, daemon, *options)[1] == 128 + 9


@pytest.mark.parametrize(
    "options",
    [
        ["-o", "StrictHostKeyChecking=no", "-p", "12345"],
        ["-oStrictHostKeyChecking=no", "-q", "-x"],
        ["-i", "/root/.ssh/id_rsa"],
    ],
)
def test_ssh_options_of_the_launcher_are_ignored(tmp_path, options):
    wanted = [*OWN, "node2", "date"]
    assert called(tmp_path, *options, "10.11.0.3", "date") == wanted
    assert called(tmp_path, "10.11.0.3", *options, "date") == wanted
