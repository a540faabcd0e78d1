"""Files that are on the disk before they count, also after a power failure."""

from __future__ import annotations

import contextlib
import errno
import os

__all__ = ["create", "make_folder", "replace", "sync"]

# A file system that cannot, or a file or folder that may be written and not read.
_CANNOT = (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM)


def create(part: str, mode: int = 0o666) -> int:
    """Return the descriptor of a new file in the place of an old one, never through a link.

    It can be read too.

    :param mode: its permissions, less the umask.
    :raises OSError: it cannot be made.
    """
    with contextlib.suppress(FileNotFoundError):
        os.remove(part)
    return os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)


def make_folder(path: str | os.PathLike[str], mode: int = 0o777) -> None:
    """Create a folder with its parents, each durably, where it is not there.

    :param mode: the folder's own permissions, less the umask.
    :raises OSError: it cannot be made, or something else has its name.
    """
    if os.path.isdir(path):
        return
    parent = os.path.dirname(os.path.abspath(path))
    make_folder(parent)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    sync(parent)


def replace(part: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Put a written file, or a link, in the place of another, at once and durably.

    :raises OSError: it cannot be written or renamed.
    """
    if not os.path.islink(part):
        sync(part)
    os.replace(part, path)
    sync(os.path.dirname(path) or ".")


def sync(path: str | os.PathLike[str]) -> None:
    """Wait until a file's content, or a folder's entries, are on the disk, where that can be.

    Without it a power failure may leave a renamed file empty (ext4, XFS).

    :raises OSError: the disk is full or broken.
    """
    try:
        opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
