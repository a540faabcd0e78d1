"""The socket through which ``join_ranks.py``, started by ssh or srun, finds ``host_ranks.py``.

Standard library only; runs on Python 3.5, which the oldest images need.
"""

import array
import hashlib
import os
import re
import socket
import struct
import time

MOST_FILES = 3
DAEMON = re.compile(r"\b[op]rted\b")  # of Open MPI to version 4, and since 5


def name_of(job, node):
    """Return the socket's abstract name (unix(7)), which needs no file and ends with its owner.

    It differs between nodes on one machine. A digest, because a name is limited to 107 bytes.
    """
    identity = "{} {} {}".format(os.getuid(), job, node)
    return "\0scalebench-" + hashlib.sha256(identity.encode()).hexdigest()


def listen(job, node):
    """Return a socket that listens.

    :raises OSError: if another process listens already.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(name_of(job, node))
    listener.listen()
    return listener


def connect(job, node, patience):
    """Connect to the process that listens for the job on this node.

    :param patience: seconds to wait for it.
    :raises OSError: if no process of this user listens by then.
    """
    limit = time.monotonic() + patience
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(name_of(job, node))
        except ConnectionRefusedError:
            connection.close()
            if time.monotonic() > limit:
                raise
            time.sleep(0.1)
            continue
        if other_user(connection) != os.getuid():
            raise PermissionError("the process that listens belongs to another user")
        return connection


def other_user(connection):
    """Return the user id of the process at the other end, as the kernel knows it (SO_PEERCRED)."""
    size = struct.calcsize("3i")
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return struct.unpack("3i", packed)[1]


def send_line(connection, line, files):
    """Send a line, and with it open files by their descriptors (unix(7), SCM_RIGHTS)."""
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))
    sent = connection.sendmsg([line], [rights] if files else [])
    if sent < len(line):  # else the other end may have gone already
        connection.sendall(line[sent:])


def read_line_and_files(connection):
    """Return a line as ``read_line`` does, and the descriptors of the files that came with it."""
    files = array.array("i")
    first, ancillary, _, _ = connection.recvmsg(65536, socket.CMSG_LEN(MOST_FILES * files.itemsize))
    for _, _, data in ancillary:
        files.frombytes(data[: len(data) - len(data) % files.itemsize])
    return read_line(connection, first), list(files)


def read_line(connection, received=b""):
    """Return what the other end sends, up to the end of a line or of the connection.

    :param received: what of it was read already.
    """
    while not received.endswith(b"\n"):
        piece = connection.recv(65536)
        if not piece:
            break
        received += piece
    return received.decode()
