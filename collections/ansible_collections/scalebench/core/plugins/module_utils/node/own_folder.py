"""A node's own folder: nodes that share one would overwrite each other's keys, locks and claims."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import socket
import stat
from typing import Any

from ..layout.plain_text import plain
from ..records.shape import parse_json
from .durable import create, make_folder, sync

__all__ = ["json_of", "keep_own"]

_MARK = "node.json"
_LARGEST = 1 << 20


def json_of(path: str) -> Any:
    """Return the value of a small file of the folder, into which others may put anything.

    :raises ValueError: it is no regular file or not JSON.
    :raises OSError: it cannot be read.
    """
    return parse_json(_content(path).decode("utf-8"))


def _content(path: str) -> bytes:
    # A pipe is opened without waiting for its other end.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("no regular file")
        return file.read(_LARGEST)


def keep_own(folder: str, only_verify: bool = False) -> bool:
    """Mark a folder as this machine's; return whether it was not.

    A machine is known by its host name: copies of one image have the same machine-id.

    :raises ValueError: it is another machine's, as on a file server.
    """
    mark, own = os.path.join(folder, _MARK), socket.gethostname()
    part = f"{mark}.{own}.{os.getpid()}"
    is_new = _is_missing(mark)
    if not only_verify:
        _remove_leftovers(f"{mark}.{own}.")
    if is_new and not only_verify:
        make_folder(folder)
        try:
            _remove_empty(mark, part)
            with open(create(part), "w", encoding="utf-8") as file:
                json.dump({"hostname": own}, file)
            sync(part)
            # Of two machines at the same moment only one succeeds, also on NFS.
            os.link(part, mark)
        except FileExistsError:
            is_new = False
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.remove(part)
        sync(folder)
    if not is_new:
        _refuse_another(mark, own)
    return is_new


def _is_missing(mark: str) -> bool:
    """Return whether there is no mark, or what a power failure leaves of one: nothing, or zeros."""
    try:
        return not _content(mark).strip(b"\0")
    except (FileNotFoundError, NotADirectoryError):
        return True
    except ValueError:
        return False


def _remove_empty(mark: str, part: str) -> None:
    """Move a mark without content to ``part``, but none that another machine writes meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        if os.path.exists(mark) and _is_missing(mark):
            os.rename(mark, part)
            if not _is_missing(part):
                os.link(part, mark)


def _remove_leftovers(prefix: str) -> None:
    """Remove the marks that killed processes of this machine did not complete."""
    for left in glob.glob(glob.escape(prefix) + "*"):
        pid = left[len(prefix) :]
        if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            with contextlib.suppress(OSError):
                os.remove(left)


def _refuse_another(mark: str, own: str) -> None:
    try:
        other = json_of(mark)
    except ValueError:
        other = {}
    name = other.get("hostname", "unknown") if isinstance(other, dict) else "unknown"
    name = plain(str(name))
    if name != own:
        raise ValueError(
            f"the folder is of machine {name}, and this is {own}: give each node its own, as"
            " scalebench_work_dir: .../{{ inventory_hostname }}, if it is on a file server; else,"
            f" as after {name} was renamed, remove {mark}"
        )
