"""What launchers, terminals and crashes add does not change what is read."""

from __future__ import annotations

import random

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.logs import _text, tensorflow_official
from log_lines import LINE, lines

READERS = sorted(LINE)
VALUE = {
    "ai_rank": "accuracy",
    "bert_paddle": "step",
    "bert_pytorch": "step",
    "paddle_fluid": "seconds",
}


def values(source, name):
    reading = logs.read(source, name=name)
    assert reading["reader"] == name
    return list(reading["observations"].column(VALUE.get(name, "throughput")))


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "noise",
    [
        pytest.param(lambda line: line, id="none"),
        pytest.param(lambda line: line.replace("\n", "\r\n"), id="crlf"),
        pytest.param(lambda line: f"\x1b[32m{line[:-1]}\x1b[0m\n", id="ansi colour"),
        pytest.param(lambda line: f"10%|█▏ | 1/10 [00:01<00:09]\r20%|██ | 2/10\r{line}", id="bar"),
        pytest.param(lambda line: f"1/600 [..........]\b\b\b\b\b{line}", id="keras bar"),
        pytest.param(lambda line: f"host:1:2 [0] NCCL INFO Channel 00 : 0 1 2\n{line}", id="nccl"),
        pytest.param(lambda line: f"ips: 127.0.0.1\nips: None\n{line}", id="address"),
        pytest.param(lambda line: line.replace(" ", " \0", 2), id="nul"),
        pytest.param(lambda line: "\0\0\0" + line, id="nul before"),
    ],
)
def test_noise_does_not_change_the_values(name, noise):
    clean = lines(name)
    assert values("".join(map(noise, clean)), name) == values("".join(clean), name)


def test_what_a_bar_overwrites_is_a_line_of_its_own():
    assert _text.clean("1/600 [....]\b\b\b\bstep 7\n") == "1/600 [....]\nstep 7\n"


@pytest.mark.parametrize(("word", "is_on"), [("True", True), ("False", False)])
def test_tensorflow_says_whether_xla_compiles(word, is_on):
    assert tensorflow_official.identify(f"{{'enable_xla': {word}, 'x': 1}}")["xla"] is is_on


@pytest.mark.parametrize("name", READERS)
def test_bytes_that_are_no_utf_8_do_not_matter(name):
    clean = lines(name)
    dirty = b"".join(b"\xff\xfe caf\xe9 \x80\n" + line.encode() for line in clean)
    assert values(dirty, name) == values("".join(clean), name)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_other_encodings_are_read(name, codec):
    text = "".join(lines(name))
    assert values(text.encode(codec), name) == values(text, name)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "tag",
    [
        "[1,{0}]<stdout>:",
        "Mon Jun 13 17:45:27 2022[1,{0}]<stderr>:",
        "[default{0}]:",
        "[rank{0}]: ",
        "{0}: ",
        "[{0}] ",
    ],
)
def test_a_launchers_tag_gives_the_rank(name, tag):
    clean = "".join(lines(name))
    tagged = "".join(tag.format(3) + line + "\n" for line in clean.splitlines())
    reading = logs.read(tagged)
    assert reading["reader"] == name
    assert values(tagged, name) == values(clean, name)
    assert {one["rank"] for one in reading["observations"]} == {3}


@pytest.mark.parametrize("name", [name for name in READERS if name != "tensorflow_ngc_nvlog"])
def test_interleaved_ranks_are_told_apart(name):
    ranks = {rank: [f"[1,{rank}]<stdout>:{line}" for line in lines(name, 30)] for rank in range(4)}
    choose = random.Random(7)
    mixed = []
    while any(ranks.values()):
        mixed.append(ranks[choose.choice([r for r in ranks if ranks[r]])].pop(0))
    reading = logs.read("".join(mixed))
    found = reading["observations"]
    assert len(found) == 120
    field = VALUE.get(name, "throughput")
    for rank in range(4):
        of_rank = [one[field] for one in found if one["rank"] == rank]
        assert of_rank == values("".join(lines(name)), name)
    assert len(reading["runs"]) == 1


@pytest.mark.parametrize("name", [name for name in READERS if name != "tensorflow_ngc_nvlog"])
def test_a_line_that_the_launcher_tagged_in_pieces_is_joined(name):
    tag, other = "[1,5]<stderr>:", "[1,2]<stderr>:"
    broken = []
    for line in lines(name):
        half = len(line) // 2
        broken.append(f"{tag}{line[:half]}{tag}{line[half:-1]}{other}words of another rank\n")
    clean = "".join(lines(name))
    assert values("".join(broken), name) == values(clean, name)


@pytest.mark.parametrize("name", ["pytorch_ngc", "tensorflow_ngc_benchmark", "mxnet_dllogger"])
def test_two_records_on_one_line_are_two_observations(name):
    clean = lines(name)
    joined = "".join(
        first.rstrip("\n") + " " + second for first, second in zip(clean[::2], clean[1::2])
    )
    assert values(joined, name) == values("".join(clean), name)


@pytest.mark.parametrize("name", READERS)
def test_a_log_cut_anywhere_gives_no_wrong_value(name):
    text = "".join(lines(name, 12))
    whole = values(text, name)
    start = len("".join(lines(name, 11)))
    for end in range(start + 1, len(text)):
        found = values(text[:end], name)
        assert found == whole[: len(found)], text[start:end]
        assert len(found) >= len(whole) - 1


@pytest.mark.parametrize("name", READERS)
def test_a_last_line_without_its_end_counts_if_it_is_whole(name):
    text = "".join(lines(name))
    assert values(text.rstrip("\n"), name) == values(text, name)


@pytest.mark.parametrize("name", READERS)
def test_lines_with_and_without_ends_bytes_and_text_are_the_same(name):
    text = "".join(lines(name))
    want = values(text, name)
    assert values(text.splitlines(), name) == want
    assert values([line.encode() for line in text.splitlines()], name) == want
    assert values((line for line in text.splitlines(keepends=True)), name) == want
    assert values(bytearray(text.encode()), name) == want
    assert values((text[at : at + 33].encode() for at in range(0, len(text), 33)), name) == want


def test_a_line_of_many_megabytes_is_no_trouble():
    line = "".join(lines("oneflow", 1))
    text = "x" * 3_000_000 + "\n" + line + "train: epoch 0, iter " * 200_000 + "\n" + line
    assert len(values(text, "oneflow")) == 2


def whole(reading):
    """Return a reading as plain data, to compare with another."""
    return {**reading, "observations": list(reading["observations"])}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("block", [64, 1000])
def test_a_log_read_in_many_blocks_is_the_log_read_in_one(name, block, monkeypatch):
    """With what may lie across the end of a block: letters of several bytes, a bar, a run's end."""
    bar = "10%|█▏ | 1/10\r20%|██ | 2/10\r\n"
    text = bar + bar.join(lines(name)) + "RuntimeError: CUDA out of memory.\n"
    text += "".join(lines(name, 12)) + "Traceback (most recent call last):\nKeyError: 'é'\n"
    want = whole(logs.read(text, reader=name))
    monkeypatch.setattr(_text, "BLOCK", block)
    pieces = (text.encode()[at : at + 7] for at in range(0, len(text.encode()), 7))
    for source in (text, text.encode(), text.splitlines(keepends=True), pieces):
        assert whole(logs.read(source, reader=name)) == want


@pytest.mark.parametrize("tagged", [0, -1])
def test_a_tag_on_the_first_or_on_the_last_line_alone_is_read(tagged):
    clean = lines("oneflow", 3)
    clean[tagged] = f"[1,5]<stdout>:{clean[tagged]}"
    found = logs.read("".join(clean))["observations"]
    assert len(found) == 3 and found[tagged]["rank"] == 5


def test_blocks_end_at_line_ends_and_lose_nothing(monkeypatch):
    text = "".join(f"{number} " * (number % 9) + "é\n" for number in range(400))
    monkeypatch.setattr(_text, "BLOCK", 100)
    found = list(_text.blocks(text))
    assert "".join(found) == text
    assert all(block.endswith("\n") for block in found)
    # A block is what was there with the first line end after 100 bytes, and no line is longer.
    assert max(len(block.encode()) for block in found) < 200


def test_a_log_of_megabytes_is_read_as_its_lines_one_by_one():
    noise = "host:1:2 [0] NCCL INFO Channel 00 : 0 1 2\n" * 40
    text = "".join(noise + line for line in lines("scalebench", 1200))
    assert len(text) > 4 * _text.BLOCK
    assert values(text, "scalebench") == values("".join(lines("scalebench", 1200)), "scalebench")
