"""Damaged and forged archives of a campaign: each is refused by name, and leaves nothing behind.

``SCALEBENCH_FUZZ=10000`` tries that many, ``SCALEBENCH_FUZZ_SEED=1`` others.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import tarfile

import pytest
from ansible.errors import AnsibleActionFail
from archive_data import FILES, member, sums, write_archive_of
from hostile_files import OTHER_KINDS, damaged_bytes, run_action

from action_plugins.campaign_unarchive import ActionModule as Unarchive

COUNT = int(os.environ.get("SCALEBENCH_FUZZ", "400"))
SEED = os.environ.get("SCALEBENCH_FUZZ_SEED", "0")
LOG = "mine/logs/pytorch/bz4/1n1g/r50_b4_fp32_1.log"
NAMES = (
    *("mine/../x.log", "/etc/x.log", "mine/logs/../../../x.log", "mine/logs//x.log", "mine/logs/"),
    *(
        "mine",
        "",
        ".",
        "..",
        "mine/.hidden",
        "other/plan.json",
        "mine/plan.json",
        "mine/results.json",
    ),
    *("mine/SHA256SUMS", "mine/results.json", LOG, f"{LOG}/x.log", "mine/plan.json/x.html"),
    *(
        "mine/logs/a\\b.log",
        "mine/logs/\x1b[2J.log",
        "mine/logs/\u2028.log",
        "mine/logs/\udcff.log",
    ),
    *("mine/logs/" + "é" * 40 + ".log", "mine/" + "a/" * 60 + "x.log", "mine/logs/%s{0}.log"),
    *("-rf/plan.json", "mine/logs/ .log", "mine/logs/x\n0.log", "C:/x.log", "mine/logs/CON.log"),
)
SIZES = (0, 1, 511, 512, 513, 2**33 - 1, 2**33, 2**63, 2**80, -1, -512, -(2**62))
TYPES = [bytes([code]) for code in (*range(0x30, 0x38), *b"xgLKSVDNMAIXZ", 0, 1, 0x7F, 0xFF)]
PAX = b"19 path=/etc/passwd\n30 GNU.sparse.size=9999999999\n12 size=-1\n"


def members_of(choose: random.Random) -> list[tuple[tarfile.TarInfo, bytes]]:
    """Return the members of a good archive, damaged in one or two places."""
    files = {f"mine/{path}": text.encode() for path, text in FILES.items()}
    kind = choose.randrange(8)
    if kind == 0:
        # The checksum is right: nothing but the name is wrong.
        files[choose.choice(NAMES)] = choose.choice((b"", b"x", b"x" * 600))
    lines = [
        f"{hashlib.sha256(data).hexdigest()}  {name.partition('/')[2]}\n"
        for name, data in files.items()
    ]
    if kind == 1:
        at = choose.randrange(len(lines))
        lines[at] = damaged_bytes(choose, lines[at].encode()).decode("utf-8", "replace")
    checksums = "".join(lines).encode("utf-8", "surrogateescape")
    found = [(tarfile.TarInfo("mine/SHA256SUMS"), checksums)]
    found += [(tarfile.TarInfo(name), data) for name, data in files.items()]
    for header, data in found:
        header.size = len(data)
    at = choose.randrange(len(found))
    header, data = found[at]
    if kind == 2:
        header.name = choose.choice(NAMES)
    elif kind == 3:
        header.size = choose.choice(SIZES)
    elif kind == 4:
        header.type, header.linkname = choose.choice(TYPES), choose.choice(NAMES)
        data = choose.choice((data, PAX, b""))
        header.size = choose.choice((len(data), header.size))
        found[at] = header, data
    elif kind == 5:
        found.insert(choose.randrange(len(found) + 1), found[at])
    elif kind == 6:
        del found[at]
    return found


def archive_of(choose: random.Random, members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """Return the archive, mostly as whole as its members are."""
    content = b""
    for header, data in members:
        form = choose.choice((tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
        block = header.tobuf(form, "utf-8", "surrogateescape")
        if choose.random() < 0.03:
            block = damaged_bytes(choose, block)
        content += block + data + bytes(-len(data) % tarfile.BLOCKSIZE)
    content += bytes(choose.choice((0, 512, 1024, 10240)))
    how = choose.random()
    if how < 0.1:
        content = damaged_bytes(choose, content)
    packed = gzip.compress(content, 1)
    return damaged_bytes(choose, packed) if how > 0.9 else packed


def unpacked(folder):
    """Return the content of the files below a folder, all of which are regular."""
    found = sorted(path for path in folder.rglob("*") if not path.is_dir())
    assert all(path.is_file() and not path.is_symlink() for path in found)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_a_hostile_archive_is_refused_by_name_or_holds_what_its_checksums_say(tmp_path):
    choose = random.Random(f"{SEED} archives")
    archive, folder = tmp_path / "in/mine.tar.gz", tmp_path / "out/mine"
    archive.parent.mkdir()
    folder.parent.mkdir()
    refused = 0
    for number in range(COUNT):
        archive.write_bytes(archive_of(choose, members_of(choose)))
        damaged = f"archive {number} of seed {SEED}"
        try:
            run_action(Unarchive, archive=str(archive), directory=str(folder))
        except AnsibleActionFail as error:
            refused += 1
            assert str(archive) in str(error), damaged
            assert error.message.isprintable(), damaged
            assert not [*folder.parent.iterdir()], damaged
        except Exception as error:
            error.add_note(damaged)
            raise
        else:
            files = unpacked(folder)
            lines = files.pop("SHA256SUMS").decode().splitlines()
            found = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
            assert found == {line[66:]: line[:64] for line in lines}, damaged
            for path in sorted(folder.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            folder.rmdir()
        assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}, damaged
    assert 0.3 * COUNT < refused < COUNT, "some are whole, and most are not"


@pytest.mark.parametrize("make", OTHER_KINDS)
@pytest.mark.parametrize("name", ["mine.tar.gz", "mine.tar.gz.sha256"])
def test_an_archive_that_is_no_regular_file_is_refused_by_name(tmp_path, make, name):
    plan = {"plan.json": b"{}"}
    whole = (sums(plan), member("mine/plan.json", plan["plan.json"]))
    write_archive_of(tmp_path / "mine.tar.gz", *whole)
    (tmp_path / name).unlink(missing_ok=True)
    make(tmp_path / name)
    with pytest.raises(AnsibleActionFail, match=name):
        run_action(
            Unarchive, archive=str(tmp_path / "mine.tar.gz"), directory=str(tmp_path / "there")
        )


@pytest.mark.parametrize("zeros", [1024, 3 << 20])
def test_what_follows_the_end_is_refused(tmp_path, zeros):
    plan = {"plan.json": b"{}"}
    archive = tmp_path / "mine.tar.gz"
    write_archive_of(archive, sums(plan), member("mine/plan.json", plan["plan.json"]))
    content = gzip.decompress(archive.read_bytes()) + bytes(zeros)
    args = {"archive": str(archive), "directory": str(tmp_path / "there")}
    for damaged in (gzip.compress(content + b"more"), gzip.compress(content)[:-6]):
        archive.write_bytes(damaged)
        with pytest.raises(AnsibleActionFail, match=r"mine\.tar\.gz"):
            run_action(Unarchive, **args)
    archive.write_bytes(gzip.compress(content))
    assert run_action(Unarchive, **args)["changed"]
