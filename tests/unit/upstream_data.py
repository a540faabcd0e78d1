"""The reference cluster, and the parts of expected commands that all published systems share.

Written from what the systems ran, not from the code that renders it: 4 nodes, 10.11.0.2 to .5, of
8 Tesla V100 each, InfiniBand as ib0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.benchmark_file import (
    check_benchmark,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.container import (
    container_name,
    image_reference,
    start_command,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
ADDRESSES = ["10.11.0.2", "10.11.0.3", "10.11.0.4", "10.11.0.5"]
LAUNCH = "/opt/scalebench/workloads/launch"


def v100_nodes() -> dict[str, dict[str, Any]]:
    """Return what the plan knows of the four nodes."""
    nodes = {}
    for number, address in enumerate(ADDRESSES, 1):
        gpus = [
            {"index": index, "name": "Tesla V100-SXM2-16GB", "uuid": f"GPU-{number}-{index}"}
            for index in range(8)
        ]
        nodes[f"v{number}"] = {
            "address": address,
            "interface": "ib0",
            "rank_port": 29500,
            "ssh_config": "/opt/scalebench/sshd/ssh_config",
            "threads": 1,
            "workload_dir": "/opt/scalebench/workloads",
            "sources_dir": "/opt/scalebench/sources",
            "container_engine": "docker",
            "data_dir": "/datasets/ImageNet",
            "pythons": {
                name: f"/opt/scalebench/venvs/{name}/bin/python"
                for name in (
                    "paddle_upstream",
                    "oneflow_upstream",
                    "oneflow_dlperf",
                    "oneflow_dlperf_0_1_9",
                    "oneflow_dlperf_0_3_1",
                    "none",
                )
            },
            "device": "gpu",
            "devices": 8,
            "fingerprint": {"boot_id": f"boot{number}", "gpus": gpus},
        }
    return nodes


def recipe(benchmark: str, name: str) -> dict[str, Any]:
    """Return a checked recipe of the repository."""
    content = yaml.safe_load((FOLDER / f"{benchmark}.yml").read_text())
    found: dict[str, Any] = check_benchmark(content, f"{benchmark}.yml")["recipes"][name]
    return found


def cells(benchmark: str, name: str) -> dict[str, dict[str, Any]]:
    """Return the cells of a whole matrix on the four nodes, by ``variant/topology precision``."""
    content = yaml.safe_load((FOLDER / f"{benchmark}.yml").read_text())
    options = parse_options({"benchmark": benchmark, "recipe": name})
    made = plan.build({benchmark: check_benchmark(content, benchmark)}, options, v100_nodes())
    ending = f"-{name}"
    return {
        f"{cell['variant'].removesuffix(ending)}/{cell['topology']} {cell['precision']}": cell
        for cell in made["cells"]
    }


def started(benchmark: str, name: str) -> list[str]:
    """Return how a recipe's container is started on a node with GPUs and InfiniBand."""
    node = {
        **v100_nodes()["v1"],
        "ssh_dir": "/opt/scalebench/sshd",
        "gpu_access": "gpus",
        "devices": ["/dev/infiniband"],
    }
    container = recipe(benchmark, name)["container"]
    called = container_name(benchmark, name)
    return start_command(container, node, called, image_reference(container))


def in_container(name: str, variables: list[str], command: list[str]) -> list[str]:
    """Return a command as it must be wrapped to run in a container and to end with the run."""
    passed = []
    for variable in [*variables, "SCALEBENCH_RUN", "SCALEBENCH_NODE"]:
        passed += ["--env", variable]
    copied = ["--copy", f"{name}:/tmp/scalebench-nccl"] if "NCCL_DEBUG" in variables else []
    return [
        *["python3", f"{LAUNCH}/in_container.py", *copied],
        *["docker", "exec", "-i", *passed, name],
        *["python3", f"{LAUNCH}/attended.py", "/tmp/scalebench", *command],
    ]


def mpirun(nodes: int, per_node: int, rank: int, program: list[str], more: list[str]) -> list[str]:
    """Return what node ``rank`` of an mpirun cell must run; ``more`` are words for mpirun."""
    command = [
        *["python3", f"{LAUNCH}/host_ranks.py", "--job=10.11.0.2:29500", f"--node=v{rank + 1}"],
    ]
    if rank:
        return command
    join = ["python3", f"{LAUNCH}/join_ranks.py"]
    peers = [{"join": join, "nodes": {ADDRESSES[at]: f"v{at + 1}" for at in range(nodes)}}]
    words = [
        *["mpirun", "--allow-run-as-root", "--bind-to", "none", "--map-by", "slot"],
        "--leave-session-attached",
        *["--gmca", "pml", "ob1", "--gmca", "btl", "^openib"],
        *["--gmca", "btl_tcp_if_include", "ib0", "--gmca", "oob_tcp_if_include", "ib0"],
        *["--gmca", "plm_rsh_no_tree_spawn", "1"],
        *more,
    ]
    for at in range(nodes):
        words += [":"] if at else []
        words += ["-np", str(per_node), "-host", f"{ADDRESSES[at]}:{per_node}"]
        words += program
    ssh = "--ssh-config=/opt/scalebench/sshd/ssh_config"
    return [*command, ssh, f"--peers={json.dumps(peers)}", "--", *words]


def of_open_mpi(nodes: int) -> dict[str, str]:
    """Return the variables of mpirun's ranks, and on several nodes of version 5's daemons."""
    ranks = {"pml": "ob1", "btl": "^openib", "btl_tcp_if_include": "ib0"}
    daemons = {
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
        "PMIX_MCA_mca_base_param_files": "none",
        "PRTE_MCA_prte_if_include": "ib0",
    }
    parameters = {f"OMPI_MCA_{name}": value for name, value in ranks.items()}
    return {**parameters, **(daemons if nodes > 1 else {})}


def gpus(count: int) -> str:
    """Return the numbers of the first GPUs of a node: ``0,1,2,3``."""
    return ",".join(str(index) for index in range(count))


# GitHub no longer serves git://, so the image's requirements name https:// and the tag.
DLLOGGER = {
    "file": "TensorFlow/Classification/ConvNets/requirements.txt",
    "line": 1,
    "from": "-e git://github.com/NVIDIA/dllogger#egg=dllogger",
    "to": "-e git+https://github.com/NVIDIA/dllogger@v0.1.0#egg=dllogger",
}
# What every rank on GPUs has, whatever its framework.
COMMON = {
    "PYTHONUNBUFFERED": "1",
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    "GLOO_SOCKET_IFNAME": "ib0",
    "NCCL_SOCKET_IFNAME": "=ib0",
}


def traced(ranks: int, in_container: bool = False) -> dict[str, str]:
    """Return the variables by which several ranks tell how they are connected."""
    file = {"NCCL_DEBUG_FILE": "/tmp/scalebench-nccl/nccl.%h.%p.log"} if in_container else {}
    return {"NCCL_DEBUG": "INFO", **file} if ranks > 1 else {}
