"""A known_hosts file: renew the lines of some hosts, keep those of the others."""

from __future__ import annotations

from typing import Collection, List, Mapping

__all__ = ["known_hosts_lines"]


def known_hosts_lines(existing: str, keys: Mapping[str, Collection[str]], port: int) -> List[str]:
    """Return the file's lines, sorted, comments left out.

    A run that is limited to some nodes knows the keys of those alone; the others' must stay.

    :param existing: the file as it is; empty where there is none.
    :param keys: public host keys (type and base64, a comment may follow) by address: all that the
        host has.
    """
    renewed = {
        f"[{address}]:{port}": [key for key in keys[address] if key.strip()] for address in keys
    }
    lines = set()
    for line in existing.splitlines():
        host, _, key = line.strip().partition(" ")
        if key and not host.startswith("#") and not renewed.get(host):
            lines.add(line.strip())
    for host, given in renewed.items():
        lines |= {" ".join([host, *key.split()[:2]]) for key in given}
    return sorted(lines)
