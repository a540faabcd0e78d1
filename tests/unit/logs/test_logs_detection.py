"""Which reader is chosen, and what is said where none or more than one fits."""

from __future__ import annotations

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from log_lines import LINE, lines

NOISE = "2021-05-25 19:09:00.843542: I tensorflow/stream_executor/dso_loader.cc:48] libcudart\n"


@pytest.mark.parametrize("name", sorted(LINE))
def test_one_observation_is_enough_to_choose(name):
    assert logs.read("".join(lines(name, 1)))["reader"] == name


@pytest.mark.parametrize("name", sorted(LINE))
def test_noise_before_the_first_observation_does_not_matter(name):
    reading = logs.read(NOISE * 20_000 + "".join(lines(name)))
    assert reading["reader"] == name
    assert len(reading["observations"]) == 30


@pytest.mark.parametrize("first", ["paddleclas", "mxnet_speedometer"])
@pytest.mark.parametrize("second", ["oneflow", "pytorch_ngc"])
def test_two_formats_that_fit_equally_are_an_error(first, second):
    with pytest.raises(ValueError, match=rf"a\.log: more than one reader fits: .*{second}"):
        logs.read("".join(lines(first) + lines(second)), name="a.log")
    reading = logs.read("".join(lines(first) + lines(second)), reader=first)
    assert len(reading["observations"]) == 30


@pytest.mark.parametrize(("others", "ambiguous"), [(14, False), (15, False), (16, True)])
def test_a_format_fits_too_where_it_has_more_than_half_as_many_lines(others, ambiguous):
    text = "".join(lines("oneflow", 30) + lines("pytorch_ngc", others))
    if not ambiguous:
        assert logs.read(text)["reader"] == "oneflow"
        return
    with pytest.raises(ValueError, match=r"fits: oneflow \(30 lines\), pytorch_ngc \(16 lines\)"):
        logs.read(text)


def test_a_text_without_a_format_is_kept_up_to_a_size_and_its_end_told(monkeypatch):
    monkeypatch.setattr(logs, "UNDECIDED", 1000)
    monkeypatch.setattr(logs._text, "BLOCK", 200)
    text = "nothing known\n" * 500 + "Traceback (most recent call last):\nKeyError: 'x'\n"
    with pytest.raises(ValueError, match=r"no known format .* traceback: KeyError: 'x'"):
        logs.read(text)
    assert logs.read(text + "".join(lines("oneflow")))["reader"] == "oneflow"
    with pytest.raises(ValueError, match="no known format in 100 lines"):
        logs.read("no format\n" * 100)


def test_a_few_lines_of_another_format_do_not_matter():
    text = "".join(lines("paddleclas", 100) + lines("ai_rank", 3))
    reading = logs.read(text)
    assert reading["reader"] == "paddleclas"
    assert len(reading["summary"]["evaluations"]) == 3


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("", "the log is empty"),
        (b"", "the log is empty"),
        ([], "the log is empty"),
        ("\n \n\r\n", "the log is empty"),
        ("hello\nworld\n", "no known format in 2 lines"),
        (b"\x7fELF\x02\x01\x01\x00" * 100, "no known format"),
        ("ips: 127.0.0.1\n" * 10, "no known format"),
        (
            'Traceback (most recent call last):\n  File "a.py"\nImportError: no torch\n',
            "no known format in 3 lines .* ends with traceback: ImportError: no torch",
        ),
        (7, "a log is text, bytes or lines of them, not int"),
        ([7], "a line of a log is text or bytes, not int"),
    ],
)
def test_what_is_no_log_is_named_with_the_cause(source, cause):
    with pytest.raises(ValueError, match=rf"^x/y\.log: .*{cause}"):
        logs.read(source, name="x/y.log")


def test_the_wrong_reader_says_so():
    with pytest.raises(ValueError, match=r"^a: no line of format oneflow"):
        logs.read("".join(lines("scalebench")), reader="oneflow", name="a")
    with pytest.raises(
        ValueError, match=r"^a: no reader named 'onefow': use auto or one of ai_rank"
    ):
        logs.read("x", reader="onefow", name="a")


def test_the_limit_keeps_memory_flat_and_the_mean_exact():
    text = "".join(lines("scalebench", 1000))
    whole, short = logs.read(text), logs.read(text, limit=100)
    assert len(short["observations"]) == 100
    assert short["observations"].beyond["count"] == 900
    total = sum(whole["observations"].column("throughput")[100:])
    assert short["observations"].beyond["sum"] == pytest.approx(total)
