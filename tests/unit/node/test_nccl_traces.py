"""The files that NCCL's ranks write on a node."""

import json
import os
import subprocess
import sys
from pathlib import Path

from ansible_collections.scalebench.core.plugins.module_utils.node.repeat import transports_in
from ansible_collections.scalebench.core.plugins.module_utils.telemetry.nccl import with_trace


def test_ranks_that_tell_do_so_in_a_file_of_their_own(tmp_path):
    assert with_trace({"A": "b"}, "/run.files") == {"A": "b"}
    made = with_trace({"NCCL_DEBUG": "INFO"}, "/100%/run.files")
    assert made["NCCL_DEBUG_FILE"] == "/100%%/run.files/nccl.%h.%p.log"
    chosen = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": "/tmp/x"}
    assert with_trace(chosen, "/run.files") == chosen


def test_all_ranks_of_the_node_are_read(tmp_path):
    folder = tmp_path / "r50 [1].files"
    folder.mkdir()
    assert transports_in(str(folder)) == []
    start = "v1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] "
    (folder / "nccl.v1.1.log").write_text(f"{start}[send] via NET/IB/0/GDRDMA\n")
    (folder / "nccl.v1.2.log").write_bytes(f"{start}via P2P/IPC\n\xff".encode("latin-1"))
    os.mkfifo(folder / "nccl.v1.3.log")  # It is not waited for.
    (folder / "other.log").write_text(f"{start}via NET/Socket/0\n")
    assert transports_in(str(folder)) == ["NET/IB/GDRDMA", "P2P/IPC"]


ROOT = Path(__file__).resolve().parents[3]
# In a process of its own: the module ends all descendants of its process.
MODULE = (
    "import json, sys; from ansible.module_utils.testing import patch_module_args;"
    "from library import training_run;"
    "context = patch_module_args(json.loads(sys.argv[1])); context.__enter__(); training_run.main()"
)
# A stand-in for a rank: it prints a line of NCCL 2.28.9 to the file that NCCL would open.
RANK = (
    "import os, socket; name = os.environ['NCCL_DEBUG_FILE'];"
    "name = name.replace('%h', socket.gethostname()).replace('%p', str(os.getpid()));"
    "print('v1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA',"
    " file=open(name, 'w')); print('trained')"
)


def test_a_repeat_records_what_its_ranks_told_and_its_log_does_not_have_it(tmp_path):
    given = {
        "argv": [sys.executable, "-c", RANK],
        "environment": {"NCCL_DEBUG": "INFO"},
        "work_dir": str(tmp_path),
        "directory": "runs",
        "name": "one",
        "sample_interval": 0,
    }
    command = [sys.executable, "-c", MODULE, json.dumps(given)]
    path = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'collections'}"}
    done = subprocess.run(command, env=path, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["ending"], result["transport"]) == ("ok", ["NET/IB/GDRDMA"])
    assert json.loads((tmp_path / "runs/one.run.json").read_text())["transport"]
    assert (tmp_path / "runs/one.log").read_text() == "trained\n"
