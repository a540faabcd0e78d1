"""Archives on disk: reproducible, written atomically, verified before they are unpacked."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile

import pytest
from ansible_collections.scalebench.core.plugins.plugin_utils import archive_writing
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_reading import (
    head,
    unpack,
    unpacked_before,
    verify,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_writing import archive
from archive_data import FILES, member, sums, write_archive_of, write_campaign

LOG = "logs/pytorch/bz4/1n1g/r50_b4_fp32_1.log"


def make(folder, path, **given):
    return archive(folder, path, given.get("check", False), given.get("diff", False))


@pytest.fixture
def campaign(tmp_path):
    return write_campaign(tmp_path / "mine")


def test_packed_files_are_unpacked_unchanged(campaign, tmp_path):
    path = tmp_path / "mine.tar.gz"
    assert make(campaign, path)["files"] == len(FILES)
    unpack(path, tmp_path / "else/there")
    for name, text in FILES.items():
        assert (tmp_path / "else/there" / name).read_text() == text
    said = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path / "else/there", check=False
    )
    beside = subprocess.run(["sha256sum", "-c", f"{path}.sha256"], cwd=tmp_path, check=False)
    assert (said.returncode, beside.returncode) == (0, 0)


def test_the_same_campaign_gives_the_same_bytes_wherever_and_whenever(campaign, tmp_path):
    make(campaign, tmp_path / "one.tar.gz")
    other = tmp_path / "elsewhere/mine"
    other.mkdir(parents=True)
    for name in reversed(FILES):
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(campaign / name, other / name)
        os.utime(other / name, (0, 0))
        (other / name).chmod(0o600)
    make(other, tmp_path / "two.tar.gz")
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()


def test_an_archive_is_written_again_only_where_it_differs(campaign, tmp_path):
    path = tmp_path / "mine.tar.gz"
    assert make(campaign, path, check=True)["changed"]
    assert not path.exists()
    assert make(campaign, path)["changed"]
    first = path.stat().st_ino
    assert not make(campaign, path)["changed"]
    assert path.stat().st_ino == first
    with path.open("ab") as file:
        file.write(b"x")
    assert make(campaign, path)["changed"], "it was damaged"
    (campaign / LOG).write_text("another\n")
    made = make(campaign, path, check=True, diff=True)
    assert made["changed"]
    assert LOG in made["diff"]["before"]
    assert made["diff"]["before"] != made["diff"]["after"]


def test_only_the_campaigns_own_regular_files_go_in(campaign, tmp_path):
    (tmp_path / "secret").write_text("x")
    (campaign / "logs/link.log").symlink_to(tmp_path / "secret")
    os.mkfifo(campaign / "logs/pipe.log")
    (campaign / "logs/.r50.log.1.part").write_text("half")
    (campaign / "id_ed25519").write_text("x")
    (campaign / "claim.json").write_text("{}")
    made = make(campaign, tmp_path / "mine.tar.gz")
    assert made["left_out"] == [
        "id_ed25519",
        "logs/.r50.log.1.part",
        "logs/link.log",
        "logs/pipe.log",
    ]
    with tarfile.open(tmp_path / "mine.tar.gz") as tar:
        names = [name.partition("/")[2] for name in tar.getnames()]
    assert names == ["SHA256SUMS", "MANIFEST.json", *sorted(FILES)]


def test_secrets_in_a_log_are_replaced_in_the_archive_alone(campaign, tmp_path):
    text = "iteration 1\nWANDB_API_KEY=0123abcd\niteration 2\n"
    write_campaign(campaign, **{LOG: text})
    assert make(campaign, tmp_path / "mine.tar.gz")["redactions"] == 1
    unpack(tmp_path / "mine.tar.gz", tmp_path / "there")
    assert (campaign / LOG).read_text() == text
    kind = "secret of the environment"
    assert (tmp_path / "there" / LOG).read_text() == text.replace("0123abcd", f"[redacted: {kind}]")
    manifest = (tmp_path / "there/MANIFEST.json").read_text()
    assert LOG in manifest
    assert kind in manifest
    assert "0123abcd" not in manifest


def test_secrets_elsewhere_are_refused_and_nothing_is_written(campaign, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "s3cr3t-value")
    write_campaign(campaign, **{"plan.json": '{\n "argv": ["--login=s3cr3t-value"]}\n'})
    with pytest.raises(ValueError, match=r"plan\.json line 2: value of MY_TOKEN") as refused:
        make(campaign, tmp_path / "mine.tar.gz")
    assert "s3cr3t-value" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_secret_on_another_line_than_its_option_is_refused(campaign, tmp_path):
    argv = json.dumps({"argv": ["--password", "hunter2Zq9x"]}, indent=1)
    write_campaign(campaign, **{"plan.json": f"{argv}\n"})
    with pytest.raises(ValueError, match=r"plan\.json line 1: secret in a list or mapping"):
        make(campaign, tmp_path / "mine.tar.gz")


@pytest.mark.parametrize("damaged", ["{}]", '{}{{"a": 1}}', "[{}", '{{"a": NaN, "b": {}}}'])
def test_a_secret_in_the_list_of_a_damaged_file_is_refused(campaign, tmp_path, damaged):
    argv = json.dumps({"argv": ["sshpass", "-p", "hunter2Zq9x", "ssh"]}, indent=1)
    write_campaign(campaign, **{"plan.json": damaged.format(argv)})
    with pytest.raises(ValueError, match=r"plan\.json line \d+: secret in a list or mapping"):
        make(campaign, tmp_path / "mine.tar.gz")


def test_a_secret_across_two_pieces_is_found(campaign, tmp_path, monkeypatch):
    monkeypatch.setattr(archive_writing, "PIECE", 64)
    write_campaign(campaign, **{LOG: "x" * 60 + " A_TOKEN=0123456789\n" + "y" * 500})
    assert make(campaign, tmp_path / "mine.tar.gz")["redactions"] == 1


def test_a_line_that_is_too_long_to_be_searched_is_refused(campaign, tmp_path, monkeypatch):
    monkeypatch.setattr(archive_writing, "PIECE", 64)
    monkeypatch.setattr(archive_writing, "LONGEST_LINE", 128)
    write_campaign(campaign, **{LOG: "x" * 1000})
    with pytest.raises(ValueError, match="cannot be searched"):
        make(campaign, tmp_path / "mine.tar.gz")


# The log is read first for its checksum, then into the archive.
KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_writing import archive
reads = []
def kill(event, given):
    if event == "open" and str(given[0]).endswith(sys.argv[3]):
        reads.append(given)
        if len(reads) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(kill)
archive(Path(sys.argv[1]), Path(sys.argv[2]), False, False)
"""


def test_a_killed_writer_leaves_no_partial_archive(campaign, tmp_path):
    path = tmp_path / "mine.tar.gz"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", KILLED_WRITER, campaign, path, LOG]
    assert subprocess.run(words, env=environment, check=False).returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".mine.tar.gz.*.part"))) == 1
    assert not path.exists()
    write_campaign(campaign)
    for other in ("evil", "9" * 30):
        (tmp_path / f".mine.tar.gz.{other}.part").touch()
    make(campaign, path)
    assert sorted(item.name for item in tmp_path.iterdir()) == [
        f".mine.tar.gz.{'9' * 30}.part",
        ".mine.tar.gz.evil.part",
        "mine",
        "mine.tar.gz",
        "mine.tar.gz.sha256",
    ]
    verify(path)


def test_what_a_killed_unpacking_left_is_removed_by_the_next_one(campaign, tmp_path):
    make(campaign, tmp_path / "mine.tar.gz")
    ended, there = 1 << 23, tmp_path / "there"  # above the kernel's largest pid
    stay = {f".a.{os.getppid()}.part", f".b.{ended}.part", ".a.evil.part", f".a.b.{ended}.part"}
    for name in (*stay, f".a.{ended}.part", f".a.{os.getpid()}.part"):
        (there / name / "logs").mkdir(parents=True)
    unpack(tmp_path / "mine.tar.gz", there / "a")
    assert {path.name for path in there.iterdir()} == {*stay, "a"}


def test_a_campaign_that_is_written_to_meanwhile_is_refused(campaign, tmp_path, monkeypatch):
    survey = archive_writing.survey

    def and_then_more(*given):
        seen = survey(*given)
        with (campaign / LOG).open("a") as log:
            log.write("more\n")
        return seen

    module = "ansible_collections.scalebench.core.plugins.plugin_utils.archive_writing"
    monkeypatch.setattr(f"{module}.survey", and_then_more)
    with pytest.raises(ValueError, match="changes while it is archived"):
        make(campaign, tmp_path / "mine.tar.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


PLAN = b"{}\n"
SUMS = sums({"plan.json": PLAN})


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([SUMS], "plan.json is missing"),
        ([SUMS, member("mine/plan.json", b"[]\n")], "plan.json differs from its checksum"),
        ([SUMS, member("mine/plan.json", PLAN)] * 2, "'?SHA256SUMS'? is not listed"),
        ([SUMS, member("mine/plan.json", PLAN), member("mine/plan.json", PLAN)], "is there twice"),
        ([SUMS, member("mine/results.json", PLAN)], "results.json is not listed"),
        ([member("mine/plan.json", PLAN), SUMS], "its first file is mine/plan.json"),
        ([SUMS, member("yours/plan.json", PLAN)], "of another campaign"),
        ([SUMS, member("mine/../../plan.json", PLAN)], "not a file of a campaign"),
        ([SUMS, member("/mine/plan.json", PLAN)], "not a path below"),
        ([SUMS, member("mine/logs/.ssh/x.log", PLAN)], "not a file of a campaign"),
        (
            [SUMS, member("mine/plan.json", type=tarfile.SYMTYPE, linkname="/etc/passwd")],
            "not a regular file",
        ),
        (
            [SUMS, member("mine/plan.json", type=tarfile.LNKTYPE, linkname="mine/SHA256SUMS")],
            "not a regular file",
        ),
        ([SUMS, member("mine/plan.json", type=tarfile.CHRTYPE)], "not a regular file"),
        ([SUMS, member("mine/logs/x.log", type=tarfile.DIRTYPE)], "not a regular file"),
        ([], "it is empty"),
        (
            [sums({"SHA256SUMS": b""}), member("mine/SHA256SUMS")],
            "SHA256SUMS and another file have the same place",
        ),
        (
            [
                sums({"logs/x.log": b"", "logs/x.log/y.log": b""}),
                *(member(f"mine/logs/x.log{below}") for below in ("", "/y.log")),
            ],
            "y.log and another file have the same place",
        ),
        ([SUMS, member("mine/plan.json", PLAN, type=tarfile.GNUTYPE_SPARSE)], "not a regular file"),
        ([SUMS, member("mine/plan.json", PLAN, type=tarfile.XHDTYPE)], "not a regular file"),
        (
            [SUMS, member("mine/plan.json", PLAN, type=tarfile.GNUTYPE_LONGNAME)],
            "not a regular file",
        ),
    ],
)
def test_an_archive_of_something_else_is_refused(tmp_path, members, message):
    path = write_archive_of(tmp_path / "mine.tar.gz", *members)
    with pytest.raises(ValueError, match=message) as refused:
        head(path)
        unpack(path, tmp_path / "there")
    assert str(path) in str(refused.value)
    assert [item.name for item in tmp_path.iterdir()] == ["mine.tar.gz"]


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [
        ("mine/plan.json", 65 << 30, "more than 64 GiB"),
        ("mine/plan.json", -512, "not a regular file"),
        ("mine/SHA256SUMS", 33 << 20, "is too large"),
    ],
)
def test_a_member_of_excessive_size_is_refused_before_it_is_read(tmp_path, name, size, message):
    forged = tarfile.TarInfo(name)
    forged.size = size
    with gzip.open(tmp_path / "mine.tar.gz", "wb") as file:
        if name != SUMS[0].name:
            file.write(SUMS[0].tobuf() + SUMS[1] + bytes(-len(SUMS[1]) % 512))
        file.write(forged.tobuf(tarfile.GNU_FORMAT))
    with pytest.raises(ValueError, match=message):
        verify(tmp_path / "mine.tar.gz")


@pytest.mark.parametrize("where", [0.1, 0.5, 0.9, 0.999])
def test_a_damaged_or_truncated_archive_is_refused(campaign, tmp_path, where):
    path = tmp_path / "mine.tar.gz"
    write_campaign(campaign, **{LOG: "".join(f"{n * n} {n}\n" for n in range(20000))})
    make(campaign, path)
    (tmp_path / "mine.tar.gz.sha256").unlink()
    whole = path.read_bytes()
    place = int(len(whole) * where)
    damaged = bytes([whole[place] ^ 0x55])
    for broken in (whole[:place], whole[:place] + damaged + whole[place + 1 :]):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=str(path)):
            head(path)
            unpack(path, tmp_path / "there")
        assert not (tmp_path / "there").exists()


def test_data_after_the_end_is_refused(campaign, tmp_path):
    path = tmp_path / "mine.tar.gz"
    make(campaign, path)
    (tmp_path / "mine.tar.gz.sha256").unlink()
    with gzip.open(path, "ab") as file:
        file.write(bytes(512))
    verify(path)
    whole = path.read_bytes()
    for more in (b"more", bytes(64 << 20)):
        path.write_bytes(whole + gzip.compress(more))
        with pytest.raises(ValueError, match="data follows its end"):
            unpack(path, tmp_path / "there")
        assert not (tmp_path / "there").exists()


def test_the_checksum_file_is_compared(campaign, tmp_path):
    make(campaign, tmp_path / "mine.tar.gz")
    (tmp_path / "mine.tar.gz.sha256").write_text(f"{'0' * 64}  mine.tar.gz\n")
    with pytest.raises(ValueError, match="differs from its checksum in mine"):
        verify(tmp_path / "mine.tar.gz")


def test_what_is_no_file_is_no_archive_and_no_checksum(campaign, tmp_path):
    path, beside = tmp_path / "mine.tar.gz", tmp_path / "mine.tar.gz.sha256"
    make(campaign, path)
    for put in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        beside.unlink()
        put(beside)
        with pytest.raises(
            ValueError, match=r"mine\.tar\.gz\.sha256 beside it: not a regular file"
        ):
            verify(path)
    assert make(campaign, path, check=True)["changed"]
    path.unlink()
    os.mkfifo(path)
    for read in (head, verify):
        with pytest.raises(ValueError, match=r"mine\.tar\.gz: not a regular file"):
            read(path)


def test_every_unpacked_file_is_on_the_disk_before_the_folder_has_its_name(
    campaign, tmp_path, monkeypatch
):
    make(campaign, tmp_path / "mine.tar.gz")
    there, synced, fsync = tmp_path / "there", {}, os.fsync

    def noted(opened):
        synced[os.fstat(opened).st_ino] = there.exists()
        fsync(opened)

    monkeypatch.setattr(os, "fsync", noted)
    unpack(tmp_path / "mine.tar.gz", there)
    for path in (there, *there.rglob("*")):
        assert synced.pop(path.stat().st_ino) is False, path
    assert synced == {tmp_path.stat().st_ino: True}


def test_a_campaign_whose_logs_are_elsewhere_is_not_archived_without_them(campaign, tmp_path):
    shutil.move(campaign / "logs", tmp_path / "disk")
    (campaign / "logs").symlink_to(tmp_path / "disk")
    with pytest.raises(ValueError, match="mine/logs is a link that leads out"):
        make(campaign, tmp_path / "mine.tar.gz")


@pytest.mark.parametrize("name", ["acceptance.json", "preflight.json", "plan.json"])
def test_what_a_report_judges_by_must_be_as_in_the_archive(campaign, tmp_path, name):
    (campaign / "acceptance.json").write_text("{}")
    (campaign / "preflight.json").write_text("{}")
    path, there = tmp_path / "mine.tar.gz", tmp_path / "there"
    make(campaign, path)
    unpack(path, there)
    (there / name).write_text('{"changed": 1}')
    with pytest.raises(ValueError, match=f"{name} differs from"):
        unpacked_before(path, head(path)[1], there)


@pytest.mark.parametrize(
    "name", ["acceptance.json", "logs/1.run.json", "logs/x.attempt1.json", "notes.txt", ".x"]
)
def test_a_file_beside_those_of_the_archive_is_refused(campaign, tmp_path, name):
    path, there = tmp_path / "mine.tar.gz", tmp_path / "there"
    make(campaign, path)
    unpack(path, there)
    for own in ("report.md", "scaling.svg", "results.csv"):
        (there / own).write_text("of a report")
    assert unpacked_before(path, head(path)[1], there)
    (there / name).write_text("{}")
    with pytest.raises(ValueError, match=f"{name} is not in"):
        unpacked_before(path, head(path)[1], there)


def test_a_link_to_a_folder_beside_those_of_the_archive_is_refused(campaign, tmp_path):
    path, there = tmp_path / "mine.tar.gz", tmp_path / "there"
    make(campaign, path)
    unpack(path, there)
    (there / "logs/more").symlink_to(tmp_path)
    with pytest.raises(ValueError, match="more is not in"):
        unpacked_before(path, head(path)[1], there)


def test_a_folder_that_holds_the_archive_already_is_verified_and_kept(campaign, tmp_path):
    path, there = tmp_path / "mine.tar.gz", tmp_path / "there"
    make(campaign, path)
    text = head(path)[1]
    assert not unpacked_before(path, text, there)
    unpack(path, there)
    (there / "results.json").write_text("what a report made of it")
    assert unpacked_before(path, text, there)
    (there / LOG).write_text("changed")
    with pytest.raises(ValueError, match=f"{LOG} differs from"):
        unpacked_before(path, text, there)
    with pytest.raises(ValueError, match="contains something other"):
        unpacked_before(path, text, campaign)
