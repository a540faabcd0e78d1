"""The socket through which ``join_ranks.py``, started by ssh, finds ``host_ranks.py`` on a node.

Standard library only; runs on Python 3.5, which the oldest images need.
"""

import hashlib
import os
import socket
import struct
import time


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


def read_line(connection):
    """Return what the other end sends, up to the end of a line or of the connection."""
    received = b""
    while not received.endswith(b"\n"):
        piece = connection.recv(65536)
        if not piece:
            break
        received += piece
    return received.decode()
