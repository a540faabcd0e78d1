"""Accounts of this node: root works on a user's files with no more rights than that user."""

from __future__ import annotations

import contextlib
import os
import pwd
from typing import Iterator, Optional

__all__ = ["acting_as", "own_name", "uid_of"]


def own_name() -> Optional[str]:
    """Return the name of the account that runs this process; None without one, as in containers."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return None


def uid_of(user: str) -> int:
    """Return the number of an account.

    :raises ValueError: the node has no such account.
    """
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise ValueError(f"this node has no account {user!r}: create it, or name another") from None


@contextlib.contextmanager
def acting_as(user: str) -> Iterator[None]:
    """Open and create files as ``user``: what root does in a user's folder, links can redirect.

    Only effective ids change (credentials(7)); the process is the user's already, or root's.

    :raises ValueError: there is no such account, or this process is another user's.
    """
    if uid_of(user) == os.geteuid():
        yield
        return
    if os.geteuid() != 0:
        raise ValueError(f"only root can act as {user!r}, and this is user {os.geteuid()}")
    account, groups = pwd.getpwnam(user), os.getgroups()
    group = os.getegid()
    try:
        os.initgroups(user, account.pw_gid)
        os.setegid(account.pw_gid)
        os.seteuid(account.pw_uid)
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)
