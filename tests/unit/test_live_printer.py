"""The live line and Ansible's forks: neither may wait for the other."""

import io
import subprocess
import sys
import threading
import time

from ansible_collections.scalebench.core.plugins.plugin_utils import live

# As Ansible does: one lock around every fork and every write to standard output.
PROGRAM = """
import os
import threading
from ansible.utils.display import Display
from ansible_collections.scalebench.core.plugins.plugin_utils import live

live.REFRESH, live.REMINDER = 0.0005, 0.0
display = Display()
printer = live.LivePrinter(lambda: "status", display._lock)
printer.start()
for _ in range(300):
    with display._lock:
        child = os.fork()
        if not child:
            os._exit(0)
    os.waitpid(child, 0)
printer.stop()
print("end")
"""


def test_a_line_is_printed_also_without_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "0")
    monkeypatch.setattr(sys, "stdout", output := io.StringIO())
    live.LivePrinter(lambda: "status", threading.RLock()).print("a line")
    assert output.getvalue() == "a line\n"


def test_nothing_is_drawn_after_stop_by_a_thread_that_waited_for_the_lock(monkeypatch):
    monkeypatch.setattr(live, "REFRESH", 0.001)
    monkeypatch.setattr(live, "REMINDER", 0.0)
    monkeypatch.setattr(sys, "stdout", output := io.StringIO())
    lock = threading.RLock()
    printer = live.LivePrinter(lambda: "status", lock)
    with lock:
        printer.start()
        time.sleep(0.05)
        printer.stop()
    time.sleep(0.05)
    assert output.getvalue() == ""


def test_a_file_gets_no_status_line_to_redraw_whatever_the_environment_says(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(live, "REFRESH", 0.001)
    monkeypatch.setattr(live, "REMINDER", 0.0)
    monkeypatch.setattr(sys, "stdout", output := io.StringIO())
    printer = live.LivePrinter(lambda: "status", threading.RLock())
    printer.start()
    end = time.monotonic() + 60
    while "status" not in output.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    printer.stop()
    assert "status" in output.getvalue() and "\x1b[2K" not in output.getvalue()


def test_a_fork_and_the_line_that_is_drawn_do_not_wait_for_each_other():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": "collections", "PATH": "", "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "end" and "status" in lines
