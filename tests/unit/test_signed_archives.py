"""Signed archives: the documented command and the report find every tampering.

``SCALEBENCH_FUZZ=10000`` tries that many, ``SCALEBENCH_FUZZ_SEED=1`` others; a few hundred by
default. Every fourth is verified by the documented command, all by the code of report.yml.
"""

from __future__ import annotations

import base64
import gzip
import io
import os
import random
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_reading import (
    file_sha256,
    head,
    unpack,
    verify,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_signing import (
    check_key,
    sign,
    verify_signature,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_writing import archive
from archive_data import write_campaign

COUNT = int(os.environ.get("SCALEBENCH_FUZZ", "240"))
SEED = os.environ.get("SCALEBENCH_FUZZ_SEED", "0")
PARTS = 8
DOCUMENTED = Path(__file__).resolve().parents[2] / "docs/acceptance.md"
NAMES = ("mine.tar.gz", "mine.tar.gz.sig", "mine.tar.gz.sha256")
NAMESPACE = "scalebench-acceptance"


def make_key(path, passphrase=""):
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", str(path)]
    subprocess.run(command, check=True)
    return path


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """Return a folder with a signed archive, allowed_signers, and signatures to replace its own."""
    place = tmp_path_factory.mktemp("signed")
    key = make_key(place / "key")
    campaign = write_campaign(place / "mine")
    archive(campaign, place / NAMES[0], False, False, str(key))
    words = f'vendor namespaces="{NAMESPACE}" {key.with_name("key.pub").read_text()}'
    (place / "allowed_signers").write_text(words)
    stranger = make_key(place / "stranger")
    (place / "others").mkdir()
    (place / "others/key").write_text(sign(place / NAMES[0], str(stranger)))
    (place / "others/archive").write_text(sign(place / "allowed_signers", str(key)))
    for space in ("file", "git"):
        with (place / NAMES[0]).open("rb") as data:
            done = subprocess.run(
                ["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", space],
                stdin=data, capture_output=True, text=True, check=True,
            )  # fmt: skip
        (place / "others" / space).write_text(done.stdout)
    return place


def copied(signed, to):
    to.mkdir()
    for name in (*NAMES, "allowed_signers"):
        shutil.copyfile(signed / name, to / name)
    return to


def documented():
    """Return the command of the documentation for this archive."""
    (command,) = re.findall(r"^\[ .*$", DOCUMENTED.read_text(), re.MULTILINE)
    command = command.replace("ALLOWED_SIGNERS", "elsewhere/allowed_signers")
    return command.replace("NAME", "mine").replace("SIGNER", "vendor")


def accepted_by_command(folder, programs=""):
    """Return whether the documented command ends with 0; remove what it unpacked."""
    (folder / "elsewhere").mkdir(exist_ok=True)
    if not (folder / "elsewhere/allowed_signers").exists():
        shutil.copyfile(folder / "allowed_signers", folder / "elsewhere/allowed_signers")
    done = run_command(folder, programs)
    shutil.rmtree(folder / "verified", ignore_errors=True)
    return done.returncode == 0


def run_command(folder, programs=""):
    environment = {"PATH": programs or os.environ["PATH"]}
    return subprocess.run(
        ["/bin/sh", "-c", documented()], cwd=folder, env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def accepted_by_code(folder):
    path = folder / NAMES[0]
    try:
        verify_signature(path, str(folder / "allowed_signers"), "vendor")
        verify(path)
    except (ValueError, OSError):
        return False
    return True


def test_an_honest_archive_needs_openssh_tar_and_sha256sum_only(signed, tmp_path):
    folder = copied(signed, tmp_path / "there")
    programs = tmp_path / "programs"
    programs.mkdir()
    # tar runs gzip itself.
    for name in ("ssh-keygen", "tar", "sha256sum", "gzip", "mkdir"):
        (programs / name).symlink_to(shutil.which(name))
    assert accepted_by_command(folder, str(programs))
    assert accepted_by_code(folder)


def test_files_that_were_there_before_are_not_taken_for_verified_ones(signed, tmp_path):
    folder = copied(signed, tmp_path / "there")
    (folder / "mine/logs").mkdir(parents=True)
    (folder / "mine/logs/forged.log").write_text("x")
    (folder / "elsewhere").mkdir()
    shutil.copyfile(folder / "allowed_signers", folder / "elsewhere/allowed_signers")
    assert run_command(folder).returncode == 0
    assert (folder / "verified/mine/plan.json").is_file()
    assert not (folder / "verified/mine/logs/forged.log").exists()
    assert run_command(folder).returncode != 0, "it is there already"


@pytest.mark.parametrize(
    "name", ["allowed_signers", "../allowed_signers", "elsewhere/allowed_signers"]
)
def test_a_signed_member_does_not_replace_the_keys(signed, tmp_path, name):
    """Of a signer who wants others to be taken for him, with a program of his own."""
    folder = copied(signed, tmp_path / "there")
    stranger = (signed / "stranger.pub").read_text()
    new = f'vendor namespaces="{NAMESPACE}" {stranger}'.encode()
    with tarfile.open(folder / NAMES[0]) as tar:
        members = [(info, tar.extractfile(info).read()) for info in tar.getmembers()]
    with tarfile.open(folder / NAMES[0], "w:gz", format=tarfile.USTAR_FORMAT) as tar:
        for info, data in [*members, (tarfile.TarInfo(name), new)]:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    (folder / NAMES[1]).write_text(sign(folder / NAMES[0], str(signed / "key")))
    rewrite_checksums(folder)
    accepted_by_command(folder)
    (folder / NAMES[1]).write_text(sign(folder / NAMES[0], str(signed / "stranger")))
    rewrite_checksums(folder)
    assert not accepted_by_command(folder)


def flipped(folder, draw):
    path = folder / draw.choice(NAMES)
    data = bytearray(path.read_bytes())
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def truncated(folder, draw):
    path = folder / draw.choice(NAMES)
    data = path.read_bytes()
    path.write_bytes(data[: draw.randrange(len(data))])


def extended(folder, draw):
    path = folder / draw.choice(NAMES)
    path.write_bytes(path.read_bytes() + draw.choice((b"\n", b" ", b"\0" * 512, b"x" * 9)))


def swapped(folder, draw):
    path = folder / draw.choice(NAMES)
    data = path.read_bytes()
    one, two = sorted(draw.sample(range(len(data)), 2))
    path.write_bytes(data[:one] + data[two:] + data[one:two])


def file_removed(folder, draw):
    (folder / draw.choice(NAMES)).unlink()


def signature_replaced(folder, draw, others):
    shutil.copyfile(draw.choice(sorted(others.iterdir())), folder / NAMES[1])


def member_changed(folder, draw):
    """Write the archive anew with one member added, removed, renamed, doubled or changed."""
    path = folder / NAMES[0]
    with tarfile.open(path) as tar:
        members = [(info, tar.extractfile(info).read()) for info in tar.getmembers()]
    place = draw.randrange(len(members))
    info, data = members[place]
    change = draw.choice(sorted(CHANGES))
    CHANGES[change](members, place, info, data)
    with (
        gzip.GzipFile(path, "wb", 1, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for header, content in members:
            header.size = len(content)
            tar.addfile(header, io.BytesIO(content))


def _added(members, place, info, data):
    new = tarfile.TarInfo("mine/logs/added.log")
    members.insert(place + 1, (new, b"x"))


def _linked(members, place, info, data):
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/hostname"
    members[place] = info, b""


def _set(**fields):
    def change(members, place, info, data):
        for name, value in fields.items():
            setattr(info, name, value)

    return change


CHANGES = {
    "added": _added,
    "removed": lambda members, place, info, data: members.pop(place),
    "doubled": lambda members, place, info, data: members.append(members[place]),
    "renamed": lambda members, place, info, data: setattr(info, "name", f"{info.name}x"),
    "reordered": lambda members, place, info, data: members.reverse(),
    "mode": _set(mode=0o4755),
    "owner": _set(uid=1000, uname="x"),
    "time": _set(mtime=1),
    "link": _linked,
    "content": lambda members, place, info, data: members.__setitem__(place, (info, data + b"\n")),
}
KINDS = (
    *(flipped, truncated, extended, swapped),
    *(member_changed, member_changed, signature_replaced, file_removed),
)


def rewrite_checksums(folder):
    """Write the checksum file as a careful forger does; he cannot sign."""
    paths = [folder / name for name in NAMES[:2] if (folder / name).exists()]
    lines = [f"{file_sha256(path)}  {path.name}\n" for path in paths]
    (folder / NAMES[2]).write_text("".join(lines))


def states(folder):
    return [(folder / name).read_bytes() if (folder / name).exists() else b"" for name in NAMES]


@pytest.mark.parametrize("part", range(PARTS))
def test_every_tampering_is_found(signed, tmp_path, part):
    draw = random.Random(f"{SEED} {part}")
    before = states(signed)
    missed, tried = [], 0
    for number in range(COUNT // PARTS):
        folder = copied(signed, tmp_path / str(number))
        kind = draw.choice(KINDS)
        given = (signed / "others",) if kind is signature_replaced else ()
        kind(folder, draw, *given)
        careful = draw.random() < 0.5
        if careful:
            rewrite_checksums(folder)
        after = states(folder)
        if after != before:
            tried += 1
            # What was signed is there still, and the signature, however it is spelt.
            respelt = careful and after[0] == before[0] and kind is not signature_replaced
            accepted = accepted_by_code(folder)
            if number % 4 == 0 and not respelt:
                accepted = accepted or accepted_by_command(folder)
            if accepted:
                missed.append((part, number, kind.__name__, careful))
        shutil.rmtree(folder)
    assert tried > COUNT // PARTS // 2
    assert missed == []


@pytest.mark.parametrize("other", ["key", "git", "file", "archive"])
def test_another_key_namespace_or_archive_is_refused(signed, tmp_path, other):
    folder = copied(signed, tmp_path / "there")
    shutil.copyfile(signed / "others" / other, folder / NAMES[1])
    rewrite_checksums(folder)
    assert not accepted_by_command(folder)
    assert not accepted_by_code(folder)


def test_another_version_of_the_signature_is_refused(signed, tmp_path):
    """ssh-keygen of OpenSSH 9.2 accepts version 0."""
    folder = copied(signed, tmp_path / "there")
    path = folder / NAMES[1]
    lines = path.read_text().splitlines()
    data = bytearray(base64.b64decode("".join(lines[1:-1])))
    data[9] ^= 1
    again = base64.b64encode(data).decode()
    lines[1:-1] = [again[start : start + 70] for start in range(0, len(again), 70)]
    path.write_text("\n".join(lines) + "\n")
    rewrite_checksums(folder)
    assert not accepted_by_code(folder)


def test_another_signer_than_the_named_one_is_refused(signed, tmp_path):
    folder = copied(signed, tmp_path / "there")
    stranger = (signed / "stranger.pub").read_text()
    with (folder / "allowed_signers").open("a") as file:
        file.write(f'owner namespaces="{NAMESPACE}" {stranger}')
    path, allowed = folder / NAMES[0], str(folder / "allowed_signers")
    assert "for vendor with ED25519" in verify_signature(path, allowed, "")[0]
    with pytest.raises(ValueError, match="signature is not valid"):
        verify_signature(path, allowed, "owner")


def test_without_allowed_signers_the_signer_is_said_to_be_unknown(signed, tmp_path):
    folder = copied(signed, tmp_path / "there")
    assert "by whom is not verified" in verify_signature(folder / NAMES[0], "", "")[0]
    (folder / NAMES[1]).unlink()
    assert verify_signature(folder / NAMES[0], "", "") == ("", "")
    with pytest.raises(ValueError, match="not signed"):
        verify_signature(folder / NAMES[0], str(folder / "allowed_signers"), "")


def test_the_key_is_not_in_what_is_handed_over(signed):
    secret = (signed / "key").read_bytes().splitlines()[1]
    for name in NAMES:
        data = (signed / name).read_bytes()
        data = gzip.decompress(data) if name.endswith(".gz") else data
        assert secret not in data
        assert str(signed).encode() not in data


def test_a_key_with_a_passphrase_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    key = make_key(tmp_path / "locked", "some words")
    with pytest.raises(ValueError, match=r"Load it with ssh-add .*locked and give .*locked\.pub"):
        check_key(str(key))
    with pytest.raises(ValueError, match="through the ssh agent"):
        check_key(f"{key}.pub")
    with pytest.raises(ValueError, match="no such file"):
        check_key(str(tmp_path / "nothing"))


def test_a_changed_campaign_leaves_no_signature_of_the_former_archive(signed, tmp_path):
    campaign = write_campaign(tmp_path / "mine")
    path = tmp_path / NAMES[0]
    key = str(signed / "key")
    assert archive(campaign, path, False, False, key)["changed"]
    assert not archive(campaign, path, False, False, key)["changed"]
    assert not archive(campaign, path, False, False)["changed"], "the signature is still right"
    (campaign / "results.json").write_text('{"other": 1}\n')
    assert archive(campaign, path, False, False)["changed"]
    assert not (tmp_path / NAMES[1]).exists()


def test_an_archive_that_took_the_place_of_the_verified_one_is_refused(signed, tmp_path):
    folder = copied(signed, tmp_path / "there")
    path = folder / NAMES[0]
    said, sha256 = verify_signature(path, str(folder / "allowed_signers"), "vendor")
    assert "for vendor" in said
    verify(path, sha256=sha256)
    archive(write_campaign(tmp_path / "forged"), folder / "other.tar.gz", False, False, "")
    os.replace(folder / "other.tar.gz", path)
    os.replace(folder / "other.tar.gz.sha256", f"{path}.sha256")
    verify(path)
    for read in (head, verify):
        with pytest.raises(ValueError, match="changed after its signature was verified"):
            read(path, sha256=sha256)
    with pytest.raises(ValueError, match="changed after its signature was verified"):
        unpack(path, tmp_path / "unpacked", sha256)
    assert not (tmp_path / "unpacked").exists()
