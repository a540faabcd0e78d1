"""Fingerprints of keyrings, compared with those of gpg."""

import base64
import hashlib
import shutil
import subprocess
import zlib

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stacks.packages import (
    key_fingerprints,
    removed_packages,
    replaced_packages,
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
    data = encoded(gpg(*armour, "--export"))
    assert key_fingerprints(data, armoured=bool(armour)) == said(gpg)
    with pytest.raises(ValueError, match="not an OpenPGP keyring"):
        key_fingerprints(data, armoured=not armour)


@pytest.mark.parametrize(
    "header",
    [
        b"\x98\x08", b"\x99\x00\x08", b"\x9a\x00\x00\x00\x08",  # of RFC 4880, 4.2.1
        b"\xc6\x08", b"\xc6\xff\x00\x00\x00\x08",  # 4.2.2
    ],
)  # fmt: skip
def test_a_key_of_each_form_of_packet_has_the_fingerprint_of_the_format(header):
    body = b"\x04timeAkey"[:8]
    wanted = hashlib.sha1(b"\x99\x00\x08" + body).hexdigest().upper()
    signature = b"\x88\x01x"
    assert key_fingerprints(encoded(header + body + signature)) == [wanted]


def test_a_key_that_is_longer_than_its_fingerprint_can_say_is_refused():
    with pytest.raises(ValueError, match="not version 4"):
        key_fingerprints(encoded(b"\x9a\x00\x01\x00\x00\x04" + bytes(0xFFFF)))


def test_a_packet_of_two_bytes_of_length_is_read_whole():
    """192 to 8383 bytes, by RFC 4880, 4.2.2.2."""
    body = b"\x04" + bytes(299)
    wanted = hashlib.sha1(b"\x99" + (300).to_bytes(2, "big") + body).hexdigest().upper()
    assert key_fingerprints(encoded(b"\xc6\xc0\x6c" + body)) == [wanted]


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"\xc6\x02\x03x", "not version 4"),
        (b"\xc6\x02\x05x", "not version 4"),
        (b"\xc6\xe1x", "a key in parts"),
        (b"\x9bx", "a packet of unknown length"),
        (b"\x88\x01x", "no public key in it"),
        (b"\xc6\x03\x04x", "truncated"),
    ],
)
def test_what_is_no_key_of_version_4_is_refused(data, cause):
    with pytest.raises(ValueError, match=cause):
        key_fingerprints(encoded(data))


def test_a_truncated_keyring_is_refused(gpg):
    data = gpg("--export", "two")
    with pytest.raises(ValueError, match="the keyring is truncated"):
        key_fingerprints(encoded(data[:100]))


@pytest.mark.parametrize("data", [b"<html>404</html>", b"", b"-----BEGIN PGP-----\n\n????\n"])
@pytest.mark.parametrize("armoured", [True, False])
def test_another_file_is_not_a_keyring(data, armoured):
    with pytest.raises(ValueError, match="not an OpenPGP keyring"):
        key_fingerprints(encoded(data), armoured)


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
        lambda one, two: b"Please trust this key\n" + two + b"\n" + one,
        lambda one, two: one.replace(b"-----BEGIN", b"- -----BEGIN") + two,
        lambda one, two: one.replace(b"\n\n", b"\nComment: -----BEGIN\n\n\n", 1),
        lambda one, two: one.rstrip(b"\n") + b" \n",
        lambda one, two: b"\xef\xbb\xbf" + one,
        lambda one, two: one.replace(b"PUBLIC KEY BLOCK", b"PRIVATE KEY BLOCK"),
        lambda one, two: one.replace(b"PUBLIC KEY BLOCK", b"MESSAGE"),
        # apt reads what follows a line without a colon as a second header, or as data.
        lambda one, two: one.replace(b"\n\n", b"\n \n\n" + two.split(b"\n\n")[1], 1),
    ],
)
def test_no_key_hides_behind_the_block_that_was_checked(gpg, hidden):
    data = hidden(*two_blocks(gpg))
    with pytest.raises(ValueError, match="not an OpenPGP keyring"):
        key_fingerprints(encoded(data), armoured=True)


def packet(tag, body):
    """Return a packet in RFC 4880's new format."""
    return bytes([0xC0 | tag, 255]) + len(body).to_bytes(4, "big") + body


def dearmoured_by_apt(data):
    """Return what apt 2.6 makes of a file .asc: the awk program of its apt-key, and base64."""
    program = (
        "/^-----BEGIN/{ x = 1; } /^$/{ if (x == 1) { x = 2; }; }"
        " /^[^=-]/{ if (x == 2) { print $0; }; } /^-----END/{ exit; }"
    )
    lines = subprocess.run(["awk", program], input=data, check=True, capture_output=True).stdout
    return base64.b64decode(lines)


def test_a_binary_keyring_with_armour_in_a_user_id_is_not_taken_for_text(gpg):
    one = gpg("--export", "one")
    hidden = one + packet(13, b"x\n" + gpg("--armor", "--export", "two"))
    # So apt would trust key two, whose fingerprint is not among those of the packets.
    assert dearmoured_by_apt(hidden) == gpg("--export", "two")
    assert key_fingerprints(encoded(hidden)) == key_fingerprints(encoded(one))
    with pytest.raises(ValueError, match="not an OpenPGP keyring"):
        key_fingerprints(encoded(hidden), armoured=True)


@pytest.mark.parametrize("tag", [5, 7, 8, 11, 60])
def test_no_key_hides_in_a_packet_of_another_kind(gpg, tag):
    compressed = b"\x02" + zlib.compress(gpg("--export", "two"))
    with pytest.raises(ValueError, match=f"a packet of kind {tag}"):
        key_fingerprints(encoded(gpg("--export", "one") + packet(tag, compressed)))


def test_a_second_primary_key_in_one_block_is_seen(gpg):
    assert len(key_fingerprints(encoded(gpg("--armor", "--export")), armoured=True)) == 2


def test_packages_that_apt_would_remove_are_listed():
    simulation = (
        "The following packages will be REMOVED:\n  containerd.io docker-ce docker-ce-cli\n"
        "Remv docker-ce [5:28.2.2-1~debian.12~bookworm]\n"
        "Remv containerd.io [1.7.27-1] [runc:amd64 ]\n"
        "Inst runc (1.1.5+ds1-1+deb12u1 Debian:12.11/oldstable [amd64])\n"
        "Conf runc (1.1.5+ds1-1+deb12u1 Debian:12.11/oldstable [amd64])\n"
    )
    assert removed_packages(simulation) == ["docker-ce", "containerd.io"]
    assert removed_packages("") == []


# Of apt 2.6.1, in the words of LC_ALL=C.
REPLACED = """\
The following additional packages will be installed:
  libcurl3-gnutls libcurl4
The following held packages will be changed:
  libcurl4
The following packages will be upgraded:
  curl libcurl3-gnutls libcurl4
The following packages will be DOWNGRADED:
  tzdata
3 upgraded, 1 newly installed, 1 downgraded, 0 to remove and 128 not upgraded.
Inst tzdata [2025b-0+deb12u2] (2025b-0+deb12u1 Debian:12-updates/oldstable-updates [all])
Inst curl [7.88.1-10+deb12u14] (7.88.1-10+deb12u15 Debian:12.15/oldstable [amd64]) []
Inst libcurl4 [7.88.1-10+deb12u14] (7.88.1-10+deb12u15 Debian:12.15/oldstable [amd64])
Inst libcurl3-gnutls [7.88.1-10+deb12u14] (7.88.1-10+deb12u15 Debian:12.15/oldstable [amd64])
Inst libnew (1.0 Debian:12.15/oldstable [amd64])
Conf tzdata (2025b-0+deb12u1 Debian:12-updates/oldstable-updates [all])
"""


def test_other_versions_that_apt_would_put_in_place_are_listed():
    tzdata = "tzdata 2025b-0+deb12u2 -> 2025b-0+deb12u1"
    libcurl4 = "libcurl4 7.88.1-10+deb12u14 -> 7.88.1-10+deb12u15"
    curl = "curl 7.88.1-10+deb12u14 -> 7.88.1-10+deb12u15"
    assert replaced_packages(REPLACED, ["curl=7.88.1-10+deb12u15"]) == [tzdata, curl, libcurl4]
    # What is needed may be upgraded.
    assert replaced_packages(REPLACED, ["libnew"]) == [tzdata, libcurl4]
    assert replaced_packages("", ["curl"]) == []
