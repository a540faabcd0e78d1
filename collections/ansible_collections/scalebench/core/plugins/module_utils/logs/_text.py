"""The text of a log in blocks of whole lines, without the additions of terminals and launchers."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Iterator, List, Union

    Source = Union[str, bytes, Iterable[Union[str, bytes]]]

__all__ = ["BLOCK", "blocks", "clean"]

BLOCK = 1 << 18
LONGEST_LINE = 1 << 20
TRACEBACK = 20_000  # bytes in which the last line of a traceback, its exception, is sought

ANSI = r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\n]{0,500}\x07|[@-Z\\^_])"
# Open MPI's -tag-output and -timestamp-output: "Mon Jun 13 17:45:27 2022[1,0]<stdout>:"
TAG = r"((?:\w{3} \w{3} {1,2}\d{1,2} \d\d:\d\d:\d\d \d{4})?\[\d{1,9},\d{1,9}\]<std\w{3}>:)"


def blocks(source: Source) -> Iterator[str]:
    """Yield clean text; every block except the last one ends with a line end.

    :param source: text, bytes, a list or tuple of lines (with or without line ends), or any other
        iterable of pieces, which are joined unchanged (an open file, a generator of blocks).
        Bytes are decoded as UTF-8, with replacement of invalid ones.
    :raises ValueError: ``source`` or one of its items is neither text nor bytes.
    """
    if isinstance(source, str):
        if len(source) <= BLOCK:
            yield clean(source)
            return
        text = source
        source = (text[at : at + BLOCK] for at in range(0, len(text), BLOCK))
    elif isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        source = (data[at : at + BLOCK] for at in range(0, len(data), BLOCK))
    lines = isinstance(source, (list, tuple))
    yield from _cut(_pieces(map(_line, source) if lines else source))


def clean(text: str) -> str:
    """Return text without NUL, ANSI sequences and carriage returns, and with a line per rank."""
    if "\0" in text:
        text = text.replace("\0", "")
    if "\x1b" in text:
        text = re.sub(ANSI, "", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\b" in text:
        text = re.sub("\b+", "\n", text)
    if "]<std" in text:
        lines = text.split("\n")
        if text.count("]<std") > sum(["]<std" in line for line in lines]):
            text = "\n".join(
                [_untangle(line) if line.count("]<std") > 1 else line for line in lines]
            )
    return text


def _line(item: object) -> object:
    if isinstance(item, str) and not item.endswith("\n"):
        return item + "\n"
    if isinstance(item, bytes) and not item.endswith(b"\n"):
        return item + b"\n"
    return item


def _pieces(source: object) -> Iterator[bytes]:
    try:
        items = iter(source)  # type: ignore[call-overload]
    except TypeError:
        raise ValueError(
            f"a log is text, bytes or lines of them, not {type(source).__name__}"
        ) from None
    for item in items:
        if isinstance(item, str):
            yield item.encode("utf-8", "replace")
        elif isinstance(item, bytes):
            yield item
        else:
            raise ValueError(f"a line of a log is text or bytes, not {type(item).__name__}")


def _cut(pieces: Iterable[bytes]) -> Iterator[str]:
    pending: List[bytes] = []
    size = 0
    for piece in pieces:
        pending.append(piece)
        size += len(piece)
        if size < BLOCK:
            continue
        whole = b"".join(pending)
        end = max(whole.rfind(b"\n"), whole.rfind(b"\r", 0, len(whole) - 1)) + 1
        if not end and size < LONGEST_LINE:
            pending = [whole]
            continue
        end = end or len(whole)
        begun = whole.rfind(b"Traceback (most", max(0, end - TRACEBACK), end)
        end = whole.rfind(b"\n", 0, max(0, begun)) + 1 or end
        yield clean(whole[:end].decode("utf-8", "replace"))
        pending, size = [whole[end:]], len(whole) - end
    if size:
        yield clean(b"".join(pending).decode("utf-8", "replace"))


def _untangle(line: str) -> str:
    """Return a line with the pieces of one rank joined, and a new line at every other rank."""
    head, *tagged = re.split(TAG, line)
    if not tagged:
        return line
    tag, *rest = tagged
    rank = tag[tag.index("[") :]
    parts = [head, tag, rest[0]]
    for tag_, words in zip(rest[1::2], rest[2::2]):
        if tag_[tag_.index("[") :] != rank:
            rank = tag_[tag_.index("[") :]
            parts += ["\n", tag_]
        parts.append(words)
    return "".join(parts)
