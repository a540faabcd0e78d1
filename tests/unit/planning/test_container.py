"""Containers of published images: what starts them, and what gets into them."""

from itertools import pairwise

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning.benchmark_file import (
    check_container,
    check_sources,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.container import (
    container_name,
    exec_command,
    image_reference,
    srun_command,
    start_command,
)

CONTAINER = {
    "image": "nvcr.io/nvidia/tensorflow:20.03-tf1-py3",
    "ipc": "host",
    "shm_size": "16g",
    "ulimits": {"memlock": -1, "stack": 67108864},
    "capabilities": ["IPC_LOCK"],
    "devices": ["/dev/infiniband"],
    "mounts": ["{data_dir}/tfrecord:/data/tfrecords"],
    "environment": {"A": "b c"},
}
DIGEST = "sha256:" + "0123456789abcdef" * 4


def node(**more):
    return {
        "container_engine": "docker",
        "data_dir": "/data",
        "workload_dir": "/opt/workloads",
        "ssh_dir": "/opt/ssh",
        "gpu_access": "cdi",
        "devices": ["/dev/infiniband"],
        **more,
    }


def test_images_and_indexes_are_mounted_from_where_they_are():
    mounts = ["{data_dir}/images:/data/image", "{data_dir}/dali_idx:/data/dali_idx"]
    container = {**CONTAINER, "mounts": mounts}
    elsewhere = {"images_dir": "/data", "index_dir": "/opt/scalebench/dali_idx/data"}
    command = start_command(container, node(**elsewhere), "mine", "x")
    assert "type=bind,source=/data,target=/data/image,readonly" in command
    assert f"type=bind,source={elsewhere['index_dir']},target=/data/dali_idx,readonly" in command
    command = start_command(container, node(), "mine", "x")
    assert "type=bind,source=/data/images,target=/data/image,readonly" in command


def test_a_container_gets_what_rdma_needs_and_no_privilege():
    assert start_command(CONTAINER, node(), "mine", "sha256:1") == [
        *["docker", "run", "--detach", "--init", "--name", "mine", "--network", "host"],
        *["--ipc", "host", "--shm-size", "16g"],
        *["--ulimit", "memlock=-1", "--ulimit", "stack=67108864", "--cap-add", "IPC_LOCK"],
        *["--device", "/dev/infiniband", "--device", "nvidia.com/gpu=all"],
        *["--mount", "type=bind,source=/data/tfrecord,target=/data/tfrecords,readonly"],
        *["--mount", "type=bind,source=/opt/workloads,target=/opt/workloads,readonly"],
        *["--mount", "type=bind,source=/opt/ssh,target=/opt/ssh,readonly"],
        *["--env", "A=b c", "sha256:1", "sleep", "infinity"],
    ]


def test_on_a_node_of_slurm_a_step_starts_the_container_and_ends_with_it():
    slurm = {"path": "/usr/bin/srun", "mpi": "pmix", "containers": True, "host": "n7"}
    words = srun_command(["python3", "train.py"], {"A": "b"}, node(slurm=slurm), CONTAINER)
    assert words[:4] == ["python3", "/opt/workloads/launch/in_container.py", "/bin/sh", "-c"]
    assert {
        *["--nodelist=n7", "--container-image=nvcr.io#nvidia/tensorflow:20.03-tf1-py3"],
        "--container-mounts=/data/tfrecord:/data/tfrecords:ro,/opt/workloads:/opt/workloads:ro",
        *["--export=A,SCALEBENCH_RUN,SCALEBENCH_NODE", "--no-container-mount-home"],
    } <= {*words}
    attended = ["python3", "/opt/workloads/launch/attended.py", "/tmp/scalebench"]
    assert words[-5:] == [*attended, "python3", "train.py"]


def test_a_node_without_a_device_starts_the_container_without_it():
    words = start_command(CONTAINER, node(devices=[], gpu_access="gpus"), "mine", "x")
    assert "/dev/infiniband" not in words
    assert words[words.index("--gpus") + 1] == "all"
    assert "--gpus" not in start_command(CONTAINER, node(gpu_access="none"), "mine", "x")


@pytest.mark.parametrize(("engine", "options"), [("podman", ["label=disable"]), ("docker", [])])
def test_selinux_does_not_keep_a_container_of_podman_from_gpus_and_mounts(engine, options):
    words = start_command(CONTAINER, node(container_engine=engine), "mine", "x")
    assert [value for key, value in pairwise(words) if key == "--security-opt"] == options


def test_gpus_are_shown_in_no_other_way():
    with pytest.raises(ValueError, match="gpu_access: 'all' is not one of auto, gpus, cdi, none"):
        start_command(CONTAINER, node(gpu_access="all"), "mine", "x")


@pytest.mark.parametrize(
    ("engine", "version", "option"),
    [
        ("docker", "Docker version 20.10.24+dfsg1, build 297e128", "--gpus"),
        ("docker", "Docker version 24.0.9, build 2936816", "--gpus"),
        ("docker", "Docker version 25.0.0, build e758fe5", "nvidia.com/gpu=all"),
        ("docker", "Docker version 28.5.1, build e180ab8", "nvidia.com/gpu=all"),
        ("podman", "podman version 4.1.0", "nvidia.com/gpu=all"),
        ("podman", "podman version 5.4.2", "nvidia.com/gpu=all"),
    ],
)
def test_an_engine_gives_gpus_in_the_way_that_its_version_knows(engine, version, option):
    told = node(gpu_access="auto", has_gpus=True, container_engine=engine, engine_version=version)
    words = start_command(CONTAINER, told, "mine", "x")
    assert {"--gpus", "nvidia.com/gpu=all"} & set(words) == {option}
    without = start_command(CONTAINER, {**told, "has_gpus": False}, "mine", "x")
    assert {"--gpus", "nvidia.com/gpu=all"} & set(without) == set()


@pytest.mark.parametrize("version", ["podman version 3.0.1", "podman version 4.0.3", ""])
def test_an_engine_that_gives_no_gpus_is_refused(version):
    told = node(gpu_access="auto", has_gpus=True, container_engine="podman", engine_version=version)
    with pytest.raises(ValueError, match="podman"):
        start_command(CONTAINER, told, "mine", "x")


@pytest.mark.parametrize("path", ["/a,b", "/a:b", "relative", '/a"b', "/a\nb"])
def test_a_path_that_a_mount_would_take_apart_is_refused(path):
    with pytest.raises(ValueError, match="cannot be mounted"):
        start_command(CONTAINER, node(data_dir=path), "mine", "x")


def test_a_command_arrives_word_by_word_and_its_variables_by_name():
    argv = ["python3", "train.py", '--title=it\'s $HOME; "x" y']
    made = exec_command(argv, {"NCCL_SOCKET_IFNAME": "ib0"}, node(), "mine")
    assert made == [
        *["python3", "/opt/workloads/launch/in_container.py", "docker", "exec", "-i"],
        *["--env", "NCCL_SOCKET_IFNAME", "--env", "SCALEBENCH_RUN", "--env", "SCALEBENCH_NODE"],
        *["mine", "python3", "/opt/workloads/launch/attended.py", "/tmp/scalebench", *argv],
    ]


def test_an_image_comes_from_its_registry_or_from_a_mirror_by_digest_where_known():
    assert image_reference(CONTAINER) == "nvcr.io/nvidia/tensorflow:20.03-tf1-py3"
    mirrored = image_reference({**CONTAINER, "digest": DIGEST}, "mirror.example:5000/ngc/")
    assert mirrored == f"mirror.example:5000/ngc/nvidia/tensorflow:20.03-tf1-py3@{DIGEST}"


def test_a_mirror_cannot_stand_for_no_registry():
    with pytest.raises(ValueError, match="'tensorflow:1' names no registry"):
        image_reference({"image": "tensorflow:1"}, "mirror.example")


def test_containers_are_told_apart():
    assert container_name("mxnet_ngc", "upstream") == "scalebench-mxnet_ngc-upstream"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"digest": "latest"}, "x.digest: 'latest' is not sha256: and 64 digits"),
        ({"mounts": ["/etc:/etc"]}, "x.mounts: '/etc:/etc' is not a folder of the node's data"),
        ({"privileged": True}, "x.privileged: no such key"),
        ({"image": 1}, "x.image: a str is needed, not 1"),
    ],
)
def test_a_container_that_cannot_be_is_refused(change, message):
    check_container(CONTAINER, "x")
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        check_container({**CONTAINER, **change}, "x")


SOURCE = {"name": "Examples", "repository": "https://x", "version": "0" * 40}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "../x"}, r"s\[0\].name: '../x' is not the name of a folder"),
        ({"commit": "1"}, r"s\[0\].commit: no such key"),
        (
            {"patches": [{"file": "a", "line": 1, "from": "x", "to": "x"}]},
            r"s\[0\].patches\[0\]: from and to are one line each, unlike",
        ),
        (
            {"patches": [{"file": "a", "line": 1, "from": "x"}]},
            r"s\[0\].patches\[0\].to is missing",
        ),
    ],
)
def test_a_source_that_cannot_be_checked_out_is_refused(change, message):
    check_sources([SOURCE], "s")
    with pytest.raises(ValueError, match=message):
        check_sources([{**SOURCE, **change}], "s")
