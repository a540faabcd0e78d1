"""Sign an archive with an ssh key, and verify such a signature, by OpenSSH's ssh-keygen."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import subprocess
from pathlib import Path
from typing import IO

from ansible_collections.scalebench.core.plugins.module_utils.evidence.archive import beside_text
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_reading import (
    checksum_beside,
    file_sha256,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import open_regular, user_path

__all__ = ["check_key", "sign", "signature_of", "verify_signature"]

# A key on a token waits for a touch.
_SECONDS = 120
# Of the largest RSA key with a certificate, in bytes.
_LONGEST = 64 << 10
# Nothing may ask on the terminal: a campaign runs for hours without anybody there.
_SILENT = {"SSH_ASKPASS_REQUIRE": "never"}
_NOTE = "Signing data on standard input"
# A signature of this namespace is of no use for git, mail or anything else.
_NAMESPACE = "scalebench-acceptance"
_BEGIN = "-----BEGIN SSH SIGNATURE-----\n"
_END = "\n-----END SSH SIGNATURE-----\n"
_WIDTH = 70
_FIRST = b"SSHSIG\0\0\0\1"


def signature_of(archive: Path) -> Path:
    """Return the path of an archive's signature."""
    return archive.with_name(f"{archive.name}.sig")


def check_key(key: str) -> None:
    """Refuse a key that cannot sign, before anything was measured.

    :raises ValueError: as :func:`sign`.
    """
    with open(os.devnull, "rb") as nothing:
        _signed(key, nothing)


def sign(archive: Path, key: str) -> str:
    """Return the signature of an archive.

    :param key: path of a private key without a passphrase, or of the public key of one that the
        ssh agent holds.
    :raises ValueError: the key cannot sign; named, and what to do.
    :raises OSError: the archive cannot be read.
    """
    with open_regular(archive) as data:
        return _signed(key, data)


def _signed(key: str, data: IO[bytes]) -> str:
    path = user_path(key)
    if not path.is_file():
        raise ValueError(f"sign_key {key}: no such file")
    done = _keygen("sign", ["-f", str(path)], data)
    if done.returncode == 0:
        return done.stdout
    said = " ".join(line for line in done.stderr.splitlines() if line != _NOTE)
    raise ValueError(f"sign_key {key}: it cannot sign: {said}. {_todo(path, said)}")


def _todo(key: Path, said: str) -> str:
    if key.suffix == ".pub":
        return "A public key is used through the ssh agent: load its private key with ssh-add"
    if "passphrase" in said:
        return f"Load it with ssh-add {key} and give {key}.pub, or give a key without passphrase"
    return "Make one with: ssh-keygen -t ed25519 -f FILE"


def _keygen(
    verb: str, options: list[str], data: IO[bytes] | None
) -> subprocess.CompletedProcess[str]:
    """Run ``ssh-keygen -Y`` without a terminal that it could ask on.

    :raises ValueError: it is not installed, or does not end.
    """
    command = ["ssh-keygen", "-Y", verb, *options]
    if verb != "find-principals":
        command += ["-n", _NAMESPACE]
    try:
        return subprocess.run(
            command,
            stdin=data or subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            start_new_session=True,
            env={**os.environ, **_SILENT},
            check=False,
        )
    except FileNotFoundError:
        raise ValueError("ssh-keygen is not installed (package openssh-client)") from None
    except subprocess.TimeoutExpired:
        raise ValueError(f"ssh-keygen -Y {verb} gave no answer in {_SECONDS} s") from None


def verify_signature(archive: Path, allowed_signers: str, signer: str) -> tuple[str, str]:
    """Return who signed an archive, in a sentence, and the archive's SHA-256.

    Both are empty for one that is not signed.

    :param allowed_signers: path of a file as ssh-keygen(1) describes; empty where nobody is known:
        then only what was signed is verified, not by whom, and the sentence says so.
    :param signer: whose signature it must be; empty for anyone in the file.
    :raises ValueError: signature or checksums are missing, changed or of someone else.
    :raises OSError: a file cannot be read.
    """
    if signer and not allowed_signers:
        raise ValueError(f"signer {signer}: the public key is needed: give -e allowed_signers=FILE")
    signature = signature_of(archive)
    if not signature.exists():
        if allowed_signers:
            raise ValueError(f"{archive}: it is not signed: there is no {signature.name} beside it")
        return "", ""
    with open_regular(signature) as file:
        text = file.read(_LONGEST).decode("ascii", "replace")
    try:
        _check_spelling(text)
    except ValueError as error:
        raise ValueError(f"{signature}: {error}") from None
    sums = {path.name: file_sha256(path) for path in (archive, signature)}
    if checksum_beside(archive) != beside_text(sums):
        raise ValueError(f"{archive}.sha256: it differs from the archive or its signature")
    if not allowed_signers:
        said, sha256 = _answer(archive, "check-novalidate", ["-s", str(signature)])
        return f"{said}; by whom is not verified: give -e allowed_signers=FILE", sha256
    allowed = user_path(allowed_signers)
    if not allowed.is_file():
        raise ValueError(f"allowed_signers {allowed_signers}: no such file")
    trusted = ["-f", str(allowed), "-s", str(signature)]
    name = signer or _principal(archive, trusted, allowed_signers)
    return _answer(archive, "verify", [*trusted, "-I", name])


def _check_spelling(text: str) -> None:
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


def _principal(archive: Path, trusted: list[str], allowed_signers: str) -> str:
    done = _keygen("find-principals", trusted, None)
    names = done.stdout.splitlines()
    if done.returncode or not names:
        raise ValueError(f"{archive}: signed with a key that is not in {allowed_signers}")
    return names[0]


def _answer(archive: Path, verb: str, options: list[str]) -> tuple[str, str]:
    with open_regular(archive) as data:
        sha256 = hashlib.file_digest(data, "sha256").hexdigest()
        # What ssh-keygen reads is where the descriptor stands.
        os.lseek(data.fileno(), 0, os.SEEK_SET)
        done = _keygen(verb, options, data)
    if done.returncode:
        said = " ".join((done.stdout + done.stderr).split())
        raise ValueError(f"{archive}: its signature is not valid: {said}")
    return " ".join(done.stdout.split()), sha256
