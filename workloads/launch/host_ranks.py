#!/usr/bin/env python3
"""Take in the ranks that mpirun starts on this node by ssh, as children; on one node run mpirun.

Started by Scalebench on each node of a job, with mpirun's command after ``--`` on the leading one:
  host_ranks.py --job 10.11.0.2:29500 --node node2
Ends when Open MPI's daemon on this node, or mpirun, has ended, with its exit status. Standard
library only and runs on Python 3.5, as the oldest images need.
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

GRACE = 5  # seconds between asking a process to end and ending it
SIGNALLED = 128  # a shell's status for a process that a signal ended, plus the signal's number
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class EndedError(Exception):
    """Somebody asked this process to end."""


def main():
    """Serve until the ranks are done; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--job", required=True, help="what tells the job from others at this time")
    parser.add_argument("--node", required=True, help="this node's name in the inventory")
    parser.add_argument("--ssh-config", help="how the leading node's ssh reaches the others")
    parser.add_argument("--peers", help="by address, as JSON: node, and the words of join_ranks.py")
    parser.add_argument("--patience", type=float, default=60, help="seconds until ranks must come")
    parser.add_argument("launcher", nargs="*", help="mpirun's command, on the leading node")
    options = parser.parse_args()
    for number in SIGNALS:
        signal.signal(number, end)
    if options.launcher and not shutil.which("ssh"):
        print("launch error: there is no ssh here to start ranks with: PATH is", os.environ["PATH"])
        return 1
    try:
        listener = meeting.listen(options.job, options.node)
    except OSError as error:
        print("launch error: another job waits here for the ranks of", options.job, error)
        return 1
    # Open MPI's daemons on one machine would share and remove each other's files: some crash then.
    temporary = tempfile.mkdtemp(prefix="scalebench-")
    children = Children(temporary)
    ssh = stand_in_for_ssh() if options.launcher else None
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
    """Leave by the way that ends the children, once."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise EndedError


def stand_in_for_ssh():
    """Write a program ``ssh`` that is ``reach_node.py`` into this folder, the repeat's own.

    The launcher finds it first in PATH, whichever of its layers dials, and whatever options it
    gives: how a node is reached is the ssh configuration's to say.

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
    """Return what the launcher, and ``reach_node.py`` below it, find in their environment.

    A launcher of the framework lies beside this interpreter.
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
    """Take in one daemon, and wait until mpirun, or else the daemon, has ended.

    :returns: its exit status.
    """
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    leads = bool(options.launcher)
    limit = time.monotonic() + options.patience
    joined, told = None, False
    while True:
        for key, _ in selector.select(0.1):
            if key.fileobj is listener:
                joined = accept(listener, children, selector)
            elif not joined.recv(1):
                selector.unregister(joined)
                children.ask("orted")
        ended = children.ended()
        if "orted" in ended and not told:
            told = True
            with contextlib.suppress(OSError):  # ssh may be gone
                joined.sendall(b"%d\n" % abs(ended["orted"]))
        wanted = "mpirun" if leads else "orted"
        if wanted in ended:
            # Where all went well, the daemon here ends by itself when mpirun has.
            children.wait(GRACE if ended[wanted] == 0 else 0)
            return said(wanted, ended[wanted])
        if not leads and joined is None and time.monotonic() > limit:
            leading = options.job.rpartition(":")[0]
            print(
                "launch error: {}: no daemon of Open MPI came within {:g} s: can {}, the leading"
                " node, log in here by ssh?".format(options.node, options.patience, leading)
            )
            return 1


def said(name, status):
    """Return the status as a shell's; say what would leave no other trace."""
    if name == "orted" and status > SIGNALLED:
        status = SIGNALLED - status  # the shell above it says so
    if status < 0:
        print("launch error:", name, "was ended by signal", -status)
    return status if status >= 0 else SIGNALLED - status


def accept(listener, children, selector):
    """Start what a ``join_ranks.py`` of this user brings; return the connection to it."""
    connection, _ = listener.accept()
    if meeting.other_user(connection) != os.getuid():
        connection.close()
        return None
    selector.unregister(listener)  # one daemon of a job runs on a node
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
        """Start one."""
        self.running[name] = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **environment, "TMPDIR": self.temporary},
            # A shell, and the daemon below it, are signalled as one.
            start_new_session=True,
        )

    def ended(self):
        """Return the exit status of each that has ended, negative for a signal."""
        found = {name: child.poll() for name, child in self.running.items()}
        return {name: status for name, status in found.items() if status is not None}

    def ask(self, name):
        """Ask one to end, if it runs."""
        if name in self.running and self.running[name].poll() is None:
            os.killpg(self.running[name].pid, signal.SIGTERM)

    def end(self):
        """Ask all to end, mpirun first as it ends the ranks elsewhere, and insist after a while."""
        for name in ("mpirun", "orted"):
            self.ask(name)
        self.wait(GRACE)
        for child in self.running.values():
            child.kill()
            child.wait()

    def wait(self, seconds):
        """Wait until all have ended, at most so long."""
        until = time.monotonic() + seconds
        for child in self.running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0, until - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main())
