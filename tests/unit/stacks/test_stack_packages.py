"""Fingerprints of keyrings, compared with those of gpg."""

import base64
import shutil
import subprocess

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stacks.packages import (
    key_fingerprints,
)

GPG = shutil.which("gpg")


def encoded(data):
    return base64.b64encode(data).decode()


@pytest.fixture(scope="module")
def gpg(tmp_path_factory):
    if GPG is None:
        pytest.skip("no gpg here to compare with")
    home = tmp_path_factory.mktemp("gpg")
    home.chmod(0o700)

    def run(*arguments):
        command = [GPG, "--homedir", str(home), "--batch", "--quiet", *arguments]
        return subprocess.run(command, check=True, capture_output=True).stdout

    options = ("--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key")
    run(*options, "one", "ed25519", "sign")
    run(*options, "two", "rsa2048", "sign")
    yield run
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)


def said(gpg):
    lines = gpg("--with-colons", "--list-keys").decode().splitlines()
    return [line.split(":")[9] for line in lines if line.startswith("fpr")]


@pytest.mark.parametrize("armour", [(), ("--armor",)])
def test_the_fingerprints_are_those_of_gpg(gpg, armour):
    assert key_fingerprints(encoded(gpg(*armour, "--export"))) == said(gpg)


def test_a_truncated_keyring_is_refused(gpg):
    data = gpg("--export", "two")
    with pytest.raises(ValueError, match="the keyring is truncated"):
        key_fingerprints(encoded(data[:100]))


@pytest.mark.parametrize("data", [b"<html>404</html>", b"", b"-----BEGIN PGP-----\n\n????\n"])
def test_another_file_is_not_a_keyring(data):
    with pytest.raises(ValueError, match="not an OpenPGP keyring"):
        key_fingerprints(encoded(data))


def two_blocks(gpg):
    """Return one block of key ``one`` and one of key ``two``."""
    return [gpg("--armor", "--export", name) for name in ("one", "two")]


@pytest.mark.parametrize(
    "hidden",
    [
        lambda one, two: one + two,
        lambda one, two: two + b"\n" + one,
        lambda one, two: one + b"x\n" + two,
        lambda one, two: one.replace(b"\n", b"\r") + two,
        lambda one, two: one.replace(b"\n", b"\r\n"),
        lambda one, two: one.replace(b"-----END", two + b"-----END"),
        lambda one, two: one.replace(b"\n\n", b"\nComment: x\x0by\n\n"),
        lambda one, two: b" " + one,
        lambda one, two: one[: one.index(b"-----END")],
    ],
)
def test_no_key_hides_behind_the_block_that_was_checked(gpg, hidden):
    data = hidden(*two_blocks(gpg))
    with pytest.raises(ValueError, match="not an OpenPGP keyring"):
        key_fingerprints(encoded(data))
