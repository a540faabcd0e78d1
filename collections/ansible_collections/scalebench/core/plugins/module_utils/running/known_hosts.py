"""A known_hosts file: renew the lines of some hosts, keep those of the others."""

from __future__ import annotations

from typing import List, Mapping

__all__ = ["known_hosts_lines"]


def known_hosts_lines(existing: str, keys: Mapping[str, str], port: int) -> List[str]:
    """Return the file's lines, sorted, comments left out.

    A run that is limited to some nodes knows the keys of those alone; the others' must stay.

    :param existing: the file as it is; empty where there is none.
    :param keys: public host key (type and base64, a comment may follow) by address.
    """
    kept = {}
    for line in existing.splitlines():
        host, _, key = line.strip().partition(" ")
        if key and not host.startswith("#"):
            kept[host, key.split()[0]] = line.strip()
    for address, key in keys.items():
        if key.strip():
            kind, base64 = key.split()[:2]
            host = f"[{address}]:{port}"
            kept[host, kind] = f"{host} {kind} {base64}"
    return sorted(kept.values())
