"""Package repositories: keys of a keyring without gpg, what a simulated install would change."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import Iterator, List, Sequence, Tuple

__all__ = ["kernel_changes", "key_fingerprints", "removed_packages", "replaced_packages"]

_PUBLIC_KEY = 6
# RFC 4880, section 4.3: signature, public key, trust, user ID, subkey, user attribute. Another
# packet may hold a key that is not seen here, as a compressed one does.
_OF_KEYRINGS = {2, _PUBLIC_KEY, 12, 13, 14, 17}
# RFC 4880, section 6.2: header lines, an empty line, the data, its checksum.
_ARMOUR = re.compile(
    rb"-----BEGIN PGP PUBLIC KEY BLOCK-----\n(?:[A-Za-z]+: [\x20-\x7e]*\n)*\n"
    rb"(?P<body>(?:[A-Za-z0-9+/]+=*\n)+)(?:=[A-Za-z0-9+/]{4}\n)?"
    rb"-----END PGP PUBLIC KEY BLOCK-----\n*"
)
# `Inst linux-image-6.1.0-40-amd64 (6.1.153-1 Debian:12/stable [amd64])`, and the same with Remv.
_REMOVED = re.compile(r"^Remv (\S+)", re.MULTILINE)
# `Inst tzdata [2025b-0+deb12u2] (2026f-0+deb12u1 Debian-Security:12/oldstable-security [all])`
_REPLACED = re.compile(r"^Inst (\S+) \[([^\]\s]+)\] \((\S+)", re.MULTILINE)
# Names in lines that are indented.
_TOUCHED = re.compile(
    r"^The following (?:packages will be DOWNGRADED|held packages will be changed):\n((?: +.*\n)+)",
    re.MULTILINE,
)
# What two bytes count, as a fingerprint of version 4 has it.
_LONGEST_KEY = 0xFFFF
_APT = re.compile(r"^(Inst|Remv) (linux-image-\S+)", re.MULTILINE)


def key_fingerprints(content: str, armoured: bool = False) -> List[str]:
    """Return the fingerprints of the primary keys of an OpenPGP keyring, in upper-case hexadecimal.

    A version 4 fingerprint is the SHA-1 of 0x99, the packet's length in two bytes and the packet:
    RFC 4880, section 12.2. Packets are parsed by section 4.2, armour by section 6.

    :param content: the file in base64, as module slurp returns it.
    :param armoured: whether its reader takes it as text. Not found out here: a binary keyring can
        hold armour in a user ID, where apt would look for its keys in a file named ``.asc``.
    :raises ValueError: not such a keyring, or a key that is not version 4.
    """
    try:
        data = base64.b64decode(content)
        if armoured:
            data = _dearmoured(data)
    except binascii.Error as error:
        raise ValueError(f"not an OpenPGP keyring: {error}") from None
    fingerprints = []
    for tag, body in _packets(data):
        if tag not in _OF_KEYRINGS:
            raise ValueError(f"the keyring has more than public keys: a packet of kind {tag}")
        if tag == _PUBLIC_KEY:
            if body[:1] != b"\x04" or len(body) > _LONGEST_KEY:
                raise ValueError("the keyring has a key that is not version 4")
            hashed = b"\x99" + len(body).to_bytes(2, "big") + body
            # The format requires SHA-1; apt verifies signatures with the key itself.
            fingerprints.append(hashlib.sha1(hashed).hexdigest().upper())
    if not fingerprints:
        raise ValueError("not an OpenPGP keyring: no public key in it")
    return fingerprints


def _dearmoured(data: bytes) -> bytes:
    """Return the packets of one armoured block.

    apt and rpm read every block and skip what is between, each in its own way. So a file with more
    than one plain block is refused: its other keys would be trusted unseen.
    """
    block = _ARMOUR.fullmatch(data)
    if not block:
        raise ValueError(
            "not an OpenPGP keyring: more, or less, than one armoured block of public keys"
        )
    return base64.b64decode(block["body"].replace(b"\n", b""), validate=True)


def _packets(data: bytes) -> Iterator[Tuple[int, bytes]]:
    place = 0
    while place < len(data):
        first = data[place]
        if not first & 0x80:
            raise ValueError("not an OpenPGP keyring: a packet was expected")
        tag, size, start = _header(data, place, first)
        if start + size > len(data):
            raise ValueError("the keyring is truncated")
        yield tag, data[start : start + size]
        place = start + size


def _header(data: bytes, place: int, first: int) -> Tuple[int, int, int]:
    """Return a packet's tag, the size of its body in bytes, and the offset of the body."""
    padded = data[place : place + 6] + b"\x00" * 6
    if not first & 0x40:
        width = 1 << (first & 0x03)
        if width > 4:
            raise ValueError("not an OpenPGP keyring: a packet of unknown length")
        return (first >> 2) & 0x0F, int.from_bytes(padded[1 : 1 + width], "big"), place + 1 + width
    if padded[1] < 192:
        return first & 0x3F, padded[1], place + 2
    if padded[1] < 224:
        return first & 0x3F, ((padded[1] - 192) << 8) + padded[2] + 192, place + 3
    if padded[1] == 255:
        return first & 0x3F, int.from_bytes(padded[2:6], "big"), place + 6
    raise ValueError("not an OpenPGP keyring: a key in parts")


def kernel_changes(simulation: str) -> List[str]:
    """Return the changes to kernels in the output of ``apt-get --simulate``.

    :returns: ``install <package>`` or ``remove <package>`` for each.
    """
    words = {"Inst": "install", "Remv": "remove"}
    return [f"{words[verb]} {package}" for verb, package in _APT.findall(simulation)]


def removed_packages(simulation: str) -> List[str]:
    """Return the packages that the output of ``apt-get --simulate`` would remove."""
    return _REMOVED.findall(simulation)


def replaced_packages(simulation: str, names: Sequence[str]) -> List[str]:
    """Return what ``apt-get --simulate`` would put in place of another version, as ``a 1 -> 2``.

    Those that were asked for, were held, or would be downgraded: what they need may be upgraded.

    :param names: the packages asked for, with or without a version (``a=2``).
    """
    asked = {name.partition("=")[0] for name in names}
    touched = {one for block in _TOUCHED.findall(simulation) for one in block.split()}
    return [
        f"{name} {old} -> {new}"
        for name, old, new in _REPLACED.findall(simulation)
        if {name, name.partition(":")[0]} & {*asked, *touched}
    ]
