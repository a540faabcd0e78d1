"""The socket by which what ssh starts on a node finds the job's program there.

Standard library only and runs on Python 3.5, as the oldest images need.
"""

import hashlib
import os
import socket
import struct
import time


def name_of(job, node):
    """Return the socket's abstract name (unix(7)): nothing in the file system, gone with its owner.

    Nodes that are one machine have one of each. A digest, since a name has room for 107 bytes.
    """
    told = "{} {} {}".format(os.getuid(), job, node)
    return "\0scalebench-" + hashlib.sha256(told.encode()).hexdigest()


def listen(job, node):
    """Wait for connections.

    :raises OSError: somebody does already.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(name_of(job, node))
    listener.listen()
    return listener


def connect(job, node, patience):
    """Connect to who waits for the job on this node.

    :param patience: seconds to wait for it to come.
    :raises OSError: nobody of this user came.
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
            raise PermissionError("somebody else waits there")
        return connection


def other_user(connection):
    """Return the user id of the process at the other end, as the kernel knows it (SO_PEERCRED)."""
    size = struct.calcsize("3i")
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return struct.unpack("3i", packed)[1]


def read_line(connection):
    """Return what the other end sends up to the end of a line, or up to its end."""
    received = b""
    while not received.endswith(b"\n"):
        piece = connection.recv(65536)
        if not piece:
            break
        received += piece
    return received.decode()
