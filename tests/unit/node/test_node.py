"""Real processes of this machine: read, ended, supervised."""

import contextlib
import io
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node import processes as module
from ansible_collections.scalebench.core.plugins.module_utils.node import programs, runs
from ansible_collections.scalebench.core.plugins.module_utils.node.interpreters import find
from ansible_collections.scalebench.core.plugins.module_utils.node.processes import (
    RUN_VARIABLE,
    descendants,
    end_processes,
    environment,
    is_free,
    listener,
    read_process,
    unit_of,
)
from live_processes import alive

SUPERVISE = """
import json, sys
sys.path.insert(0, "collections")
from ansible_collections.scalebench.core.plugins.module_utils.node.supervise import supervise
argv, log, timeout, stall, folder, memory, patience = json.loads(sys.argv[1])
told = supervise(
    argv, log, {"SCALEBENCH_RUN": log}, timeout, stall,
    controller=1, folder=folder, memory_mib=memory, patience=patience,
)
print(json.dumps(told))
"""


def supervise(tmp_path, script, timeout=0, stall=0, memory=0, patience=0, given=None):
    """Start a supervisor of a shell script in a process of its own."""
    log = str(tmp_path / "x.log")
    argv = ["sh", "-c", script]
    arguments = json.dumps([argv, log, timeout, stall, str(tmp_path), memory, patience])
    return subprocess.Popen(
        ["sh", "-c", 'exec 3<&0; exec "$@"', "sh", sys.executable, "-c", SUPERVISE, arguments],
        stdin=given, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.fixture
def first(monkeypatch):
    """Return a function that has supervisors run some code before they begin."""

    def run_first(code):
        start = 'sys.path.insert(0, "collections")\n'
        monkeypatch.setitem(globals(), "SUPERVISE", SUPERVISE.replace(start, start + code))

    return run_first


def answer(process):
    out, _ = process.communicate(timeout=120)
    return json.loads(out)


def marked(tmp_path):
    return [process.pid for process, _ in runs.marked(str(tmp_path))]


def wait_until(condition, patience=60):
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


def test_a_run_that_goes_well_is_ok_and_its_output_in_the_log(tmp_path):
    done = answer(supervise(tmp_path, "echo out; echo err >&2"))
    assert (done["ending"], done["exit_code"], done["ended"]) == ("ok", 0, 0)
    assert (tmp_path / "x.log").read_text() == "out\nerr\n"


def test_the_launcher_starts_in_the_folder_of_the_run(tmp_path):
    answer(supervise(tmp_path, "echo mine > launcher.log"))
    assert (tmp_path / "launcher.log").read_text() == "mine\n"


@pytest.mark.parametrize(("memory", "kib"), [(512, str(512 * 1024)), (0, "unlimited")])
def test_every_process_has_the_memory_that_is_given_and_no_more(tmp_path, memory, kib):
    answer(supervise(tmp_path, "ulimit -S -d; ulimit -H -d", memory=memory))
    assert (tmp_path / "x.log").read_text().split() == [kib, kib]


def test_exit_code_and_last_line_are_in_the_reason(tmp_path):
    done = answer(supervise(tmp_path, "echo first; echo 'no such device'; exit 3"))
    assert (done["ending"], done["exit_code"]) == ("crashed", 3)
    assert done["reason"] == "exit code 3: no such device"


FAR_BACK = "the last words are in a line that begins more than 64 KiB before the end"


@pytest.mark.parametrize(
    ("line", "rest", "message"),
    [
        ("HF_TOKEN=error: Zq7Xk29LmPvT", "\nstep 1" + 65_510 * "\n", "step 1"),
        ("HF_TOKEN=error: Zq7Xk29LmPvT", "\rstep 1" + 65_510 * "\r", "step 1"),
        # What is cut off would tell that it is a secret.
        ("HF_TOKEN=error: Zq7Xk29LmPvT", 65_510 * "\n", FAR_BACK),
        ("HF_TOKEN=", 70_000 * "Zq7Xk29LmPvT", FAR_BACK),
        ("HF_TOKEN=", 70_000 * "Zq7Xk29LmPvT" + "\n", FAR_BACK),
    ],
)
def test_a_line_whose_beginning_is_too_far_back_is_not_quoted(tmp_path, line, rest, message):
    (tmp_path / "output").write_text(99 * "step 0\n" + line + rest)
    reason = answer(supervise(tmp_path, "cat output; exit 3"))["reason"]
    assert reason == f"exit code 3: {message}"


def test_a_signal_is_named(tmp_path):
    done = answer(supervise(tmp_path, "kill -SEGV $$"))
    assert (done["ending"], done["exit_code"]) == ("crashed", -signal.SIGSEGV)
    assert "SIGSEGV" in done["reason"]


@pytest.mark.parametrize("number", [35, 40, 63])
def test_a_signal_without_a_name_has_its_number(tmp_path, number):
    done = answer(supervise(tmp_path, f"echo out; kill -{number} $$"))
    assert done["ending"] == "crashed"
    assert done["reason"] == f"ended by signal {number}: out"


@pytest.mark.parametrize(
    "taken",
    ["rm x.log", "mv x.log y.log", "rm x.log; mkfifo x.log", "mv x.log y.log; ln -s nowhere x.log"],
)
def test_a_launcher_that_takes_the_name_of_its_log_is_supervised_like_any_other(tmp_path, taken):
    done = answer(
        supervise(tmp_path, f"setsid sleep 91 & echo one; {taken}; sleep 1.2; echo two; exit 3")
    )
    assert (done["ending"], done["reason"]) == ("crashed", "exit code 3: two")
    assert done["ended"] >= 1 and marked(tmp_path) == []
    log = tmp_path / "x.log"
    assert log.is_file() and not log.is_symlink()
    assert log.read_text() == "one\ntwo\n"


def test_a_pipe_with_the_name_of_the_log_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.log")
    assert answer(supervise(tmp_path, "echo one"))["ending"] == "ok"
    assert (tmp_path / "x.log").read_text() == "one\n"


def test_a_log_that_cannot_be_put_back_costs_no_ending(tmp_path):
    # Its folder is gone.
    (tmp_path / "runs").mkdir()
    moved = f"setsid sleep 91 & mv ../runs {tmp_path}/other; echo ValueError: late; exit 3"
    done = answer(supervise(tmp_path / "runs", moved))
    lost = "its log was moved and could not be kept: No such file or directory"
    assert (done["ending"], done["reason"]) == ("crashed", f"exit code 3: ValueError: late; {lost}")
    assert marked(tmp_path) == []


def test_a_missing_launcher_is_a_failed_launch(tmp_path):
    log = str(tmp_path / "x.log")
    arguments = json.dumps([["/no/such/torchrun"], log, 0, 0, str(tmp_path), 0, 0])
    process = subprocess.Popen(
        [sys.executable, "-c", SUPERVISE, arguments], stdout=subprocess.PIPE, text=True
    )
    done = answer(process)
    assert done["ending"] == "launch_failed"
    assert "/no/such/torchrun: No such file or directory" in done["reason"]


def test_the_time_limit_ends_the_whole_tree(tmp_path):
    done = answer(supervise(tmp_path, "setsid sleep 99 & sleep 98", timeout=2))
    assert (done["ending"], done["exit_code"]) == ("timeout", None)
    assert done["ended"] >= 2
    assert marked(tmp_path) == []


def test_silence_is_a_stall(tmp_path):
    done = answer(supervise(tmp_path, "echo one; sleep 99", stall=1))
    assert (done["ending"], done["reason"]) == ("stalled", "no output for 1 s")


def test_what_the_launcher_leaves_is_ended_even_in_a_session_of_its_own(tmp_path):
    done = answer(supervise(tmp_path, "setsid sh -c 'sleep 97 & sleep 96' & exit 0"))
    assert done["ending"] == "ok"
    assert done["ended"] >= 1
    assert marked(tmp_path) == []


def test_a_process_that_ignores_sigterm_is_killed(tmp_path):
    done = answer(supervise(tmp_path, "trap '' TERM; while :; do sleep 0.2; done", timeout=0.5))
    assert done["ending"] == "timeout"
    assert marked(tmp_path) == []


def test_a_controller_that_goes_away_ends_the_run(tmp_path):
    supervisor = supervise(tmp_path, "setsid sleep 95 & sleep 94")
    wait_until(lambda: len(marked(tmp_path)) >= 3)
    supervisor.stdout.close()
    wait_until(lambda: not marked(tmp_path))
    supervisor.wait(timeout=60)


def test_a_controller_that_says_nothing_or_closes_its_pipe_ends_the_run(tmp_path):
    quiet = supervise(tmp_path, "sleep 95", patience=2.5, given=subprocess.PIPE)
    for _ in range(8):
        quiet.stdin.write("\n")
        quiet.stdin.flush()
        time.sleep(0.5)
        assert quiet.poll() is None, "it was told in time"
    told = json.loads(quiet.stdout.read())
    assert told["ending"] == "interrupted"
    assert told["reason"] == "nothing came from the controller for 2.5 s"
    gone = supervise(tmp_path, "sleep 95", patience=60, given=subprocess.PIPE)
    wait_until(lambda: marked(tmp_path))
    assert answer(gone)["reason"] == "the connection to the controller closed"
    assert marked(tmp_path) == []


def test_sigterm_to_the_supervisor_ends_the_run(tmp_path):
    supervisor = supervise(tmp_path, "sleep 93")
    wait_until(lambda: marked(tmp_path))
    supervisor.terminate()
    assert answer(supervisor)["ending"] == "interrupted"
    assert marked(tmp_path) == []


# When it has stopped to watch, and has ended nothing yet.
SIGNALLED = """
import contextlib, os, signal
from ansible_collections.scalebench.core.plugins.module_utils.node import supervise as module

@contextlib.contextmanager
def then_signalled(watching=module._signals_raise):
    with watching():
        yield
    os.kill(os.getpid(), signal.SIGTERM)

module._signals_raise = then_signalled
"""


def test_a_signal_after_the_watch_does_not_spare_what_the_launcher_left(tmp_path, first):
    first(SIGNALLED)
    outcome = answer(supervise(tmp_path, "setsid sleep 93 & exit 0"))
    assert (outcome["ending"], outcome["ended"]) == ("ok", 1)
    assert marked(tmp_path) == []


# The second one comes when the first has interrupted the end of the watch.
SIGNALLED_TWICE = """
import os, signal
from ansible_collections.scalebench.core.plugins.module_utils.node import supervise as module
watch, end_processes, set_signal = module._watch, module.end_processes, signal.signal

def watched(*given):
    told = watch(*given)
    signal.signal = signalled
    return told

def signalled(number, handler):
    signal.signal = set_signal
    os.kill(os.getpid(), signal.SIGTERM)
    return set_signal(number, handler)

def signalled_again(find):
    os.kill(os.getpid(), signal.SIGHUP)
    return end_processes(find)

module._watch, module.end_processes = watched, signalled_again
"""


def test_a_second_signal_does_not_spare_what_the_launcher_left(tmp_path, first):
    first(SIGNALLED_TWICE)
    outcome = answer(supervise(tmp_path, "setsid sleep 93 & exit 0"))
    assert (outcome["ending"], outcome["ended"]) == ("interrupted", 1)
    assert marked(tmp_path) == []


# Before a handler would raise.
SIGNALLED_BEFORE = """
import os, signal
from ansible_collections.scalebench.core.plugins.module_utils.node import supervise as module

def signalled(watching=module._signals_raise):
    os.kill(os.getpid(), signal.SIGTERM)
    return watching()

module._signals_raise = signalled
"""


def test_a_signal_before_the_watch_is_not_lost(tmp_path, first):
    first(SIGNALLED_BEFORE)
    assert supervise(tmp_path, "touch begun").wait(timeout=60) == -signal.SIGTERM
    assert not (tmp_path / "begun").exists()


KILLED_EARLY = """
import os, signal, time
from pathlib import Path
from ansible_collections.scalebench.core.plugins.module_utils.node import supervise as module
end_with_parent = module.end_with_parent

def late(supervisor):
    Path("pid").write_text(str(os.getpid()))
    os.kill(supervisor, signal.SIGKILL)
    while os.getppid() == supervisor:
        time.sleep(0.01)
    end_with_parent(supervisor)

module.end_with_parent = late
"""


def test_nothing_is_started_for_a_supervisor_that_is_killed_meanwhile(tmp_path, first):
    first(KILLED_EARLY)
    supervisor = supervise(tmp_path, "touch begun; exec sleep 97")
    assert supervisor.wait(timeout=60) == -signal.SIGKILL
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: (tmp_path / "begun").exists() or not alive(pid))
    assert not (tmp_path / "begun").exists()


def test_strays_are_recognised_by_their_mark_and_only_they_are_ended(tmp_path):
    mine = subprocess.Popen(["sleep", "92"], env={RUN_VARIABLE: f"{tmp_path}/runs/a"})
    other = subprocess.Popen(["sleep", "91"], env={RUN_VARIABLE: f"{tmp_path}-other/runs/a"})
    try:
        wait_until(lambda: marked(tmp_path) == [mine.pid])
        assert [process.pid for process in runs.end_strays(str(tmp_path))] == [mine.pid]
        assert mine.wait(timeout=30) == -signal.SIGTERM
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_node_is_held_by_one_run_and_freed_by_its_death(tmp_path):
    assert runs.busy_with(str(tmp_path)) is None
    with runs.attended(str(tmp_path), "runs/first"):
        assert runs.busy_with(str(tmp_path)) == "runs/first"
        with (
            pytest.raises(ValueError, match="busy with runs/first"),
            runs.attended(str(tmp_path), "runs/second"),
        ):
            pass
    assert runs.busy_with(str(tmp_path)) is None


def test_a_repeat_has_ended_once_its_supervisor_has(tmp_path):
    node = str(tmp_path)
    first = contextlib.ExitStack()
    first.enter_context(runs.attended(node, "runs/first", [0]))
    with runs.attended(node, "runs/second", [1]):
        assert not runs.has_ended(node, "runs/first", 0.2)
        threading.Timer(0.5, first.close).start()
        assert runs.has_ended(node, "runs/first", 60)


def test_devices_of_a_node_are_held_side_by_side_but_not_twice_nor_with_the_whole_node(tmp_path):
    node = str(tmp_path)
    with runs.attended(node, "runs/first", [0, 1]), runs.attended(node, "runs/second", [2]):
        assert runs.busy_with(node) == "runs/first, runs/second"
        for devices in ([1], [2, 3], []):
            with (
                pytest.raises(ValueError, match="busy with runs/first, runs/second"),
                runs.attended(node, "runs/third", devices),
            ):
                pass
        with runs.attended(node, "runs/third", [3]):
            pass
    with (
        runs.attended(node, "runs/first"),
        pytest.raises(ValueError, match="busy with runs/first"),
        runs.attended(node, "runs/second", [2]),
    ):
        pass
    assert runs.busy_with(node) is None


def test_checking_who_holds_the_node_does_not_block_it(tmp_path, monkeypatch):
    # A thread that looks all the time may have to wait for a core in the middle of it.
    monkeypatch.setattr(runs, "_PATIENCE", 60)
    stop = threading.Event()

    def look():
        while not stop.is_set():
            runs.busy_with(str(tmp_path))

    with runs.attended(str(tmp_path), "runs/first", [0]):
        looking = threading.Thread(target=look)
        looking.start()
        try:
            for _ in range(300):
                with runs.attended(str(tmp_path), "runs/second", [1]):
                    pass
        finally:
            stop.set()
            looking.join()


def test_a_supervised_neighbour_is_not_a_stray_and_an_earlier_attempt_is(tmp_path):
    neighbour, earlier, stray = (
        subprocess.Popen(["sleep", "92"], env={RUN_VARIABLE: f"{tmp_path}/runs/{name}"})
        for name in ("neighbour", "mine", "stray")
    )
    try:
        wait_until(lambda: len(marked(tmp_path)) == 3)
        with (
            runs.attended(str(tmp_path), f"{tmp_path}/runs/neighbour", [0]),
            runs.attended(str(tmp_path), f"{tmp_path}/runs/mine", [1]),
        ):
            ended = runs.end_strays(str(tmp_path), f"{tmp_path}/runs/mine")
        assert {process.pid for process in ended} == {earlier.pid, stray.pid}
        assert neighbour.poll() is None
    finally:
        for process in (neighbour, earlier, stray):
            process.kill()
            process.wait()


def test_a_listener_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert listener("127.0.0.1", port).startswith(f"process {os.getpid()} (")
        assert listener("127.0.0.9", port) is None
    assert listener("127.0.0.1", port) is None


def test_a_listener_is_named_where_the_kernel_has_no_ipv6(monkeypatch):
    def without(path, *arguments, **options):
        if path == "/proc/net/tcp6":
            raise FileNotFoundError(2, "No such file or directory", path)
        return open(path, *arguments, **options)

    monkeypatch.setattr(module, "open", without, raising=False)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert listener("127.0.0.1", taken.getsockname()[1]).startswith(f"process {os.getpid()} (")


def test_what_may_not_be_signalled_is_spared_and_named(monkeypatch):
    mine, other = (subprocess.Popen(["sleep", "60"]) for _ in range(2))
    kill = os.kill

    def refuse(pid, number):
        if pid == other.pid:
            raise PermissionError(1, "Operation not permitted")
        kill(pid, number)

    monkeypatch.setattr(os, "kill", refuse)
    known = {pid: read_process(pid) for pid in (mine.pid, other.pid)}

    def left():
        return [one for one in known.values() if one.pid == other.pid or mine.poll() is None]

    assert end_processes(left) == [known[mine.pid]]
    assert left() == [known[other.pid]]
    kill(other.pid, signal.SIGKILL)
    other.wait()


UNENDED = """
from functools import partial
from ansible_collections.scalebench.core.plugins.module_utils.node import processes, supervise
processes._signal = lambda process, number: True
supervise.end_processes = partial(processes.end_processes, grace=0.3)
"""


def test_a_process_that_sigkill_does_not_end_is_named_in_the_record(tmp_path, first):
    first(UNENDED)
    told = answer(supervise(tmp_path, "exec sleep 30", timeout=2))
    assert (told["ending"], told["ended"]) == ("timeout", 1)
    reason = r"not done after 2 s; still alive 0 s after SIGKILL: \d+ \(sleep 30, state S\): in "
    assert re.match(reason, told["reason"])


def test_a_program_that_sigkill_does_not_end_is_left(monkeypatch):
    started = []

    def not_killed(self):
        started.append(self)

    monkeypatch.setattr(subprocess.Popen, "kill", not_killed)
    monkeypatch.setattr(programs, "_END_SECONDS", 0.1)
    with pytest.raises(ValueError, match=r"sleep: no answer within 0.1 s, as you see"):
        programs.run_program(["sleep", "20"], 0.1, ", as you see")
    assert started[0].poll() is None
    assert started[0].stdout.closed and started[0].stderr.closed
    started[0].terminate()
    started[0].wait()


@pytest.mark.parametrize("alone", [False, True])
def test_a_listener_on_all_addresses_of_ipv6_has_the_port_unless_it_says_otherwise(alone):
    try:
        server = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=not alone)
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
    with server:
        port = server.getsockname()[1]
        told = listener("127.0.0.1", port)
        assert told is None if alone else told.startswith(f"process {os.getpid()} (")
        assert is_free("127.0.0.1", port) is alone
    assert is_free("127.0.0.1", port) is True
    # RFC 5737: an address of documentation.
    assert is_free("192.0.2.1", port) is None


@pytest.mark.parametrize(
    ("groups", "unit"),
    [
        ("0::/system.slice/webmin.service\n", "webmin.service"),
        ("1:name=systemd:/system.slice/ssh.service\n0::/\n", "ssh.service"),
        ("0::/user.slice/user-0.slice/session-4.scope\n", ""),
    ],
)
def test_the_unit_of_a_process_is_named(monkeypatch, groups, unit):
    monkeypatch.setattr("builtins.open", lambda path, encoding: io.StringIO(groups))
    assert unit_of(1) == unit


def test_processes_are_read_with_children_and_environment():
    child = subprocess.Popen(["sleep", "90"], env={"A": "b"})
    try:
        wait_until(lambda: environment(read_process(child.pid)) == {"A": "b"})
        assert read_process(child.pid).parent == os.getpid()
        assert child.pid in [process.pid for process in descendants(os.getpid())]
    finally:
        end_processes(lambda: [p for p in descendants(os.getpid()) if p.pid == child.pid])
    assert child.wait(timeout=30) == -signal.SIGTERM


@pytest.mark.parametrize("ignoring", [False, True])
def test_processes_that_take_long_to_find_are_signalled_before_they_are_given_up(ignoring):
    script = "trap '' TERM; echo; read _" if ignoring else "echo; exec sleep 60"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    child = subprocess.Popen(["sh", "-c", script], **pipes)
    child.stdout.readline()

    def found():
        time.sleep(0.3)
        left = [] if child.poll() is not None else [read_process(child.pid)]
        return [process for process in left if process]

    with child:
        try:
            (ended,) = end_processes(found, grace=0.1)
        finally:
            child.kill()
    assert ended.pid == child.pid
    assert child.returncode == -(signal.SIGKILL if ignoring else signal.SIGTERM)


def test_what_is_started_while_nothing_is_found_is_ended_too():
    """By a process that has ended: so does one that goes to the background at its end."""
    started = []

    def find():
        found = [read_process(one.pid) for one in started if one.poll() is None]
        if not started:
            started.append(subprocess.Popen(["sleep", "60"]))
        return found

    assert [one.pid for one in end_processes(find)] == [started[0].pid]


def test_what_ends_while_others_are_found_slowly_is_not_given_up(monkeypatch):
    sent = {}
    monkeypatch.setattr(
        module, "_signal", lambda _, number: sent.setdefault(number, time.monotonic())
    )
    one = read_process(os.getpid())

    def found():
        # It is read first; to free its memory takes longer than the pause between two rounds.
        ended = time.monotonic() - sent.get(signal.SIGKILL, math.inf) > 0.15
        time.sleep(0.3)
        return [] if ended else [one]

    assert end_processes(found, grace=0.1) == [one]
    assert [*sent] == [signal.SIGTERM, signal.SIGKILL]


# In state D until the process that it forked starts a program or ends.
HANGS = """
import ctypes, os, signal
if ctypes.CDLL(None).vfork():
    os._exit(0)
signal.pause()
"""


@pytest.mark.parametrize("locked", [False, True])
def test_memory_that_is_locked_in_the_kernel_is_waited_for_shortly(tmp_path, monkeypatch, locked):
    hangs = subprocess.Popen([sys.executable, "-c", HANGS, "word"], env={"A": "b"})
    try:
        wait_until(lambda: read_process(hangs.pid).state == "D")
        (forked,) = descendants(hangs.pid)
        if locked:
            cat = tmp_path / "cat"
            cat.write_text(f"#!/bin/sh\necho >> {tmp_path}/asked\nexec sleep 60\n")
            cat.chmod(0o755)
            monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        process = read_process(hangs.pid)
        found = (process.command.split()[-1], environment(process))
    finally:
        hangs.kill()
        hangs.wait()
    os.kill(forked.pid, signal.SIGKILL)
    name = os.path.basename(sys.executable)
    assert found == ((f"[{name}]", {}) if locked else ("word", {"A": "b"}))
    # Once is enough to know.
    assert not locked or (tmp_path / "asked").read_text() == "\n"


def test_an_interpreter_of_another_machine_is_passed_over(tmp_path, monkeypatch):
    """As in a home that nodes with and without Arm share."""
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    for machine, text in {"aarch64": "#!/bin/sh\necho 9.9\n", "x86_64": "\x7fELF"}.items():
        python = tmp_path / f"cpython-9.9.1-linux-{machine}/bin/python9.9"
        python.parent.mkdir(parents=True)
        python.write_text(text)
        python.chmod(0o755)
    found, unusable = find(["9.9"])
    assert found == ("9.9", str(tmp_path / "cpython-9.9.1-linux-aarch64/bin/python9.9"))
    assert unusable[-1].endswith("x86_64/bin/python9.9: Exec format error")


def test_an_interpreter_or_the_reasons_against_each_candidate():
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    found, _ = find(["9.9", version])
    assert found is not None and found[0] == version
    missing, looked_at = find(["9.9"])
    assert missing is None
    assert looked_at[0] == "python9.9 on the PATH: not there"
