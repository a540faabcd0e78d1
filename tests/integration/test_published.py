"""A published program, from its sources to ranks in containers, with real git, Docker, ssh, mpirun.

The testbed's image, which has Python, ssh and Open MPI, stands in for NVIDIA's. Two containers on
this machine stand for two nodes.
"""

import os
import subprocess

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.node.repeat import transports_in
from ansible_collections.scalebench.core.plugins.module_utils.planning.container import (
    container_name,
    start_command,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.launch import commands
from campaign_data import cluster as cluster_of
from local_nodes import failures, wait_until

from tests.testbed import daemon, image
from tests.testbed.settings import Settings

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may start containers here")
CONTAINER = "scalebench-mine-upstream"
OTHER = "scalebench-mine-node2"
BEFORE = "threads = max(2, (os.cpu_count() // 2))"
PROGRAM = (
    "import os, time\n"
    "\n"
    "def threads():\n"
    f"    {BEFORE}\n"
    "    return threads\n"
    "\n"
    "rank = os.environ['OMPI_COMM_WORLD_RANK']\n"
    "node, made = os.environ['SCALEBENCH_NODE'], os.path.exists('/made')\n"
    # One write per line: mpirun mixes the ranks' writes, and unbuffered print() writes twice.
    "os.write(1, f'rank {rank} {node} {threads()} {made}\\n'.encode())\n"
    # As NCCL would: its own files need GPUs.
    "trace = os.environ['NCCL_DEBUG_FILE'].replace('%h', node).replace('%p', rank)\n"
    "with open(trace, 'w') as file:\n"
    "    file.write(f'{node}:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 2[0] via NET/IB/0\\n')\n"
    "time.sleep(float(os.environ['STAY']))\n"
)


def docker(*words):
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=False)


def git(folder, *words):
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    run = subprocess.run(
        ["git", "-C", str(folder), *identity, *words], capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Create a source repository and a benchmark file; yield the folder and the recipe."""
    daemon.ensure()
    base = image.ensure(Settings("", "bookworm"))
    folder = tmp_path_factory.mktemp("published")
    source = folder / "repository/program"
    source.mkdir(parents=True)
    (source / "train.py").write_text(PROGRAM)
    (source / "Dockerfile").write_text(f"FROM {base}\nRUN touch /made\nCOPY . /workspace\n")
    git(source.parent, "init", "-q")
    git(source.parent, "add", ".")
    git(source.parent, "commit", "-q", "-m", "publish")
    (folder / "data/tfrecord").mkdir(parents=True)
    patch = {"file": "program/train.py", "line": 4, "from": BEFORE, "to": "threads = 4"}
    recipe = {
        "framework": "mine",
        "launcher": "mpirun",
        "sources": [
            {
                "name": "source",
                "repository": f"file://{source.parent}",
                "version": git(source.parent, "rev-parse", "HEAD"),
                "patches": [patch],
            }
        ],
        "container": {
            "image": base,
            "build": "source/program",
            "capabilities": ["IPC_LOCK"],
            "devices": ["/dev/infiniband", "/dev/null"],
            "mounts": ["{data_dir}/tfrecord:/data/tfrecords"],
        },
        "program": ["python3", "/workspace/train.py"],
        "choices": {
            "precision": ["fp32"],
            "data": ["real"],
            "data_backend": ["native"],
            "xla": [False],
        },
        "defaults": {
            "gpu": {
                "precision": ["fp32"],
                "batch_size_per_device": [1],
                "topology": ["1n1g"],
            }
        },
        "arguments": [],
    }
    (folder / "benchmarks").mkdir()
    definition = {"benchmark": "mine", "model": "r50", "recipes": {"upstream": recipe}}
    (folder / "benchmarks/mine.yml").write_text(yaml.safe_dump(definition))
    yield folder, recipe
    docker("rm", "--force", CONTAINER, OTHER)
    built = f"scalebench/mine-upstream:{recipe['sources'][0]['version'][:12]}"
    docker("rmi", built, f"{built}-published")


def prepare(cluster, folder, *arguments):
    return cluster.run(
        "../tests/integration/playbooks/published.yml",
        *arguments,
        benchmark="mine",
        recipe="upstream",
        published_benchmarks=str(folder / "benchmarks"),
        framework_container_gpus="none",
        framework_container_pull=False,
        framework_data_dir=str(folder / "data"),
    )


@pytest.fixture(scope="module")
def prepared(cluster, published):
    """Prepare the recipe on one node, after a run in check mode."""
    checked = prepare(cluster, published[0], "--check")
    assert checked.rc == 0, failures(checked)
    assert docker("inspect", CONTAINER).returncode != 0
    made = prepare(cluster, published[0])
    assert made.rc == 0, failures(made)
    return cluster


def test_a_second_run_changes_nothing_and_the_source_is_patched(prepared, published):
    again = prepare(prepared, published[0])
    assert again.rc == 0, failures(again)
    assert sum(again.stats["changed"].values()) == 0
    assert docker("exec", CONTAINER, "sed", "-n", "4p", "/workspace/train.py").stdout == (
        "    threads = 4\n"
    )


def test_the_container_has_no_privilege_and_cannot_write_the_data(prepared):
    shown = "{{.HostConfig.Privileged}} {{.HostConfig.CapAdd}} {{.HostConfig.NetworkMode}}"
    said = docker("inspect", "--format", shown, CONTAINER).stdout
    # Clients since Docker 23 write the prefix of capabilities.
    assert said.replace("CAP_", "") == "false [IPC_LOCK] host\n"
    assert "Read-only" in docker("exec", CONTAINER, "touch", "/data/tfrecords/x").stderr


def test_a_patch_of_another_version_is_refused(prepared, published):
    file = prepared.state / "sources/mine-upstream/source/program/train.py"
    patched = file.read_text()
    file.write_text(patched.replace("threads = 4", "threads = 5"))
    refused = prepare(prepared, published[0])
    file.write_text(patched)
    assert refused.rc != 0
    assert "line 4 of " in failures(refused)
    assert '"threads = 5", and not "threads = max(2, (os.cpu_count() // 2))"' in failures(refused)


def start(cluster, published, stay):
    """Start the commands of both nodes, as the module training_run would."""
    folder, recipe = published
    nodes = cluster_of(2)
    for number, (name, node) in enumerate(nodes.items(), 2):
        ssh = f"{cluster.state}/nodes/{name}/sshd"
        port = cluster.port("ranks") + 60
        node.update(address=f"127.0.0.{number}", interface="lo", rank_port=port, ssh_dir=ssh)
        node.update(ssh_config=f"{ssh}/ssh_config", workload_dir=f"{cluster.state}/workloads")
        node.update(data_dir=str(folder / "data"), gpu_access="none")
    docker("rm", "--force", OTHER)
    built = docker("inspect", "--format", "{{.Image}}", CONTAINER).stdout.strip()
    # A node of role framework has the paths of its devices, one of a plan their number.
    second = start_command(recipe["container"], {**nodes["node2"], "devices": []}, OTHER, built)
    assert subprocess.run(second, capture_output=True, check=False).returncode == 0
    cell = {
        **{"benchmark": "mine", "recipe": "upstream", "directory": "mine", "framework_set": None},
        **{"node_names": list(nodes), "nodes": 2, "devices_per_node": 2, "device": "cpu"},
        **{"batch_size_per_device": 1, "warmup": 1, "iterations": 1},
    }
    told = {"STAY": str(stay), "NCCL_DEBUG": "INFO"}
    node_commands = commands(cell, {**recipe, "environment": told}, nodes)
    assert container_name("mine", "upstream") == CONTAINER
    started = {}
    for name in nodes:
        # Containers on one machine need different names.
        mine = CONTAINER if name == "node1" else OTHER
        argv = [word.replace(CONTAINER, mine) for word in node_commands[name]["argv"]]
        (folder / name).mkdir(exist_ok=True)
        marks = {"SCALEBENCH_NODE": name, "SCALEBENCH_RUN": f"{cluster.state}/run"}
        started[name] = subprocess.Popen(
            argv,
            cwd=folder / name,
            env={**os.environ, **node_commands[name]["env"], **marks},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    return started


def commands_in_containers():
    """Return the command lines in both containers, except the one that keeps them alive."""
    lines = []
    for name in (CONTAINER, OTHER):
        shown = docker("top", name, "-eo", "pid,args")
        assert shown.returncode == 0, shown.stderr
        lines += shown.stdout.splitlines()[1:]
    assert len(lines) >= 4
    return [line for line in lines if "sleep infinity" not in line]


def test_ranks_run_in_the_containers_of_both_nodes(prepared, published):
    started = start(prepared, published, 0)
    texts = {name: process.communicate(timeout=400)[0] for name, process in started.items()}
    assert [process.returncode for process in started.values()] == [0, 0], texts
    printed = sorted(line for line in texts["node1"].splitlines() if line.startswith("rank"))
    assert printed == [
        "rank 0 node1 4 True",
        "rank 1 node1 4 True",
        "rank 2 node2 4 True",
        "rank 3 node2 4 True",
    ]
    # What the ranks told in their containers is on the nodes.
    for name, ranks in (("node1", "01"), ("node2", "23")):
        traces = sorted(path.name for path in (published[0] / name).glob("nccl.*"))
        assert traces == [f"nccl.{name}.{rank}.log" for rank in ranks]
        assert transports_in(str(published[0] / name)) == ["NET/IB"]
    wait_until(lambda: not commands_in_containers(), 60)
