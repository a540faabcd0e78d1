"""reach_node.py: the cluster's ssh configuration overrides the launcher's ssh options."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "workloads/launch/reach_node.py"
PEERS = {"10.11.0.3": {"node": "node2", "join": ["/a b/python", "/opt/join_ranks.py"]}}
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
