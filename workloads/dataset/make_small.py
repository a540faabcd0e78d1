#!/usr/bin/env python3
"""Write the small set of images in the form of every framework; docs/data.md describes it.

For example: make_small.py /data/small
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from pathlib import Path

import ofrecord
import recordio
import tfrecord
from pictures import pictures
from textures import TEXTURES

VERSION = 2  # of the pictures and their files; another one is made anew
SHARDS = {"train": 8, "val": 2}  # so that eight ranks each have files of their own
OF_TENSORFLOW = {"train": "train", "val": "validation"}  # its names of the two parts


def main() -> int:
    """Make the set beside its folder, then put it there whole; return the exit status."""
    options = make_parser().parse_args()
    target = options.directory
    wanted = described(options)
    if wanted.items() <= kept_manifest(target).items():
        print(f"{target} is there already")
        return 0
    making = target.with_name(target.name + ".making")
    shutil.rmtree(making, ignore_errors=True)
    for part, each in (("train", options.train), ("val", options.validation)):
        made = list(announced(part, each, options.size))
        write_images(making / "images", part, made)
        write_shards(making, part, made)
        rec, idx = recordio.rec_and_idx(made)
        write(making / f"recordio/{part}.rec", rec)
        write(making / f"recordio/{part}.idx", idx)
    listed = {**wanted, "files": checksums(making)}
    write(making / "manifest.json", json.dumps(listed, indent=1).encode())
    shutil.rmtree(target, ignore_errors=True)
    making.rename(target)
    return 0


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, help="is replaced as a whole")
    parser.add_argument(
        "--train", type=positive, default=200, metavar="N", help="images of a class"
    )
    parser.add_argument(
        "--validation", type=positive, default=50, metavar="N", help="images of a class"
    )
    parser.add_argument("--size", type=positive, default=64, metavar="PX", help="height and width")
    return parser


def positive(text):
    """Read an integer of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no integer of at least 1")
    return int(text)


def announced(part, each, size):
    """Yield the pictures of a part and say now and then how far they are."""
    total = each * len(TEXTURES)
    for number, picture in enumerate(pictures(part, each, size), 1):
        if number % 200 == 0 or number == total:
            print(f"{part}: {number} of {total} images", flush=True)
        yield picture


def write_images(folder, part, made):
    """Write one folder a class, and the list with labels that PaddlePaddle's reader takes."""
    listed = []
    for picture in made:
        name = f"{part}/{picture.name_of_class}/{picture.file_name}"
        write(folder / name, picture.jpeg)
        listed.append(f"{name} {picture.label}\n")
    write(folder / f"{part}_list.txt", "".join(sorted(listed)).encode())


def write_shards(folder, part, made):
    """Write TFRecord shards and OFRecord parts."""
    count = SHARDS[part]
    for number in range(count):
        share = made[number::count]
        name = f"{OF_TENSORFLOW[part]}-{number:05d}-of-{count:05d}"
        write(folder / "tfrecord" / name, tfrecord.shard(share))
        write(folder / f"ofrecord/{part}/part-{number:05d}", ofrecord.part(share))


def write(path, data):
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def described(options):
    """Return what a manifest says of the set as a whole."""
    each = {"train": options.train, "val": options.validation}
    return {
        "version": VERSION,
        "classes": list(TEXTURES),
        "images": {part: len(TEXTURES) * count for part, count in each.items()},
        "image_size": options.size,
    }


def kept_manifest(folder):
    """Return the manifest of the set that is there, empty where there is none."""
    try:
        return json.loads((folder / "manifest.json").read_text())
    except (OSError, ValueError):
        return {}


def checksums(folder):
    """Return SHA-256 and size in bytes of every file below a folder."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        name = path.relative_to(folder).as_posix()
        found[name] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    return found


if __name__ == "__main__":
    sys.exit(main())
