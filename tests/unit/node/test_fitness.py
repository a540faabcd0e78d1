"""Facts for the preflight, with stand-ins for the programs of a GPU node."""

import json
import os
import sys

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node import fitness, nvidia_smi
from gpu_node import install

from library import node_fingerprint_facts, preflight_facts


def program(folder, name, text):
    """Write a program that stands in for the one of that name."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def gpus(tmp_path, monkeypatch):
    """Return the folder of a stand-in for nvidia-smi on a node of eight V100."""
    return install(tmp_path, monkeypatch, "8xV100")


def test_healthy_gpus_have_no_errors_and_no_users(gpus):
    health = fitness.gpu_health()
    assert [gpu["index"] for gpu in health] == list(range(8))
    assert health[7] == {
        "index": 7,
        "ecc_uncorrected": 0,
        "repair_pending": False,
        # Driver 440 knows neither remapped rows nor MIG nor a fabric.
        "repair_failed": None,
        "mig": None,
        "fabric": None,
    }
    assert fitness.gpu_processes() == []


def test_only_the_gpus_that_may_be_used_are_looked_at(gpus, run, tmp_path):
    (gpus / "gpu_fault").write_text("ecc")
    assert [gpu["index"] for gpu in fitness.gpu_health("--id=2,5")] == [2, 5]
    told = run(node_fingerprint_facts, work_dir=str(tmp_path), gpu_ids="5,2")["fingerprint"]
    for key in ("gpus", "gpu_settings"):
        assert [gpu["index"] for gpu in told[key]] == [2, 5]
    refused = run(node_fingerprint_facts, work_dir=str(tmp_path), gpu_ids="2,9")
    assert refused["msg"] == "the node has no GPU 9 (scalebench_gpus)"


def test_only_the_gpus_of_the_job_are_looked_at(gpus, run, tmp_path, monkeypatch):
    def seen(given, ids="all"):
        monkeypatch.setenv("SCALEBENCH_GPUS", given)
        told = run(node_fingerprint_facts, work_dir=str(tmp_path), gpu_ids=ids)
        return told.get("msg") or [gpu["index"] for gpu in told["fingerprint"]["gpus"]]

    assert seen("2,3") == [2, 3]
    assert seen("2,3", "3") == [3]
    # The word of Slurm's older releases for none.
    assert seen("") == seen("NoDevFiles") == []
    assert seen("2,3", "0,3") == ("scalebench_gpus names GPU 0, and the job has 2, 3 on this node")
    assert "the job has GPUs MIG-1, and Scalebench measures whole GPUs only" in seen("MIG-1")
    monkeypatch.setenv("SCALEBENCH_GPUS", "2,5")
    health = run(preflight_facts)["gpu_health"]
    assert [gpu["index"] for gpu in health] == [2, 5]
    monkeypatch.setenv("SCALEBENCH_GPUS", "")
    assert run(preflight_facts)["gpu_health"] == []


def test_no_gpu_is_examined_where_none_is_to_be(gpus, run):
    assert run(preflight_facts, gpus=False)["gpu_health"] == []


def test_an_uncorrected_error_is_reported_for_its_gpu(gpus):
    (gpus / "gpu_fault").write_text("ecc")
    assert [gpu["ecc_uncorrected"] for gpu in fitness.gpu_health()] == [0, 0, 0, 4, 0, 0, 0, 0]


def test_a_pending_repair_is_reported(gpus):
    described = json.loads((gpus / "gpus.json").read_text())
    described["gpus"][5]["retired_pages.pending"] = "Yes"
    (gpus / "gpus.json").write_text(json.dumps(described))
    assert [gpu["index"] for gpu in fitness.gpu_health() if gpu["repair_pending"]] == [5]


@pytest.mark.parametrize(
    ("driver", "words"),
    [
        ("590.48.01", {"remapped_rows_pending": "Yes"}),
        ("550.163.01", {"remapped_rows_pending": "Yes"}),
    ],
)
def test_a_pending_row_remapping_is_found_by_either_switch(tmp_path, monkeypatch, driver, words):
    install(tmp_path, monkeypatch, "8xH100", driver_version=driver, **words)
    health = fitness.gpu_health()
    assert {(gpu["repair_pending"], gpu["repair_failed"]) for gpu in health} == {(True, False)}


def test_a_gpu_in_mig_mode_reports_no_remapped_rows(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, "1xH100_MIG")
    assert fitness.gpu_health() == [
        {
            "index": 0,
            "ecc_uncorrected": 0,
            "repair_pending": None,
            "repair_failed": None,
            "mig": "Enabled",
            "fabric": "Completed, Success",
        }
    ]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            "gpu_lost",
            "exit code 15: Unable to determine the device handle for GPU3: .* GPU is lost",
        ),
        ("driver_mismatch", "exit code 18: .*Driver/library version mismatch NVML library version"),
        ("no_driver", "exit code 9: NVIDIA-SMI has failed .*Install or repair the driver"),
    ],
)
def test_a_failing_nvidia_smi_is_quoted_with_what_to_do(gpus, fault, words):
    (gpus / "gpu_fault").write_text(fault)
    with pytest.raises(ValueError, match=words):
        fitness.gpu_health()


def test_a_node_without_nvidia_smi_has_no_gpus(monkeypatch):
    monkeypatch.setattr(nvidia_smi, "find", lambda: None)
    monkeypatch.setattr(nvidia_smi, "signs_of_a_gpu", list)
    assert fitness.gpu_health() == []
    assert fitness.gpu_processes() == []


def test_xid_errors_are_read_from_the_kernels_log(tmp_path, monkeypatch):
    line = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus."
    program(tmp_path, "journalctl", f"echo 'eth0: link up'\necho '{line}'")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert fitness.xid_codes() == [79]


def test_an_unreadable_kernel_log_gives_none(tmp_path, monkeypatch):
    program(tmp_path, "journalctl", "true")
    program(tmp_path, "dmesg", "echo 'dmesg: read kernel buffer failed' >&2\nexit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert fitness.xid_codes() is None


def test_a_missing_container_is_an_error_with_the_engines_message(tmp_path, monkeypatch):
    program(tmp_path, "docker", 'echo "Error: No such object: tf" >&2; exit 1')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(ValueError, match="docker: Error: No such object: tf"):
        fitness.container("docker", "tf")


def test_image_and_devices_of_a_container(tmp_path, monkeypatch):
    program(
        tmp_path,
        "docker",
        'case "$1" in inspect) echo sha256:0123;;'
        ' *) printf "mlx5_1\\nmlx5_0\\nlibibverbs.so.1\\n";; esac',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = fitness.container("docker", "tf")
    assert found == {"image": "sha256:0123", "devices": ["mlx5_0", "mlx5_1"], "verbs": True}


def test_the_library_of_a_container_is_looked_for_where_its_ranks_would_load_it(
    tmp_path, monkeypatch
):
    """The script that runs in the container, with this machine as the container."""
    program(tmp_path, "docker", 'case "$1" in inspect) echo i;; *) shift 2; exec "$@";; esac')
    program(tmp_path, "ldconfig", "echo 'libibverbs.so.1 (libc6,x86-64) => /lib/libibverbs.so.1'")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert fitness.container("docker", "tf")["verbs"]
    program(tmp_path, "ldconfig", "echo 'libm.so.6 (libc6,x86-64) => /lib/libm.so.6'")
    assert not fitness.container("docker", "tf")["verbs"]


def test_this_machine_has_a_loopback_address():
    assert fitness.addresses()["lo"] == "127.0.0.1"
    assert {route["interface"] for route in fitness.routes()} <= {"", *os.listdir("/sys/class/net")}


def test_routes_are_those_of_the_main_table_that_are_up():
    """Lines of proc_net(5), addresses in the byte order of the machine."""
    order = "little" if sys.byteorder == "little" else "big"

    def number(address):
        return f"{int.from_bytes(bytes(map(int, address.split('.'))), order):08X}"

    lines = [
        ("eth0", "0.0.0.0", "10.11.0.1", "0003", "100", "0.0.0.0"),
        ("ib0", "10.12.0.0", "0.0.0.0", "0001", "0", "255.255.252.0"),
        ("*", "10.13.0.0", "0.0.0.0", "0201", "0", "255.255.0.0"),
        ("eth1", "10.14.0.0", "0.0.0.0", "0000", "0", "255.255.0.0"),
    ]
    text = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    text += "".join(
        f"{name}\t{number(to)}\t{number(by)}\t{flags}\t0\t0\t{metric}\t{number(mask)}\t0\t0\t0\n"
        for name, to, by, flags, metric, mask in lines
    )
    assert fitness.routes(text) == [
        {"interface": "eth0", "network": "0.0.0.0/0", "metric": 100},
        {"interface": "ib0", "network": "10.12.0.0/22", "metric": 0},
        {"interface": "", "network": "10.13.0.0/16", "metric": 0},
    ]


def test_a_folder_that_is_there_must_take_files(tmp_path):
    assert fitness.writable(str(tmp_path))
    assert fitness.writable(str(tmp_path / "to be made"))
    assert fitness.writable("")
    # Root may write everywhere.
    child = os.fork()
    if not child:
        if os.getuid() == 0:
            os.setuid(65534)
        os._exit(int(fitness.writable("/usr")))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
