"""The text of an ssh signature and of the checksums beside a signed archive, byte for byte."""

from __future__ import annotations

import base64
import binascii
from typing import Mapping

__all__ = ["NAMESPACE", "beside_text", "check_spelling"]

# A signature of this namespace is of no use for git, mail or anything else.
NAMESPACE = "scalebench-acceptance"
_BEGIN = "-----BEGIN SSH SIGNATURE-----\n"
_END = "\n-----END SSH SIGNATURE-----\n"
_WIDTH = 70
_FIRST = b"SSHSIG\0\0\0\1"


def check_spelling(text: str) -> None:
    """Refuse a signature that is not spelt exactly as ssh-keygen writes it.

    ssh-keygen also accepts other white space and anything after the end (PROTOCOL.sshsig of
    OpenSSH says how it is written): such a file was changed after it was made.

    :raises ValueError: it is not an ssh signature, or was changed.
    """
    body = text[len(_BEGIN) : -len(_END)].replace("\n", "")
    try:
        data = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("it is not an ssh signature") from None
    again = base64.b64encode(data).decode("ascii")
    lines = [again[start : start + _WIDTH] for start in range(0, len(again), _WIDTH)]
    # ssh-keygen takes version 0 too, which it never writes.
    if not data.startswith(_FIRST):
        raise ValueError("it is not an ssh signature of version 1")
    if text != _BEGIN + "\n".join(lines) + _END:
        raise ValueError("it is not spelt as ssh-keygen writes it: it was changed")


def beside_text(sums: Mapping[str, str]) -> str:
    """Return the text of the checksum file beside an archive, as sha256sum writes it.

    :param sums: SHA-256 in hexadecimal by name: the archive, then its signature where it has one.
    """
    return "".join(f"{value}  {name}\n" for name, value in sums.items())
