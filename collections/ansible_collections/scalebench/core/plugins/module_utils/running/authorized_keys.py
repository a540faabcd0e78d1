"""An authorized_keys file: renew the keys of some nodes, keep or drop those of the others."""

from __future__ import annotations

from typing import Collection, List, Mapping

__all__ = ["authorized_keys_lines"]


def authorized_keys_lines(
    existing: str, keys: Mapping[str, Collection[str]], members: Collection[str]
) -> List[str]:
    """Return the file's lines, sorted.

    A run that is limited to some nodes knows the keys of those alone; the others' stay as long as
    they are members. Whoever has left the cluster loses access with the next run.

    :param existing: the file as it is, its comments the keys' owners; empty where there is none.
    :param keys: public keys (type and base64, a comment may follow) by owner: all that it has.
    :param members: everyone who may have a key.
    """
    lines = set()
    for line in existing.splitlines():
        owner = line.strip().rpartition(" ")[2]
        if not line.startswith("#") and owner in members and not any(keys.get(owner, ())):
            lines.add(line.strip())
    for owner in members:
        for key in keys.get(owner, ()):
            if key.strip():
                lines.add(" ".join([*key.split()[:2], owner]))
    return sorted(lines)
