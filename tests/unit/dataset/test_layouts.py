"""Problems of a data set, by the names and sizes of its files, and of several nodes."""

from __future__ import annotations

import os

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.dataset.layouts import (
    agreement,
    lacking,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.dataset_files import (
    look,
    missing_indexes,
    write_index,
)


def shards(train: int = 1024, validation: int = 128) -> dict[str, int]:
    """Return the sizes of ImageNet's shards."""
    names = [f"train-{number:05d}-of-{train:05d}" for number in range(train)]
    names += [f"validation-{number:05d}-of-{validation:05d}" for number in range(validation)]
    return dict.fromkeys(names, 100)


def test_a_complete_set_lacks_nothing():
    assert lacking("imagenet", "tfrecord", shards()) == []
    assert lacking("imagenet", "dali_idx", shards()) == []


def test_missing_shards_are_counted_and_the_first_named():
    sizes = shards()
    for number in (7, 8, 9, 10):
        del sizes[f"train-{number:05d}-of-01024"]
    assert lacking("imagenet", "tfrecord", sizes) == [
        "4 of 1024 files are missing: train-00007-of-01024, train-00008-of-01024,"
        " train-00009-of-01024, ..."
    ]


def test_an_empty_shard_is_named():
    assert lacking("imagenet", "tfrecord", {**shards(), "validation-00000-of-00128": 0}) == [
        "1 of 128 files is empty: validation-00000-of-00128"
    ]


def test_another_number_of_shards_is_not_complete():
    (said,) = lacking("imagenet", "tfrecord", shards(train=512))
    assert said.startswith("1024 of 1024 files are missing")


@pytest.mark.parametrize("count", [44, 256])
def test_both_numbers_of_parts_are_complete(count):
    sizes = {f"{part}/part-{n:05d}": 9 for part in ("train", "val") for n in range(count)}
    assert lacking("imagenet", "ofrecord", sizes) == []
    del sizes["train/part-00001"]
    assert lacking("imagenet", "ofrecord", sizes) == [
        f"1 of {count} files is missing: train/part-00001"
    ]


def test_a_rec_file_needs_its_index():
    sizes = {"train.rec": 9, "train.idx": 9, "val.rec": 9}
    assert lacking("imagenet", "recordio", sizes) == ["1 of 2 files is missing: val.idx"]


def test_images_are_counted_by_class_and_in_all():
    classes = {"train": 999, "val": 998}
    sizes = {f"{part}/{n:04d}/a.jpg": 9 for part in classes for n in range(classes[part])}
    assert lacking("imagenet", "images", sizes) == [
        "train: 999 class folders with images, not 1000",
        "train: 999 images, not 1281167",
        "val: 998 class folders with images, not 1000",
        "val: 998 images, not 50000",
    ]


def test_paddles_lists_lie_beside_the_images(tmp_path):
    (tmp_path / "images/train").mkdir(parents=True)
    (tmp_path / "images/train/a.jpg").write_text("x")
    found = look(str(tmp_path), "imagenet", "image_lists", False)
    assert found["state"] == "absent"
    (tmp_path / "images/train_list.txt").write_text("train/a.jpg 0\n")
    found = look(str(tmp_path), "imagenet", "image_lists", False)
    assert found["problems"] == ["1 of 1 files is missing: val_list.txt"]
    (tmp_path / "images/val_list.txt").write_text("val/b.jpg 0\n")
    assert look(str(tmp_path), "imagenet", "image_lists", False)["state"] == "complete"
    assert look(str(tmp_path), "imagenet", "images", False)["files"] == 1


def test_the_small_set_may_have_any_number_of_images():
    sizes = {f"{part}/{n}/a.jpg": 9 for part in ("train", "val") for n in range(8)}
    assert lacking("small", "images", sizes) == []
    assert lacking("small", "images", {**sizes, "val/3/a.jpg": 0}) == [
        "1 of 8 files is empty: val/3/a.jpg"
    ]


def form(digest="ab" * 32, problems=(), state=""):
    state = state or ("incomplete" if problems else "complete")
    size = 0 if state == "absent" else 3 << 20
    return {
        "state": state,
        "problems": list(problems),
        "files": 2,
        "bytes": size,
        "digest": digest,
    }


def test_nodes_that_agree_have_no_problem():
    found = agreement({"a": {"tfrecord": form()}, "b": {"tfrecord": form()}}, ["tfrecord"])
    assert found["problems"] == []
    assert found["rows"][1] == {
        "node": "b",
        "form": "tfrecord",
        "state": "complete",
        "files": 2,
        "MiB": 3.0,
        "digest": "abababababab",
        "what": "",
    }


def test_complete_sets_that_differ_are_reported():
    nodes = {"a": form(), "b": form("cd" * 32), "c": form()}
    found = agreement({name: {"images": one} for name, one in nodes.items()}, [])
    assert found["problems"] == ["images: the files of a, c and b differ"]


def test_a_problem_names_node_and_form():
    found = agreement({"a": {"images": form(problems=["it burnt"])}}, [])
    assert found["problems"] == ["a: images: it burnt"]


def test_only_wanted_layouts_are_required():
    absent = {"a": {"recordio": form("", state="absent")}}
    assert agreement(absent, [])["problems"] == []
    assert agreement(absent, ["recordio"])["problems"] == ["a: recordio: there is no such folder"]


def test_empty_images_are_named_in_the_order_of_their_paths():
    sizes = {f"{part}/c{n}/{n}.jpg": 1 for part in ("train", "val") for n in range(8)}
    sizes |= {"train/c1/b.jpg": 0, "train/c0/z.jpg": 0, "val/c0/a.jpg": 0}
    (train, val) = lacking("small", "images", sizes)
    assert train.index("train/c0/z.jpg") < train.index("train/c1/b.jpg")
    assert "val/c0/a.jpg" in val and "train" not in val


def test_what_is_no_file_is_missing_and_never_waited_for(tmp_path):
    for part in ("train", "val"):
        (tmp_path / "images" / part / "0").mkdir(parents=True)
        (tmp_path / "images" / part / "0/a.jpg").write_text("x")
    os.mkfifo(tmp_path / "images/train/0/b.jpg")
    (tmp_path / "images/val/0/b.jpg").symlink_to(tmp_path / "nowhere")
    assert look(str(tmp_path), "small", "images", False)["files"] == 2
    (tmp_path / "tfrecord").mkdir()
    (tmp_path / "tfrecord/train-00000").write_bytes(b"")
    (tmp_path / "dali_idx").mkdir()
    index = tmp_path / "dali_idx/train-00000"
    os.mkfifo(index)
    missing = missing_indexes(str(tmp_path), str(tmp_path / "dali_idx"))
    assert missing == [(str(tmp_path / "tfrecord/train-00000"), str(index))]
    assert look(str(tmp_path), "small", "dali_idx", False)["files"] == 0


def test_an_index_is_not_written_through_a_link(tmp_path):
    precious, shard = tmp_path / "precious", tmp_path / "shard"
    precious.write_text("precious")
    shard.write_bytes(b"")
    (tmp_path / "index.making").symlink_to(precious)
    write_index(str(shard), str(tmp_path / "index"))
    assert precious.read_text() == "precious"
    assert (tmp_path / "index").is_file() and not (tmp_path / "index").is_symlink()
