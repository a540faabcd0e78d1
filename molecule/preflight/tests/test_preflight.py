"""playbooks/preflight.yml on nodes with one fault each: who fails, in what, with which advice."""

import json
import os
import subprocess

import pytest
from testbed_nodes import NODES, ROOT, STATE

HERE = ROOT / "molecule/preflight"
GPUS = "/opt/stand_ins/gpus.json"
GPU_FAULT = "/opt/stand_ins/gpu_fault"
CUDA = "/opt/stand_ins/cuda"
MACHINE = "/opt/stand_ins/machine.json"
PORT = "/sys/class/infiniband/mlx5_1/ports/1/state"
SHARD = "/opt/dataset/tfrecord/train-00003-of-00008"
XID = "NVRM: Xid (PCI:0000:3e:00): 79, pid=4711, GPU has fallen off the bus."

# Faults that are there at once: node, what breaks it, what mends it, the checks that fail with
# their advice. One fault must not hide another, nor spoil the verdict of another node.
ROUNDS = {
    "GPUs": [
        ("node1", f"echo gpu_lost >{GPU_FAULT}", f"rm {GPU_FAULT}", {"answer": "fix this first"}),
        (
            "node2",
            f"cp {GPUS} {GPUS}.all; sed -i '/5e6f70819000/,/{{/d' {GPUS}; echo 0 7 >{CUDA}",
            f"mv {GPUS}.all {GPUS}; rm {CUDA}",
            {"GPUs": "8 should be there: see lspci -d 10de: and dmesg on the node"},
        ),
        (
            "node3",
            f"echo '{XID}' >/opt/stand_ins/kernel_log",
            "rm /opt/stand_ins/kernel_log",
            {"Xid": "see journalctl -k"},
        ),
        (
            "node4",
            f"echo ecc >{GPU_FAULT}",
            f"rm {GPU_FAULT}",
            {"GPU memory": "reset or replace the GPU"},
        ),
        (
            "node4",
            f"echo 802 0 >{CUDA}",
            f"rm {CUDA}",
            {"CUDA": "start nvidia-fabricmanager in the driver's version"},
        ),
    ],
    "hosts": [
        (
            "node1",
            f"""echo '{{"memlock_kib": 64}}' >{MACHINE}""",
            f"rm {MACHINE}",
            {"memlock": "raise it to unlimited, with role host_baseline"},
        ),
        (
            "node2",
            f"echo '1: DOWN' >{PORT}",
            f"echo '4: ACTIVE' >{PORT}",
            dict.fromkeys(("InfiniBand", "active InfiniBand ports"), "see cable, switch and"),
        ),
        (
            "node2",
            f"cp {SHARD} /opt/shard; echo other >{SHARD}",
            f"mv /opt/shard {SHARD}",
            {"dataset": "copy it again, so that all nodes have tfrecord"},
        ),
        (
            "node3",
            f"echo mixed_driver >{GPU_FAULT}",
            f"rm {GPU_FAULT}",
            {"driver": "install 440.33.01 on this node as on the others"},
        ),
        (
            "node4",
            f"""echo '{{"clock_ahead_s": 61}}' >{MACHINE}""",
            f"rm {MACHINE}",
            {"clock": "synchronise it with chrony"},
        ),
    ],
}


def on(name, command):
    """Run a command on a node, by the system's sshd."""
    subprocess.run(["ssh", "-F", STATE / "ssh_config", name, command], check=True, timeout=60)


def preflight(folder, *arguments, **environment):
    """Run the playbook as a user would; return its exit code, its words and its verdicts."""
    file = folder / "verdicts.json"
    inventories = ["-i", ROOT / "molecule/shared/inventory", "-i", HERE / "inventory"]
    done = subprocess.run(
        [
            *("ansible-playbook", "playbooks/preflight.yml", *inventories),
            *("-e", f"preflight_file={file}", *arguments),
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_STDOUT_CALLBACK": "scalebench",
            "MOLECULE_PROJECT_DIRECTORY": str(ROOT),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    words = " ".join((done.stdout + done.stderr).split())
    return done.returncode, words, json.loads(file.read_text())


def not_well(verdicts):
    """Return (node, check) of every failure and warning, as a set."""
    rows = [row for row in verdicts["rows"] if row["verdict"] in ("fail", "warn")]
    return {(row["node"], row["check"]) for row in rows}


def test_healthy_v100_nodes_pass_what_is_asked_of_them(tmp_path):
    code, words, verdicts = preflight(tmp_path)
    assert code == 0, words
    assert verdicts["counts"]["fail"] == verdicts["counts"]["warn"] == 0
    passed = {row["check"] for row in verdicts["rows"] if row["verdict"] == "pass"}
    assert passed >= {"GPUs", "GPU model", "driver", "GPU memory", "Xid", "OFED", "InfiniBand"}
    assert "GPUDirect RDMA" in passed
    assert passed >= {"memlock", "clock", "disk", "dataset", "ssh to all nodes"}
    assert verdicts["summary"] in words


@pytest.mark.parametrize("round_of", ROUNDS)
def test_every_fault_is_told_of_its_node_alone(tmp_path, round_of):
    faults = ROUNDS[round_of]
    wanted = {
        (name, check): advice for name, _, _, told in faults for check, advice in told.items()
    }
    for name, break_it, _, _ in faults:
        on(name, break_it)
    try:
        code, words, verdicts = preflight(tmp_path)
    finally:
        for name, _, mend_it, _ in faults:
            on(name, mend_it)
    assert code == 2, words
    assert not_well(verdicts) == set(wanted)
    assert verdicts["verdict"] == "fail"
    assert verdicts["counts"]["fail"] == len(wanted)
    for row in verdicts["rows"][: len(wanted)]:
        todo = wanted[row["node"], row["check"]]
        assert row["todo"].startswith(todo)
        assert todo in words
        assert " | ".join((row["verdict"], row["check"], row["node"])) in words
    assert f"{len(wanted)} check(s) failed, see the table above" in words


def test_a_node_without_its_sshd_is_told_by_itself_and_by_the_others(tmp_path):
    on("node3", "systemctl stop scalebench-sshd")
    try:
        # No connection that is still open from before.
        code, words, verdicts = preflight(tmp_path, ANSIBLE_SSH_CONTROL_PATH_DIR=str(tmp_path))
    finally:
        on("node3", "systemctl start scalebench-sshd")
    assert code == 2, words
    lost = {(name, "ssh to all nodes") for name in NODES if name != "node3"}
    assert not_well(verdicts) == {("node3", "answer"), *lost}
    assert all("onnection refused" in row["found"] for row in verdicts["rows"][:4])


def with_gpus(profile, folder, *arguments):
    """Run the preflight on nodes with the GPUs of another profile."""
    for name in NODES:
        on(name, f"cp {GPUS} {GPUS}.v100; echo 0 {profile[0]} >{CUDA}")
        with (ROOT / f"molecule/shared/stand_ins/gpus/{profile}.json").open() as file:
            ssh = ["ssh", "-F", STATE / "ssh_config", name, f"cat >{GPUS}"]
            subprocess.run(ssh, stdin=file, check=True, timeout=60)
    try:
        return preflight(folder, "-e", f"preflight_gpus={profile[0]}", *arguments)
    finally:
        for name in NODES:
            on(name, f"mv {GPUS}.v100 {GPUS}; rm {CUDA}")


@pytest.mark.parametrize(
    ("profile", "model", "verdict"),
    [
        ("8xH100", "H100", None),
        ("8xH100", "V100", ("GPU model", "fail")),
        ("1xH100_MIG", "H100", ("MIG", "fail")),
        ("1xH200", "H200", None),
        ("1xL40S", "L40S", ("persistence mode", "warn")),
    ],
)
def test_nodes_with_other_gpus_have_their_verdicts(tmp_path, profile, model, verdict):
    code, words, verdicts = with_gpus(profile, tmp_path, "-e", f"preflight_gpu_model={model}")
    assert code == (2 if verdict and verdict[1] == "fail" else 0), words
    assert not_well(verdicts) == ({(name, verdict[0]) for name in NODES} if verdict else set())


def test_leaving_it_out_is_said(tmp_path):
    code, words, verdicts = preflight(tmp_path, "-e", "preflight=false")
    assert code == 0
    assert "the preflight was turned off (-e preflight=false or --skip-tags preflight)" in words
    assert verdicts["verdict"] == "skip"
    assert verdicts["rows"] == []
