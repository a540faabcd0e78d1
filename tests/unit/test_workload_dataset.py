"""The small data set: the same bytes each time, and its forms decoded by independent code."""

from __future__ import annotations

import hashlib
import json
import random
import struct
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.dataset.layouts import LAYOUTS
from ansible_collections.scalebench.core.plugins.module_utils.node import dataset_files

MAKER = Path(__file__).parents[2] / "workloads/dataset/make_small.py"
pytest.importorskip("PIL", reason="needs Pillow to encode images")
sys.path.insert(0, str(MAKER.parent))
import record_files
from pictures import TEXTURES, pixels

from resnet50 import images

CLASSES = ["bands", "bars", "bricks", "checks", "dots", "grid", "slants", "zigzag"]
# CRC-32 of one picture of each class, as CPython on x86-64 computes it.
PIXELS = [
    *(0x881FA1A5, 0x0A28F8A3, 0xFCB0A3EB, 0xAAC39838),
    *(0xB6F86233, 0xE74B317C, 0xC6F3DFDC, 0x4966C3FD),
]


def make(folder: Path, *more: str) -> str:
    """Make a tiny set; return the output of the program."""
    command = [sys.executable, MAKER, folder, "--train=3", "--validation=2", "--size=16", *more]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "small"
    make(folder)
    return folder


def jpegs(small: Path, part: str) -> Counter:
    """Return label and bytes of every image in the class folders."""
    images = Counter()
    for label, name in enumerate(CLASSES):
        for path in (small / "images" / part / name).iterdir():
            images[label, path.read_bytes()] += 1
    return images


def crc32c(data: bytes) -> int:
    """Compute CRC-32C bit by bit, highest bit first, unlike the table of the writer."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= int(f"{byte:08b}"[::-1], 2) << 24
        for _ in range(8):
            register = (register << 1 ^ (0x1EDC6F41 if register >> 31 else 0)) & 0xFFFFFFFF
    return int(f"{register ^ 0xFFFFFFFF:032b}"[::-1], 2)


def fields(message: bytes) -> list[tuple[int, bytes | int]]:
    """Decode one protocol buffer of varints and length-delimited fields."""

    def varint(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            value |= (message[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if not message[at - 1] & 0x80:
                return value, at

    decoded, at = [], 0
    while at < len(message):
        key, at = varint(at)
        value, at = varint(at)
        if key & 7 == 2:
            value, at = message[at : at + value], at + value
        decoded.append((key >> 3, value))
    return decoded


def features(message: bytes, integers: int) -> dict[str, bytes | int]:
    """Decode a map of features, each a list of one value; `integers` is the field of int lists."""
    values_by_name = {}
    for number, entry in fields(message):
        assert number == 1
        (_, name), (_, feature) = fields(entry)
        ((kind, values),) = fields(feature)
        ((_, value),) = fields(values)
        assert kind in (1, integers)
        if kind == integers:
            value = int.from_bytes(value, "little") if len(value) == 1 else varint_of(value)
        values_by_name[name.decode()] = value
    return values_by_name


def varint_of(packed: bytes) -> int:
    """Return the only integer of a packed list."""
    ((_, value),) = fields(b"\x08" + packed)
    return value


def test_crc32c_matches_the_rfc():
    # RFC 3720, appendix B.4.
    assert record_files.crc32c(bytes(32)) == 0x8A9136AA
    assert record_files.crc32c(bytes([0xFF] * 32)) == 0x62A8AB43
    assert record_files.crc32c(bytes(range(32))) == 0x46DD794E == crc32c(bytes(range(32)))


@pytest.mark.parametrize(("part", "name"), [("train", "train"), ("val", "validation")])
def test_tfrecord_holds_every_image_with_labels_from_1(small, part, name):
    images = Counter()
    for path in (small / "tfrecord").glob(f"{name}-*"):
        data = path.read_bytes()
        while data:
            length, crc = struct.unpack_from("<QI", data)
            body, (body_crc,) = data[12 : 12 + length], struct.unpack_from("<I", data, 12 + length)
            for value, checked in ((crc, data[:8]), (body_crc, body)):
                rotated = (value - 0xA282EAD8) & 0xFFFFFFFF
                assert ((rotated << 15 | rotated >> 17) & 0xFFFFFFFF) == crc32c(checked)
            ((number, inner),) = fields(body)
            assert number == 1
            example = features(inner, 3)
            images[example["image/class/label"] - 1, example["image/encoded"]] += 1
            assert example["image/class/text"].decode() == CLASSES[example["image/class/label"] - 1]
            assert (example["image/height"], example["image/format"]) == (16, b"JPEG")
            data = data[12 + length + 4 :]
    assert images == jpegs(small, part)


@pytest.mark.parametrize("part", ["train", "val"])
def test_ofrecord_holds_every_image_with_labels_from_0(small, part):
    images = Counter()
    for path in (small / "ofrecord" / part).iterdir():
        data = path.read_bytes()
        while data:
            (length,) = struct.unpack_from("<q", data)
            record = features(data[8 : 8 + length], 4)
            images[record["class/label"], record["encoded"]] += 1
            data = data[8 + length :]
    assert images == jpegs(small, part)


@pytest.mark.parametrize("part", ["train", "val"])
def test_recordio_holds_every_image_where_its_index_says(small, part):
    data = (small / f"recordio/{part}.rec").read_bytes()
    images = Counter()
    lines = (small / f"recordio/{part}.idx").read_text().splitlines()
    for number, line in enumerate(lines):
        key, offset = map(int, line.split("\t"))
        magic, length, flag, label, name, second = struct.unpack_from("<IIIfQQ", data, offset)
        assert (magic, flag, key, name, second) == (0xCED7230A, 0, number, number, 0)
        images[int(label), data[offset + 32 : offset + 8 + length]] += 1
    assert images == jpegs(small, part)


def test_a_magic_number_within_an_image_splits_its_record():
    magic = struct.pack("<I", 0xCED7230A)
    data = b"abcd" + magic + b"efg" + magic + b"h" + magic
    encoded = record_files.recordio_record(data)
    parts, at = [], 0
    while at < len(encoded):
        magic_number, head = struct.unpack_from("<II", encoded, at)
        assert magic_number == 0xCED7230A
        length = head & 0x1FFFFFFF
        parts.append((head >> 29, encoded[at + 8 : at + 8 + length]))
        at += 8 + (length + 3) // 4 * 4
    # Only those at multiples of four bytes are left out; a reader puts them back.
    assert parts[0] == (1, b"abcd")
    assert magic.join(body for _, body in parts) == data
    assert [kind for kind, _ in parts] == [1, *[2] * (len(parts) - 2), 3]


def test_a_negative_number_has_no_varint():
    with pytest.raises(ValueError, match="-1 is negative"):
        record_files.varint(-1)


def test_paddle_s_lists_name_every_image_with_its_label(small):
    for part in ("train", "val"):
        for line in (small / f"images/{part}_list.txt").read_text().splitlines():
            path, label = line.split(" ")
            assert (small / "images" / path).exists()
            assert CLASSES[int(label)] == path.split("/")[1]


def test_the_manifest_describes_the_files(small):
    manifest = json.loads((small / "manifest.json").read_text())
    assert (manifest["classes"], manifest["images"]) == (CLASSES, {"train": 24, "val": 16})
    for name, listed in manifest["files"].items():
        data = (small / name).read_bytes()
        assert listed == {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}


def test_the_bytes_are_the_same_each_time_and_train_and_val_differ(small, tmp_path):
    assert "is there already" not in make(tmp_path / "again")
    again = (tmp_path / "again/manifest.json").read_bytes()
    assert again == (small / "manifest.json").read_bytes()
    assert not jpegs(small, "train") & jpegs(small, "val")


def test_the_pixels_are_the_same_on_every_machine():
    checksums = [zlib.crc32(pixels(name, 16, random.Random(name))) for name in TEXTURES]
    assert checksums == PIXELS


def test_another_set_replaces_an_existing_one(tmp_path):
    make(tmp_path / "set")
    assert "is there already" in make(tmp_path / "set")
    assert "is there already" not in make(tmp_path / "set", "--train=4")
    assert len(list((tmp_path / "set/images/train/dots").iterdir())) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_an_invalid_number_of_images_is_refused(tmp_path, value):
    command = [sys.executable, MAKER, tmp_path / "set", f"--train={value}"]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == 2
    assert f"{value!r} is not an integer of at least 1" in ended.stderr


def inspected(folder: Path, layout: str) -> dict:
    return dataset_files.look(str(folder), "small", layout, every_record=True)


def missing(folder: Path) -> list:
    return dataset_files.missing_indexes(str(folder), str(folder / "dali_idx"))


@pytest.fixture
def indexed(tmp_path):
    make(tmp_path / "set")
    for shard, index in missing(tmp_path / "set"):
        dataset_files.write_index(shard, index)
    return tmp_path / "set"


def test_the_set_with_its_indexes_is_complete_in_every_form(indexed):
    assert all(inspected(indexed, layout)["problems"] == [] for layout in LAYOUTS)
    assert all(inspected(indexed, layout)["state"] == "complete" for layout in LAYOUTS)
    assert missing(indexed) == []


@pytest.mark.parametrize(
    ("layout", "name"),
    [
        ("tfrecord", "train-00003-of-00008"),
        ("ofrecord", "val/part-00001"),
        ("recordio", "train.rec"),
    ],
)
def test_a_truncated_file_is_reported(indexed, layout, name):
    before = inspected(indexed, layout)["digest"]
    path = indexed / layout / name
    path.write_bytes(path.read_bytes()[:-7])
    state = inspected(indexed, layout)
    assert state["state"] == "incomplete"
    assert any(problem.startswith(f"{name}: record ") for problem in state["problems"])
    assert state["digest"] != before


def test_an_index_of_another_shard_is_reported_and_rewritten(indexed):
    shard = indexed / "tfrecord/train-00000-of-00008"
    shard.write_bytes(shard.read_bytes() * 2)
    (problem,) = inspected(indexed, "dali_idx")["problems"]
    assert problem.startswith("train-00000-of-00008: its index ends at byte ")
    assert [Path(path) for path, _ in missing(indexed)] == [shard]


def test_a_damaged_shard_gets_no_index(indexed):
    shard = indexed / "tfrecord/train-00000-of-00008"
    shard.write_bytes(b"no record")
    (pair,) = missing(indexed)
    with pytest.raises(ValueError, match="train-00000-of-00008: record 0 at byte 0"):
        dataset_files.write_index(*pair)


def test_images_without_a_folder_of_their_own_are_found(indexed):
    before = inspected(indexed, "images")
    for part in ("train", "val"):
        (indexed / "images" / part).rename(indexed / part)
    for name in ("train_list.txt", "val_list.txt"):
        (indexed / "images" / name).rename(indexed / name)
    (indexed / "images").rmdir()
    assert inspected(indexed, "images") == before
    assert inspected(indexed, "image_lists")["state"] == "complete"
    assert dataset_files.images_folder(str(indexed)) == str(indexed)
    assert len(images.labelled_images(indexed)) == 24
    assert len(images.images_to_evaluate(indexed)) == 16
    # Files alone may be OneFlow's or others'.
    (indexed / "images/train").mkdir(parents=True)
    assert dataset_files.images_folder(str(indexed)) == str(indexed / "images")


def test_one_changed_byte_changes_the_digest(indexed):
    before = inspected(indexed, "images")["digest"]
    path = next((indexed / "images/val/dots").iterdir())
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert inspected(indexed, "images")["digest"] != before


def test_a_missing_form_is_absent(tmp_path):
    assert inspected(tmp_path, "tfrecord")["state"] == "absent"
