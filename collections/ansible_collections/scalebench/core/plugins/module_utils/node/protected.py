"""Folders below which root may unpack and run programs: no other user can change their content."""

from __future__ import annotations

import contextlib
import os
import pwd
import stat

from .account import acting_as

__all__ = ["make_protected", "who_could_change"]

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def who_could_change(path: str, is_above: bool = False, owner: int = 0) -> str:
    """Return why another user could change or replace ``path``; empty if none can.

    As OpenSSH's StrictModes (``safe_path`` in its misc.c), from the root down. In a folder with the
    sticky bit, as /var/tmp, others cannot rename or remove what is not theirs (inode(7)): there it
    matters whose the next name is. Links count by their owner, and by the path that they name; not
    even ``owner`` may have made one or be able to replace it, which would lead root anywhere.

    :param path: absolute; what of it does not exist is nobody's yet.
    :param is_above: whether what counts lies below ``path``, which may have the sticky bit then.
    :param owner: number of a user who may, beside root and this one.
    :raises OSError: a path that cannot be followed, such as a loop of links.
    """
    own, place = {0, os.geteuid()}, "/"
    is_below_owner = False
    names = [name for name in path.split("/") if name]
    for number, name in enumerate(["", *names]):
        above_more = is_above or number < len(names)
        above, place = place, os.path.join(place, name)
        if not os.path.lexists(place):
            return ""
        state = os.lstat(place)
        if state.st_uid not in {*own, owner}:
            return f"{place} belongs to user {state.st_uid}"
        if stat.S_ISLNK(state.st_mode):
            with contextlib.suppress(FileNotFoundError):
                os.stat(place)  # A loop of links ends here.
            reason = f"user {owner} can replace it"
            if not is_below_owner and state.st_uid in own:
                target = os.path.join(above, os.readlink(place))
                reason = who_could_change(target, above_more, owner)
            if reason:
                return f"{place} is a link, and {reason}"
            if not os.path.exists(place):
                return ""
            state = os.stat(place)
        if state.st_mode & _OTHERS and not (above_more and state.st_mode & stat.S_ISVTX):
            return f"others can write to {place} (mode {stat.S_IMODE(state.st_mode):04o})"
        is_below_owner = is_below_owner or state.st_uid not in own
    return ""


def make_protected(path: str, only_verify: bool = False, owner: int = 0) -> None:
    """Create the folder, with those above it, and verify that nobody else can change it.

    :param owner: number of the user who gets the folder, not those above it, if root creates it.

    :raises ValueError: another user could.
    :raises OSError: it cannot be created.
    """
    # First: below a foreign folder it would be created in a foreign place.
    for create in (not only_verify, False):
        reason = who_could_change(path, owner=owner)
        if reason:
            raise ValueError(
                f"{reason}, who could change what is run there. Remove it, or choose a folder that"
                " only this user can change"
            )
        if create:
            _make(path, owner)


def _make(path: str, owner: int) -> None:
    """Create the folder; below one of ``owner`` as this user, whose links could lead root away."""
    previous = os.umask(0o022)
    try:
        if os.path.lexists(path) or owner == os.geteuid() or os.geteuid() != 0:
            os.makedirs(path, exist_ok=True)
        elif _is_below(path, owner):
            with acting_as(pwd.getpwuid(owner).pw_name):
                os.makedirs(path, exist_ok=True)
        else:
            os.makedirs(path)
            os.chown(path, owner, -1, follow_symlinks=False)
    finally:
        os.umask(previous)


def _is_below(path: str, owner: int) -> bool:
    """Return whether ``owner`` owns a folder above ``path``."""
    while path != "/":
        path = os.path.dirname(path)
        if os.path.lexists(path) and os.stat(path).st_uid == owner:
            return True
    return False
