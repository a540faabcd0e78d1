"""What launchers, terminals and crashes add does not change what is read."""

from __future__ import annotations

import random

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from log_lines import LINE, lines

READERS = sorted(LINE)
VALUE = {"ai_rank": "accuracy", "bert_pytorch": "step", "paddle_fluid": "seconds"}


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
