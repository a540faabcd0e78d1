#!/usr/bin/env python3
"""Run the ranks that mpirun starts on this node by ssh as children of this process.

Scalebench starts it on each node of a job, on the leading node with mpirun's command after ``--``:
  host_ranks.py --job 10.11.0.2:29500 --node node2
It ends with the exit status of mpirun, on other nodes of Open MPI's daemon there. Standard library
only; runs on Python 3.5, which the oldest images need.
"""

import argparse
import contextlib
import json
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import meeting

GRACE = 5  # seconds between SIGTERM and SIGKILL
SIGNALLED = 128  # plus the signal's number: a shell's status for a process that a signal ended
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class EndedError(Exception):
    """This process received a signal to end."""


def main():
    """Serve until the ranks are done; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--job", required=True, help="identifies the job among those that run now")
    parser.add_argument("--node", required=True, help="this node's name in the inventory")
    parser.add_argument("--ssh-config", help="configuration by which ssh reaches other nodes")
    parser.add_argument("--peers", help="JSON by address: node, and the command of join_ranks.py")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for the ranks")
    parser.add_argument("launcher", nargs="*", help="mpirun's command, on the leading node")
    options = parser.parse_args()
    for number in SIGNALS:
        signal.signal(number, end)
    if options.launcher and not shutil.which("ssh"):
        print("launch error: ssh, which starts ranks, is not in PATH:", os.environ["PATH"])
        return 1
    try:
        listener = meeting.listen(options.job, options.node)
    except OSError as error:
        print("launch error: another process waits for the ranks of", options.job, "here:", error)
        return 1
    # Open MPI's daemons on one machine would remove each other's files, and some would crash.
    temporary = tempfile.mkdtemp(prefix="scalebench-")
    children = Children(temporary)
    ssh = write_ssh_wrapper() if options.launcher else None
    try:
        if options.launcher:
            environment = launcher_environment(options, ssh)
            children.start("mpirun", options.launcher, environment)
        return serve(listener, children, options)
    except EndedError:
        return 1
    finally:
        children.end()
        shutil.rmtree(temporary, ignore_errors=True)
        if ssh:
            os.remove(ssh)


def end(_number, _frame):
    """Raise the exception that ends the children, once."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise EndedError


def write_ssh_wrapper():
    """Write a program ``ssh`` that runs ``reach_node.py`` into the repeat's working folder.

    It comes first in PATH for every layer of the launcher, and ignores the launcher's options: the
    ssh configuration decides how a node is reached.

    :returns: its path.
    """
    path = os.path.join(os.getcwd(), "ssh")
    here = os.path.dirname(os.path.abspath(__file__))
    words = [sys.executable, os.path.join(here, "reach_node.py")]
    with open(path, "w") as file:
        file.write('#!/bin/sh\nexec {} "$@"\n'.format(" ".join(map(shlex.quote, words))))
    os.chmod(path, 0o700)
    return path


def launcher_environment(options, ssh):
    """Return the environment of the launcher, which ``reach_node.py`` below it reads.

    The folder of this interpreter is in PATH for a launcher that is part of the framework.
    """
    folders = [os.path.dirname(ssh), os.path.dirname(sys.executable)]
    return {
        "PATH": os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)]),
        "SCALEBENCH_SSH": shutil.which("ssh"),
        "SCALEBENCH_JOB": options.job,
        "SCALEBENCH_SSH_CONFIG": options.ssh_config,
        "SCALEBENCH_PEERS": options.peers,
        "SCALEBENCH_PATIENCE": str(options.patience),
    }


def serve(listener, children, options):
    """Accept one daemon, and wait until mpirun, or on other nodes the daemon, has ended.

    :returns: its exit status.
    """
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    leads = bool(options.launcher)
    limit = time.monotonic() + options.patience
    joined, reported = None, False
    while True:
        for key, _ in selector.select(0.1):
            if key.fileobj is listener:
                joined = accept(listener, children, selector)
            elif not joined.recv(1):
                selector.unregister(joined)
                children.terminate("orted")
        ended = children.ended()
        if "orted" in ended and not reported:
            reported = True
            with contextlib.suppress(OSError):  # ssh may be gone
                joined.sendall(b"%d\n" % abs(ended["orted"]))
        wanted = "mpirun" if leads else "orted"
        if wanted in ended:
            # After success the daemon here ends by itself when mpirun has ended.
            children.wait(GRACE if ended[wanted] == 0 else 0)
            return shell_status(wanted, ended[wanted])
        if not leads and joined is None and time.monotonic() > limit:
            leading = options.job.rpartition(":")[0]
            print(
                "launch error: {}: Open MPI's daemon did not start within {:g} s: can {}, the"
                " leading node, log in here by ssh?".format(options.node, options.patience, leading)
            )
            return 1


def shell_status(name, status):
    """Return the status as a shell would; print a signal, which leaves no other trace."""
    if name == "orted" and status > SIGNALLED:
        status = SIGNALLED - status  # the status of the shell above it
    if status < 0:
        print("launch error:", name, "was ended by signal", -status)
    return status if status >= 0 else SIGNALLED - status


def accept(listener, children, selector):
    """Start the command that ``join_ranks.py`` of this user sends; return the connection to it."""
    connection, _ = listener.accept()
    if meeting.other_user(connection) != os.getuid():
        connection.close()
        return None
    selector.unregister(listener)  # a job has one daemon per node
    request = json.loads(meeting.read_line(connection))
    children.start("orted", ["/bin/sh", "-c", request["command"]], request["environment"])
    selector.register(connection, selectors.EVENT_READ)
    return connection


class Children:
    """The processes started here, by name, with a folder for their temporary files."""

    def __init__(self, temporary):
        self.temporary = temporary
        self.running = {}

    def start(self, name, command, environment):
        """Start a process."""
        self.running[name] = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **environment, "TMPDIR": self.temporary},
            # A shell and the daemon below it are signalled together.
            start_new_session=True,
        )

    def ended(self):
        """Return the exit status of each that has ended, negative for a signal."""
        statuses = {name: child.poll() for name, child in self.running.items()}
        return {name: status for name, status in statuses.items() if status is not None}

    def terminate(self, name):
        """Send SIGTERM to a process and its session, if it runs."""
        if name in self.running and self.running[name].poll() is None:
            os.killpg(self.running[name].pid, signal.SIGTERM)

    def end(self):
        """End all, by SIGKILL after a while; mpirun first, which ends the ranks on other nodes."""
        for name in ("mpirun", "orted"):
            self.terminate(name)
        self.wait(GRACE)
        for child in self.running.values():
            child.kill()
            child.wait()

    def wait(self, seconds):
        """Wait at most so many seconds until all have ended."""
        until = time.monotonic() + seconds
        for child in self.running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0, until - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main())
