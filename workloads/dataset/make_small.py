#!/usr/bin/env python3
"""Write the small set of images in the form of every framework, as docs/data.md describes.

For example: make_small.py /data/small
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from pathlib import Path

from pictures import TEXTURES, pictures
from record_files import ofrecord_part, recordio_files, tfrecord_shard

VERSION = 2  # of the pictures and their files; a set of another version is replaced
SHARDS = {"train": 8, "val": 2}  # so that eight ranks each have files of their own
TENSORFLOW_PARTS = {"train": "train", "val": "validation"}  # its names of the two parts


def main() -> int:
    """Make the set beside its folder, then move it there; return the exit status."""
    options = make_parser().parse_args()
    target = options.directory
    description = describe(options)
    if description.items() <= existing_manifest(target).items():
        print(f"{target} is there already")
        return 0
    making = target.with_name(target.name + ".making")
    shutil.rmtree(making, ignore_errors=True)
    for part, each in (("train", options.train), ("val", options.validation)):
        made = list(reported(part, each, options.size))
        write_images(making / "images", part, made)
        write_shards(making, part, made)
        rec, idx = recordio_files(made)
        write(making / f"recordio/{part}.rec", rec)
        write(making / f"recordio/{part}.idx", idx)
    manifest = {**description, "files": checksums(making)}
    write(making / "manifest.json", json.dumps(manifest, indent=1).encode())
    shutil.rmtree(target, ignore_errors=True)
    making.rename(target)
    return 0


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, help="replaced as a whole")
    parser.add_argument("--train", type=positive, default=200, metavar="N", help="images per class")
    parser.add_argument(
        "--validation", type=positive, default=50, metavar="N", help="images per class"
    )
    parser.add_argument("--size", type=positive, default=64, metavar="PX", help="height and width")
    return parser


def positive(text):
    """Return an integer of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least 1")
    return int(text)


def reported(part, each, size):
    """Yield the pictures of a part and print the progress."""
    total = each * len(TEXTURES)
    for number, picture in enumerate(pictures(part, each, size), 1):
        if number % 200 == 0 or number == total:
            print(f"{part}: {number} of {total} images", flush=True)
        yield picture


def write_images(folder, part, made):
    """Write one folder per class, and the list with labels that PaddlePaddle's reader takes."""
    listed = []
    for picture in made:
        name = f"{part}/{picture.class_name}/{picture.file_name}"
        write(folder / name, picture.jpeg)
        listed.append(f"{name} {picture.label}\n")
    write(folder / f"{part}_list.txt", "".join(sorted(listed)).encode())


def write_shards(folder, part, made):
    """Write TFRecord shards and OFRecord parts."""
    count = SHARDS[part]
    for number in range(count):
        share = made[number::count]
        name = f"{TENSORFLOW_PARTS[part]}-{number:05d}-of-{count:05d}"
        write(folder / "tfrecord" / name, tfrecord_shard(share))
        write(folder / f"ofrecord/{part}/part-{number:05d}", ofrecord_part(share))


def write(path, data):
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def describe(options):
    """Return what the manifest states about the set as a whole."""
    each = {"train": options.train, "val": options.validation}
    return {
        "version": VERSION,
        "classes": list(TEXTURES),
        "images": {part: len(TEXTURES) * count for part, count in each.items()},
        "image_size": options.size,
    }


def existing_manifest(folder):
    """Return the manifest of the set in `folder`, empty where there is none."""
    try:
        return json.loads((folder / "manifest.json").read_text())
    except (OSError, ValueError):
        return {}


def checksums(folder):
    """Return SHA-256 and size in bytes of every file below a folder."""
    files = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        name = path.relative_to(folder).as_posix()
        files[name] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    return files


if __name__ == "__main__":
    sys.exit(main())
