"""A data set with one folder per class: listing, cropping and decoding images."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from common.report_lines import BadDataError
from resnet50 import images


def test_labels_follow_the_names_of_the_class_folders(tmp_path):
    for name in ("bee/2.png", "bee/1.JPG", "ant/a.jpeg", "ant/notes.txt"):
        (tmp_path / "images/train" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "images/train" / name).touch()
    (tmp_path / "images/train/stray.png").touch()
    listed = images.labelled_images(tmp_path)
    assert [(Path(path).name, label) for path, label in listed] == [
        ("a.jpeg", 0),
        ("1.JPG", 1),
        ("2.png", 1),
    ]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ValueError, match="nowhere/images/train is not a folder"):
        images.labelled_images(tmp_path / "nowhere")


def test_a_folder_without_classes_is_refused(tmp_path):
    (tmp_path / "images/train").mkdir(parents=True)
    with pytest.raises(ValueError, match="has no class folders"):
        images.labelled_images(tmp_path)


def test_a_folder_without_images_is_refused(tmp_path):
    (tmp_path / "images/train/ant").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"no \.bmp, .*in the class folders"):
        images.labelled_images(tmp_path)


def test_more_classes_than_the_model_has_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(images, "CLASSES", 1)
    (tmp_path / "ant").mkdir()
    (tmp_path / "bee").mkdir()
    with pytest.raises(ValueError, match="2 class folders, the model 1 classes"):
        images.class_folders(tmp_path)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (500, 3), (3, 500), (640, 480)])
def test_a_crop_lies_within_the_image(width, height):
    for seed in range(200):
        left, top, right, bottom = images.random_crop(width, height, random.Random(seed))
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height


@pytest.mark.parametrize(
    ("sides", "box"),
    [((256, 256), (16, 16, 240, 240)), ((512, 256), (144, 16, 368, 240)), ((1, 1), (0, 0, 1, 1))],
)
def test_the_middle_of_an_image_is_evaluated(sides, box):
    assert images.central_square(*sides) == box


def test_an_evaluated_image_is_always_the_same(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow to write an image")
    path = tmp_path / "noise.png"
    image.effect_noise((60, 40), 80).convert("RGB").save(path)
    first = images.read_for_evaluation(path, 8)
    assert first == images.read_for_evaluation(path, 8)
    assert len(first) == 8 * 8 * 3


def test_an_image_becomes_rows_of_rgb_bytes(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow to write an image")
    path = tmp_path / "red.png"
    image.new("RGB", (40, 30), (255, 0, 0)).save(path)
    assert images.read_image(path, 8, random.Random(1)) == b"\xff\0\0" * 64


@pytest.mark.parametrize("content", [b"", b"no image"])
def test_a_file_that_is_not_an_image_is_named(tmp_path, content):
    pytest.importorskip("PIL", reason="needs Pillow to find out")
    path = tmp_path / "broken.png"
    path.write_bytes(content)
    with pytest.raises(BadDataError, match=r"cannot decode .*broken\.png"):
        images.read_image(path, 8)


def test_a_truncated_image_is_named(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow to write an image")
    path = tmp_path / "half.jpg"
    image.effect_noise((200, 200), 80).convert("RGB").save(path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(BadDataError, match=r"half\.jpg"):
        images.read_image(path, 8)
