#!/usr/bin/env python3
"""Run the ranks that mpirun starts here by ssh, or srun itself, as children of this process.

Scalebench starts it on each node of a job, on the leading one with the command of mpirun or srun
after ``--``:
  host_ranks.py --job 10.11.0.2:29500 --node node2
It ends with the exit status of that command, on other nodes of Open MPI's daemon there, or of the
first rank that failed. Standard library only; runs on Python 3.5, which the oldest images need.
"""

import argparse
import collections
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


class RefusedError(Exception):
    """The daemon is refused."""


def main():
    """Serve until the ranks are done; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--job", required=True, help="identifies the job among those that run now")
    parser.add_argument("--node", required=True, help="this node's name in the inventory")
    parser.add_argument("--ssh-config", help="configuration by which ssh reaches other nodes")
    parser.add_argument("--peers", help="JSON: nodes by address, by their join_ranks.py")
    parser.add_argument("--ranks", type=int, default=0, help="how many srun starts on this node")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for the ranks")
    parser.add_argument("launcher", nargs="*", help="its command, on the leading node")
    options = parser.parse_args()
    starter = options.launcher[0] if options.ranks and options.launcher else "ssh"
    if options.launcher and not shutil.which(starter):
        text = "launch error: {}, which starts ranks, is not in PATH: {}"
        print(text.format(starter, os.environ["PATH"]))
        return 1
    try:
        listener = meeting.listen(options.job, options.node)
    except OSError as error:
        print("launch error: another process waits for the ranks of", options.job, "here:", error)
        return 1
    signals = []
    # An exception would leave a process that was just started, or is to be killed, running.
    for number in SIGNALS:
        signal.signal(number, lambda received, _: signals.append(received))
    # Open MPI's daemons on one machine would remove each other's files, and some would crash.
    # A short name, as names of sockets below it have 107 bytes.
    temporary = tempfile.mkdtemp(prefix="mpi-")
    children = Children(temporary)
    ssh = write_ssh_wrapper() if options.launcher and not options.ranks else None
    try:
        if options.launcher:
            environment = launcher_environment(options, ssh) if ssh else srun_environment()
            children.start(launcher_name(options), options.launcher, environment)
        return serve(listener, children, options, signals)
    except RefusedError:
        return 1
    finally:
        children.end()
        shutil.rmtree(temporary, ignore_errors=True)
        if ssh:
            os.remove(ssh)


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


def srun_environment():
    """Return the environment of srun: the job that it makes a step of."""
    return {"SLURM_JOB_ID": os.environ.get("SCALEBENCH_SLURM_JOB", "")}


def serve(listener, children, options, signals):
    """Accept one daemon or the ranks; wait until the launcher, on other nodes these, have ended.

    :param signals: receives the signals to end.
    :returns: the exit status.
    """
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    lead = launcher_name(options) if options.launcher else None
    expected = options.ranks or 1
    limit = time.monotonic() + options.patience
    joined, told = {}, set()
    while not signals:
        for key, _ in selector.select(0.1):
            if key.fileobj is listener:
                joined.update(accept(listener, children, selector, options))
                if len(joined) == expected:
                    selector.unregister(listener)
            elif has_gone(key.fileobj):
                selector.unregister(key.fileobj)
                children.terminate(joined[key.fileobj])
        ended = children.ended()
        for connection, name in joined.items():
            if name in ended and name not in told:
                told.add(name)
                with contextlib.suppress(OSError):  # ssh or srun may be gone
                    connection.sendall(b"%d\n" % ended[name])
        wanted = lead or decisive(joined.values(), ended, expected)
        if wanted in ended:
            # After success the daemon here ends by itself when mpirun has ended.
            children.wait(GRACE if ended[wanted] == 0 else 0)
            return shell_status(wanted, ended[wanted])
        if not lead and len(joined) < expected and time.monotonic() > limit:
            print(absence(options))
            return 1
    return 1


def has_gone(connection):
    """Return whether ``join_ranks.py`` has ended, which sends nothing more."""
    try:
        return not connection.recv(1)
    except ConnectionResetError:  # with what it was told unread
        return True


def launcher_name(options):
    """Return what starts the ranks."""
    return "srun" if options.ranks else "mpirun"


def decisive(names, ended, expected):
    """Return the child whose exit status counts: the first that failed, or one of all that ended.

    None while there is none.
    """
    ours = [name for name in names if name in ended]
    failed = [name for name in ours if ended[name]]
    return next(iter(failed or ours), None) if failed or len(ours) == expected else None


def absence(options):
    """Return what to say where nothing came to this node."""
    text = (
        "launch error: {0}: srun on {1}, the leading node, did not start {2} ranks here in {3:g} s"
        if options.ranks
        else "launch error: {0}: Open MPI's daemon did not start within {3:g} s: can {1}, the"
        " leading node, log in here by ssh?"
    )
    leading = options.job.rpartition(":")[0]
    return text.format(options.node, leading, options.ranks, options.patience)


def shell_status(name, status):
    """Return the status as a shell would; print a signal, which leaves no other trace."""
    if meeting.DAEMON.fullmatch(name) and status > SIGNALLED:
        status = SIGNALLED - status  # the status of the shell above it
    if status < 0:
        print("launch error:", name, "was ended by signal", -status)
    return status if status >= 0 else SIGNALLED - status


def refuse_between_local_nodes(name, options):
    """End where ranks would wait for each other: Open MPI 5 tells nodes by their host names.

    :raises RefusedError: several nodes have this machine's name.
    """
    peers = json.loads(options.peers) if options.peers else []
    several = sum(len(group["nodes"]) for group in peers) != 1
    if name == "prted" and several and options.job.startswith("127."):
        text = "launch error: {}: Open MPI 5 (mpirun --version) does not connect ranks between"
        print(text.format(options.node), "nodes of one machine: use version 4, or one node")
        raise RefusedError


def accept(listener, children, selector, options):
    """Start the command that ``join_ranks.py`` of this user sends.

    :returns: its name by the connection; nothing for another user's.
    """
    connection, _ = listener.accept()
    if meeting.other_user(connection) != os.getuid():
        connection.close()
        return {}
    line, files = meeting.read_line_and_files(connection)
    request = json.loads(line)
    environment, command = request["environment"], request["command"]
    if options.ranks:
        name = "rank {}".format(environment["OMPI_COMM_WORLD_RANK"])
        environment["OMPI_COMM_WORLD_LOCAL_SIZE"] = str(options.ranks)
    else:
        name = meeting.DAEMON.search(command).group()
        refuse_between_local_nodes(name, options)
    children.start(name, ["/bin/sh", "-c", command], environment, files)
    selector.register(connection, selectors.EVENT_READ)
    return {connection: name}


class Children:
    """The processes started here, by name, with a folder for their temporary files."""

    def __init__(self, temporary):
        self.temporary = temporary
        self.running = collections.OrderedDict()

    def start(self, name, command, environment, files=()):
        """Start a process.

        :param files: descriptors of its output and errors, and of PMI2's connection; closed here.
        """
        output, errors, *talk = files or (None, None)
        if talk:
            environment = {**environment, "PMI_FD": str(talk[0])}
        self.running[name] = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            pass_fds=talk,
            env={**os.environ, **environment, "TMPDIR": self.temporary},
            # A shell and the daemon below it are signalled together.
            start_new_session=True,
        )
        for descriptor in files:
            os.close(descriptor)

    def ended(self):
        """Return the exit status of each that has ended, negative for a signal."""
        statuses = {name: child.poll() for name, child in self.running.items()}
        return {name: status for name, status in statuses.items() if status is not None}

    def terminate(self, name):
        """Send SIGTERM to a process and its session, if it runs."""
        if name in self.running and self.running[name].poll() is None:
            os.killpg(self.running[name].pid, signal.SIGTERM)

    def end(self):
        """End all, by SIGKILL after a while; the launcher first, which ends the other nodes'."""
        # The launcher was started first.
        for name in self.running:
            self.terminate(name)
        self.wait(GRACE)
        for child in self.running.values():
            child.kill()
        self.wait(GRACE)  # One that hangs in the kernel goes on.

    def wait(self, seconds):
        """Wait at most so many seconds until all have ended."""
        until = time.monotonic() + seconds
        for child in self.running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0, until - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main())
