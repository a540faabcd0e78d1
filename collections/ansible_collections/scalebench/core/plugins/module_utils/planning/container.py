"""The container of a published image: what starts it, and commands inside, or by srun in one."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ..slurm import srun

__all__ = [
    "TRACES",
    "container_name",
    "exec_command",
    "image_reference",
    "srun_command",
    "start_command",
]

# A folder of the command in the container, empty at its start and removed at its end.
FOLDER = "/tmp/scalebench"
# Where NCCL tells in a container how ranks are connected; copied to the node when the command ends.
TRACES = "/tmp/scalebench-nccl"
# How a container gets the GPUs of its node: by an option of the engine, or by the Container Device
# Interface.
GPU_ACCESS: Mapping[str, List[str]] = {
    "gpus": ["--gpus", "all"],
    "cdi": ["--device", "nvidia.com/gpu=all"],
    "none": [],
}
# The first version of each engine that knows the Container Device Interface: the release notes of
# Docker Engine 25.0, and NVIDIA's documentation of the container toolkit for Podman.
_FIRST_WITH_CDI = {"docker": (25, 0), "podman": (4, 1)}
# The marks by which the supervisor finds its processes.
_PASSED_ON = ("SCALEBENCH_RUN", "SCALEBENCH_NODE")
# Characters that separate the parts of a bind mount.
_SEPARATORS = ',:"\n'


def container_name(benchmark: str, recipe: str, variant: str = "") -> str:
    """Return the name that a recipe's container has on every node.

    :param variant: which the container is of, where that has an image of its own.
    """
    return "-".join(["scalebench", benchmark, recipe, *([variant] if variant else [])])


def image_reference(container: Mapping[str, Any], mirror: str = "") -> str:
    """Return the image to pull, as ``nvcr.io/nvidia/mxnet:19.07-py3``, with its digest if known.

    :param container: ``container`` of a recipe: ``image``, perhaps ``digest``.
    :param mirror: a registry, perhaps with a path, that stands for the image's own.
    :raises ValueError: the image names no registry, so that a mirror cannot stand for it.
    """
    image = str(container["image"])
    if mirror:
        registry, slash, rest = image.partition("/")
        if not slash or not ("." in registry or ":" in registry):
            raise ValueError(f"image {image!r} names no registry that {mirror} could stand for")
        image = f"{mirror.rstrip('/')}/{rest}"
    return f"{image}@{container['digest']}" if container.get("digest") else image


def start_command(
    container: Mapping[str, Any], node: Mapping[str, Any], name: str, image: str
) -> List[str]:
    """Return the command that starts a recipe's container on a node, waiting for commands.

    RDMA needs locked memory (``IPC_LOCK``, ``memlock``) and the devices, not ``--privileged``. The
    network is the host's, so that ranks have the node's address and the inventory's interface.
    Mounts are read-only.

    :param container: ``container`` of a recipe; its mounts are ``HOST:CONTAINER`` with the node's
        placeholders.
    :param node: ``container_engine``, ``data_dir``, ``images_dir`` and ``index_dir`` (where images
        and DALI indexes of the data set are, by default in it), ``workload_dir``, ``ssh_dir`` (its
        ssh client's configuration and keys), ``gpu_access`` (a key of ``GPU_ACCESS``, or ``auto``
        with ``has_gpus`` and ``engine_version``, the engine's answer to ``--version``),
        ``devices`` (those that the recipe names and the node has).
    :param image: reference or id of the image.
    :raises ValueError: a path that cannot be mounted, an unknown ``gpu_access``, or an engine that
        cannot give containers GPUs.
    """
    access = _gpu_access(node)
    words = [node["container_engine"], "run", "--detach", "--init"]
    words += ["--name", name, "--network", "host"]
    words += ["--ipc", container["ipc"]] if "ipc" in container else []
    words += ["--shm-size", container["shm_size"]] if "shm_size" in container else []
    for key, value in container.get("ulimits", {}).items():
        words += ["--ulimit", f"{key}={value}"]
    for capability in container.get("capabilities", []):
        words += ["--cap-add", capability]
    for device in container.get("devices", []):
        # The engine refuses a device that is not there.
        words += ["--device", device] if device in node["devices"] else []
    words += access
    if node["container_engine"] == "podman":
        # Where SELinux is on, Podman's containers reach no GPU and none of the node's files. Docker
        # separates them by SELinux only if its daemon is told to.
        words += ["--security-opt", "label=disable"]
    for host, inside in _mounts(container, node, ("workload_dir", "ssh_dir")):
        words += ["--mount", f"type=bind,source={host},target={inside},readonly"]
    for key, value in container.get("environment", {}).items():
        words += ["--env", f"{key}={value}"]
    return [*words, image, "sleep", "infinity"]


def _gpu_access(node: Mapping[str, Any]) -> List[str]:
    """Return the options by which the container gets the node's GPUs."""
    wanted = node["gpu_access"]
    if wanted in GPU_ACCESS:
        return GPU_ACCESS[wanted]
    if wanted != "auto":
        raise ValueError(f"gpu_access: {wanted!r} is not one of auto, {', '.join(GPU_ACCESS)}")
    if not node["has_gpus"]:
        return GPU_ACCESS["none"]
    # `Docker version 20.10.24+dfsg1, build 297e128` and `podman version 4.3.1`.
    found = re.search(r"version (\d+)\.(\d+)", node["engine_version"])
    engine = node["container_engine"]
    if found is None:
        raise ValueError(f"the version of {engine} is unknown: {node['engine_version']!r}")
    if (int(found[1]), int(found[2])) >= _FIRST_WITH_CDI[engine]:
        return GPU_ACCESS["cdi"]
    if engine == "docker":
        return GPU_ACCESS["gpus"]
    raise ValueError(f"{found[0]} of podman gives containers no GPUs: 4.1 is the first that does")


def exec_command(
    argv: List[str], environment: Mapping[str, str], node: Mapping[str, Any], name: str
) -> List[str]:
    """Return the command of a node that runs ``argv`` in its container, and ends with it.

    :param environment: what ``argv`` needs beyond the container's own variables; the command is
        started with it and passes it on by name.
    :param node: ``container_engine`` and ``workload_dir``, which is at the same place in the
        container.
    :param name: what ``start_command`` started.
    """
    launch = f"{node['workload_dir']}/launch"
    words = ["python3", f"{launch}/in_container.py"]
    words += ["--copy", f"{name}:{TRACES}"] if "NCCL_DEBUG_FILE" in environment else []
    words += [node["container_engine"], "exec", "-i"]
    for key in (*environment, *_PASSED_ON):
        words += ["--env", key]
    return [*words, name, "python3", f"{launch}/attended.py", FOLDER, *argv]


def srun_command(
    argv: List[str],
    environment: Mapping[str, str],
    node: Mapping[str, Any],
    container: Mapping[str, Any],
) -> List[str]:
    """Return the command of a node of Slurm that runs ``argv`` in a container, which pyxis starts.

    Where NCCL tells how ranks are connected is lost with the container. Its image is pulled when
    the step starts, by its name and tag: pyxis takes no digest.

    :param environment: as for ``exec_command``, and that of the container itself.
    :param node: ``slurm``, ``workload_dir`` and ``data_dir``.
    :param container: ``container`` of a recipe.
    """
    launch = f"{node['workload_dir']}/launch"
    words = srun.in_container(
        node["slurm"],
        node["slurm"]["host"],
        container["image"],
        _mounts(container, node, ("workload_dir",)),
        [*environment, *_PASSED_ON],
    )
    attended = ["python3", f"{launch}/attended.py", FOLDER, *argv]
    return ["python3", f"{launch}/in_container.py", *words, *attended]


def _mounts(
    container: Mapping[str, Any], node: Mapping[str, Any], folders: Sequence[str]
) -> List[Tuple[str, str]]:
    """Return what is mounted where: data at the recipe's paths, folders of the node at theirs."""
    places: Dict[str, str] = {}
    for mount in container.get("mounts", []):
        host, _, inside = mount.rpartition(":")
        data_dir = node["data_dir"]
        images, indexes = f"{data_dir}/images", f"{data_dir}/dali_idx"
        host = host.format(data_dir=data_dir)
        # Which may be elsewhere.
        places[inside] = {
            images: node.get("images_dir", images), indexes: node.get("index_dir", indexes)
        }.get(host, host)  # fmt: skip
    for folder in folders:
        places[node[folder]] = node[folder]
    for path in [*places, *places.values()]:
        if not path.startswith("/") or any(sign in path for sign in _SEPARATORS):
            raise ValueError(
                f"{path!r} cannot be mounted: write an absolute path without {_SEPARATORS!r}"
            )
    return [(host, inside) for inside, host in places.items()]
