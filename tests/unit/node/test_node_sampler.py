"""A node sampled during a run; /proc is that of this machine, only /sys is made up."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.kernel_counters import (
    kernel_counters,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.processes import read_process
from ansible_collections.scalebench.core.plugins.module_utils.node.sampler import gauges, spread_out
from ansible_collections.scalebench.core.plugins.module_utils.telemetry.disturbances import find

ROOT = Path(__file__).resolve().parents[3]
BURN = "import time\nwhile time.process_time() < {seconds}: pass"
SUPERVISE = """
import json, sys
sys.path.insert(0, "collections")
from ansible_collections.scalebench.core.plugins.module_utils.node.supervise import supervise
script, log, interval, timeout = json.loads(sys.argv[1])
argv = ["sh", "-c", script]
print(json.dumps(supervise(argv, log, {}, timeout, 0, sample_interval=interval)))
"""

WITH_A_DRIVER = """
from ansible_collections.scalebench.core.plugins.module_utils.node import sampler
sampler.driver_paths = lambda: ["/dev/nvidia0"]
"""


def supervise(tmp_path, script, interval=0.2, timeout=0, sampler=""):
    """Run a shell script under a supervisor in a process of its own; return its answer.

    :param sampler: code that puts another one of GPUs in the place of ours, on a node with some.
    """
    arguments = json.dumps([script, str(tmp_path / "x.log"), interval, timeout])
    start = 'sys.path.insert(0, "collections")\n'
    stand_in = WITH_A_DRIVER + sampler if sampler else ""
    done = subprocess.run(
        [sys.executable, "-c", SUPERVISE.replace(start, start + stand_in), arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=60,
    )
    return json.loads(done.stdout)


HANGS = """
import threading
from ansible_collections.scalebench.core.plugins.module_utils.node import sampler

class Hanging:
    def __init__(self, *_): self.calls = 0
    def sample(self):
        self.calls += 1
        if self.calls > 1:
            threading.Event().wait()
        return {"gpus": []}
    def close(self): return ""

sampler.GpuSampler = Hanging
"""


def test_a_driver_that_hangs_holds_up_no_time_limit(tmp_path):
    told = supervise(tmp_path, "sleep 60", timeout=2, sampler=HANGS)
    assert told["ending"] == "timeout"
    assert told["telemetry"]["gpu"] == "not sampled: NVML has not answered for 2 s"


IN_THE_KERNEL = """
import os, signal
from pathlib import Path
from ansible_collections.scalebench.core.plugins.module_utils.node import sampler

class Endless:
    def __init__(self, *_): signal.signal(signal.SIGTERM, signal.SIG_IGN)
    def sample(self): signal.pause()

kill, read = os.kill, sampler.read_process
sampler.GpuSampler = Endless
sampler.read_process = lambda pid: read(pid)._replace(state="D")
os.kill = lambda pid, number: None if number == signal.SIGKILL else kill(pid, number)
"""


def test_a_driver_that_hangs_in_the_kernel_keeps_no_supervisor(tmp_path):
    # Returns when nothing has the output any more.
    told = supervise(tmp_path, "sleep 1", sampler=IN_THE_KERNEL)
    assert (told["ending"], told["reason"], told["ended"]) == ("ok", "", 0)
    reason = told["telemetry"]["gpu"]
    pid = re.search(r"; process (\d+) hangs in the kernel \(state D\): see dmesg$", reason)
    assert pid is not None
    held = [os.readlink(path) for path in Path(f"/proc/{pid[1]}/fd").iterdir()]
    os.kill(int(pid[1]), signal.SIGKILL)
    assert [path for path in held if not path.startswith("socket:")] == ["/dev/null"] * 3


CRASHES = """
import os
from ansible_collections.scalebench.core.plugins.module_utils.node import sampler
sampler.find_nvml = lambda: os.abort()
"""
# Before it has read a question, as where memory is short.
CRASHES_EARLY = """
import os, time
from ansible_collections.scalebench.core.plugins.module_utils.node import sampler
sampler.end_with_parent = lambda: time.sleep(0.1) or os.abort()
"""


@pytest.mark.parametrize("crashes", [CRASHES, CRASHES_EARLY])
def test_a_driver_that_crashes_costs_its_samples_alone(tmp_path, crashes):
    told = supervise(tmp_path, "sleep 3", sampler=crashes)
    assert (told["ending"], told["reason"], told["ended"]) == ("ok", "", 0)
    reason = "not sampled: the process that calls NVML crashed or was ended"
    assert told["telemetry"]["gpu"] == reason
    assert told["telemetry"]["samples"] > 5


INTERRUPTED = """
import os, signal
fork = os.fork

def interrupted():
    pid = fork()
    if pid:
        os.kill(os.getpid(), signal.SIGTERM)
    return pid

os.fork = interrupted
"""


def test_a_signal_while_the_process_of_the_driver_starts_ends_the_repeat_alone(tmp_path):
    told = supervise(tmp_path, "exec sleep 30", sampler=INTERRUPTED)
    assert (told["ending"], told["reason"]) == ("interrupted", "the supervisor got SIGTERM")
    assert told["ended"] == 1, "the process of the driver is none of the repeat's"


NO_DRIVER = """
import os
sampler.driver_paths = list
os.fork = os.abort
"""


def test_a_node_without_a_driver_has_no_process_for_it(tmp_path):
    told = supervise(tmp_path, "sleep 2", sampler=NO_DRIVER)
    assert (told["ending"], told["reason"]) == ("ok", "")
    assert told["telemetry"]["samples"] > 2
    assert not {"gpu", "gpus"} & set(told["telemetry"])


LEFT_ALONE = """
import os, signal
from pathlib import Path
from ansible_collections.scalebench.core.plugins.module_utils.node import sampler

class Waits:
    def __init__(self, *_): pass
    def sample(self):
        Path(FILE).write_text(str(os.getpid()))
        signal.pause()

sampler.GpuSampler = Waits
"""


def test_a_supervisor_that_is_killed_takes_the_process_of_its_driver_along(tmp_path):
    file = tmp_path / "driver"
    script = f"until [ -s {file} ]; do sleep 0.1; done; kill -9 $PPID"
    with pytest.raises(subprocess.CalledProcessError):
        supervise(tmp_path, script, sampler=LEFT_ALONE.replace("FILE", repr(str(file))))
    pid = int(file.read_text())
    for _ in range(50):
        process = read_process(pid)
        if process is None or not process.alive:
            return
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("it runs on")


SLOW = """
import time
from ansible_collections.scalebench.core.plugins.module_utils.node import sampler

class Slow:
    def __init__(self, *_):
        time.sleep(1)
        self.calls = 0
    def sample(self):
        time.sleep(0.3)
        self.calls += 1
        return {"gpus": [{"index": 0, "utilisation": 50, "xid": [79] * (self.calls == 2)}]}
    def close(self): return ""

sampler.GpuSampler = Slow
"""


def test_what_a_slow_driver_tells_counts(tmp_path):
    told = supervise(tmp_path, "sleep 3", sampler=SLOW)["telemetry"]
    assert "gpu" not in told
    assert told["gpus"][0]["xid"] == [79]


def burn(seconds):
    """Return the shell command that takes CPU time."""
    return f"{sys.executable} -c '{BURN.format(seconds=seconds)}'"


def test_own_cpu_time_is_that_of_all_processes_orphans_too(tmp_path):
    orphan = f"{burn(0.5)}; touch {tmp_path}/burnt; sleep 99"
    waiting = f"while [ ! -e {tmp_path}/burnt ]; do sleep 0.05; done"
    done = supervise(tmp_path, f'setsid sh -c "{orphan}" & {burn(0.5)}; {waiting}')
    assert done["ending"] == "ok" and done["ended"] >= 1
    telemetry = done["telemetry"]
    assert 1.0 <= telemetry["cpu"]["own_seconds"] < 2.5
    assert telemetry["samples"] >= 2
    assert telemetry["cpu"]["busy_seconds"] >= 0.8
    assert telemetry["seconds"] == pytest.approx(done["seconds"], abs=0.5)
    assert 0 < telemetry["sampling_seconds"] < 0.1 * telemetry["seconds"]


def test_a_run_that_is_ended_has_its_cpu_time_too(tmp_path):
    done = supervise(tmp_path, burn(99), timeout=1.5)
    assert done["ending"] == "timeout"
    assert done["telemetry"]["cpu"]["own_seconds"] >= 0.2


def test_another_process_is_found_and_is_not_our_own(tmp_path):
    code = BURN.format(seconds=1.0) + "\nprint(time.process_time())"
    wait = f"while [ ! -e {tmp_path}/%s ]; do sleep 0.05; done"
    other = subprocess.Popen(
        ["sh", "-c", f"{wait % 'begun'}; {sys.executable} -c '{code}'; touch {tmp_path}/done"],
        stdout=subprocess.PIPE,
        text=True,
    )
    telemetry = supervise(tmp_path, f"touch {tmp_path}/begun; {wait % 'done'}")["telemetry"]
    taken = float(other.communicate(timeout=60)[0])
    cpu = telemetry["cpu"]
    assert cpu["own_seconds"] < taken / 2
    assert cpu["busy_seconds"] - cpu["own_seconds"] > 0.8 * taken
    limits = {"other_process_seconds": 0.5, "other_process_share": 0.01}
    found = find({"here": {"telemetry": telemetry, "boot_id": "x"}}, limits)
    assert "other_process" in [disturbance["kind"] for disturbance in found]


def test_without_an_interval_nothing_is_sampled(tmp_path):
    assert supervise(tmp_path, "true", interval=0)["telemetry"] is None


def test_the_counters_of_this_machine_grow_with_what_is_done():
    before = kernel_counters()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        with socket.create_connection(listening.getsockname()) as sending:
            receiving, _ = listening.accept()
            with receiving:
                for _ in range(64):
                    sending.sendall(bytes(2**16))
                    receiving.recv(2**16, socket.MSG_WAITALL)
    after = kernel_counters()
    for name in ("received_bytes", "sent_bytes"):
        assert after["network"]["lo"][name] - before["network"]["lo"][name] >= 2**22
    assert after["cpu"]["cores"] == os.sysconf("SC_NPROCESSORS_ONLN")
    assert after["cpu"]["busy_seconds"] >= before["cpu"]["busy_seconds"] > 0


def test_the_gauges_of_this_machine_are_plausible():
    # It changes every five seconds, on a busy machine by more than its last digit.
    before, found, after = os.getloadavg()[0], gauges([]), os.getloadavg()[0]
    assert found["load"] in (pytest.approx(before, abs=0.01), pytest.approx(after, abs=0.01))
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20
    assert 0 < found["memory_used_mib"] < total


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def test_infiniband_counts_words_of_four_bytes_and_ports_without_counters(tmp_path):
    device = tmp_path / "class/infiniband/mlx5_0/ports"
    write(
        device / "1/counters",
        port_rcv_data="262144\n",
        port_xmit_data="524288\n",
        symbol_error="5\n",
        port_rcv_errors="2\n",
        link_error_recovery="1\n",
        link_downed="3\n",
    )
    write(device / "2/counters", port_rcv_data="N/A (no PMA)\n")
    assert kernel_counters(sys=str(tmp_path))["infiniband"] == {
        "mlx5_0/1": {
            "received_bytes": 2**20,
            "sent_bytes": 2**21,
            "errors": 3,
            "link_downed": 3,
        },
        "mlx5_0/2": {},
    }


def test_every_counter_is_read_from_its_field_in_its_unit(tmp_path):
    """Of proc_stat(5) user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice."""
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    write(
        tmp_path,
        stat="cpu  100 20 3 4000 50 6 70 800 9000 10000\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
        "cpu1 1 1 1 1 1 1 1 1 1 1\nintr 7\n",
        vmstat="pswpin_of_another 7\npswpin 4096\npswpout 9\n",
    )
    write(tmp_path / "pressure", memory="some avg10=0.00 total=2500000\nfull avg10=0 total=7\n")
    write(
        tmp_path / "net",
        dev="Inter-|   Receive |\n face |bytes packets errs\n"
        "  eth0:1000 2 30 4 5 6 7 8 9000 10 110 12 13 14 15 16\n",
    )
    assert kernel_counters(proc=str(tmp_path), sys=str(tmp_path)) == {
        "cpu": {
            "cores": 2,
            "busy_seconds": 123 / ticks,
            "iowait_seconds": 50 / ticks,
            "irq_seconds": 76 / ticks,
            "steal_seconds": 800 / ticks,
        },
        "network": {"eth0": {"received_bytes": 1000, "sent_bytes": 9000, "errors": 140}},
        "memory_stall_seconds": 2.5,
        "swapped_in_mib": 4096 * page / 2**20,
    }


def test_throttle_counts_of_the_cores_are_added_up(tmp_path):
    for core, count in enumerate((2, 0, 5)):
        folder = tmp_path / f"devices/system/cpu/cpu{core}/thermal_throttle"
        write(folder, core_throttle_count=f"{count}\n")
    assert kernel_counters(sys=str(tmp_path))["cpu_throttle_events"] == 7


def test_a_node_without_any_of_the_files_has_no_figures(tmp_path):
    assert kernel_counters(proc=str(tmp_path), sys=str(tmp_path)) == {}
    assert gauges([str(tmp_path / "no")], proc=str(tmp_path)) == {}


def test_the_clock_is_the_mean_of_the_cores_that_have_one(tmp_path):
    write(tmp_path / "sys", cpu0="2000000\n", cpu1="3000000\n", cpu2="<unknown>\n")
    clocks = [str(tmp_path / "sys" / name) for name in ("cpu0", "cpu1", "cpu2")]
    assert gauges(clocks)["cpu_mhz"] == 2500.0


@pytest.mark.parametrize(
    "count, asked", [(0, []), (3, [0, 1, 2]), (8, [*range(8)]), (96, [*range(0, 96, 12)])]
)
def test_only_some_cores_are_sampled_and_they_are_spread(count, asked):
    assert spread_out([str(n) for n in range(count)]) == [str(n) for n in asked]


def test_the_time_in_which_a_run_was_stopped_is_known(tmp_path):
    """As scontrol suspend does: all processes of the node get SIGSTOP, and SIGCONT later."""
    stop = "kill -STOP $PPID; sleep 3; kill -CONT $PPID; sleep 0.5"
    pause = supervise(tmp_path, stop)["telemetry"]["longest_pause_seconds"]
    assert 2.5 < pause < 10
    assert supervise(tmp_path, "sleep 1")["telemetry"]["longest_pause_seconds"] < 2.5
