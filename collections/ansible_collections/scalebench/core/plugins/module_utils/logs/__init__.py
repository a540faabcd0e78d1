"""Readers of training logs: the text of any known format becomes one reading, a plain dict.

A reading has ``reader``, ``own_trainer`` (whether one of ours wrote the log), ``identity``,
``ending``, ``unit``, ``scope``, ``observations``, ``summary`` and ``runs``. Every format names its
source.
"""

from __future__ import annotations

import re
from traceback import extract_tb

from . import (
    ai_rank,
    bert,
    collective,
    mxnet,
    nccl_tests,
    oneflow,
    paddle_fluid,
    paddleclas,
    paddlenlp,
    pytorch_ngc,
    scalebench,
    tensorflow_ngc,
    tensorflow_official,
)
from ._columns import LIMIT, Observations
from ._ending import judge, scan
from ._engine import Engine
from ._text import blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

    from ._format import Format
    from ._text import Source

__all__ = [
    "FILE_ENDINGS",
    "READERS",
    "UNFORESEEN",
    "Observations",
    "UnforeseenError",
    "read",
    "unforeseen",
]

# Ends of the names of files that are logs.
FILE_ENDINGS = (".log", ".txt", ".out", "_log")
READERS: Dict[str, Format] = {
    format_.name: format_
    for format_ in (
        ai_rank.FORMAT,
        bert.ONEFLOW,
        bert.PADDLE,
        bert.PYTORCH,
        bert.TENSORFLOW,
        collective.FORMAT,
        mxnet.DLLOGGER,
        mxnet.SPEEDOMETER,
        nccl_tests.FORMAT,
        oneflow.FORMAT,
        paddle_fluid.FORMAT,
        paddlenlp.SUITES,
        paddleclas.FORMAT,
        paddlenlp.PRETRAINING,
        pytorch_ngc.FORMAT,
        scalebench.FORMAT,
        tensorflow_ngc.BENCHMARK,
        tensorflow_ngc.NVLOG,
        tensorflow_ngc.TRAIN,
        tensorflow_official.FORMAT,
    )
}
# What text of anybody may make us raise that nobody thought of: it costs only this log.
UNFORESEEN = (ArithmeticError, AttributeError, LookupError, TypeError)
UNDECIDED = 1 << 24  # characters of a text without a known format that are kept
CLOSE = 2


class UnforeseenError(ValueError):
    """An error of ours that a log brought up: it says nothing about the log."""


def unforeseen(name: str, error: BaseException) -> UnforeseenError:
    """Return what to raise for one of :data:`UNFORESEEN`; the message has its place.

    :param name: of the log.
    """
    place = extract_tb(error.__traceback__)[-1]
    file = "/".join(place.filename.split("/")[-2:])
    return UnforeseenError(
        f"{name or 'log'}: Scalebench cannot read it; please report {error!r:.200} at"
        f" {file}:{place.lineno}"
    )


def read(
    source: Source,
    reader: str = "auto",
    name: str = "",
    limit: int = LIMIT,
    known: Optional[Mapping[str, Any]] = None,
) -> Dict[str, Any]:
    """Return the reading of one log.

    :param source: text, bytes, a list of lines, or any iterable of pieces (an open file).
    :param reader: a key of :data:`READERS`, or ``auto`` to recognise the format.
    :param name: of the log, for error messages.
    :param limit: number of observations to keep; see :class:`Observations`.
    :param known: ``batch_size_per_device``, ``world_size`` and ``nodes`` by the log's path or plan,
        to reckon with what the log itself does not state.
    :returns: ``observations`` is an :class:`Observations`, the rest plain data. ``runs`` lists the
        runs in the log (first observation, count, identity, ending, summary, ``assumed``: the
        identity with what is ``known``, ``steps_per_line``); identity, ending and summary of the
        last run are also at the top level.
    :raises ValueError: the log is empty, has no known format, several formats, or not that of
        ``reader``; or the reader is unknown. The message names the log and the cause.
    """
    try:
        return _read(source, reader, limit, known or {})
    except ValueError as error:
        raise ValueError(f"{name or 'log'}: {error}") from None
    except UNFORESEEN as error:
        raise unforeseen(name, error) from None


def _read(source: Source, reader: str, limit: int, known: Mapping[str, Any]) -> Dict[str, Any]:
    if reader != "auto" and reader not in READERS:
        raise ValueError(f"no reader named {reader!r}: use auto or one of {', '.join(READERS)}")
    engine = None if reader == "auto" else Engine(READERS[reader], limit, known)
    waiting: List[str] = []
    size = 0
    for block in nccl_tests.as_table(blocks(source)):
        waiting.append(block)
        size += len(block)
        if engine is None:
            matches = _fits(block, READERS)
            if matches:
                engine = Engine(READERS[_choose(matches)], limit, known)
            elif size > UNDECIDED:
                waiting = waiting[-1:]
        while engine is not None and len(waiting) > 1:
            engine.feed(waiting.pop(0))
    if engine is None or (not "".join(waiting).strip() and not engine.position):
        raise ValueError(_why_not(waiting))
    for block in waiting:
        engine.feed(block, last=True)
    return engine.reading()


def _fits(text: str, readers: Mapping[str, Format]) -> Dict[str, int]:
    """Return by matching reader the number of its signature lines; 1 if it is the only one."""
    matches = _with_words(text, readers, lambda format_: format_.needles)
    matches = matches or _with_words(text, readers, lambda format_: format_.end)
    certain = [name for name in matches if not readers[name].fallback]
    if certain:
        matches = dict.fromkeys(certain, 1)
    matches = {name: 1 for name in matches if matches.keys().isdisjoint(readers[name].yields_to)}
    if len(matches) > 1:
        for name in matches:
            matches[name] = sum(1 for _ in re.finditer(readers[name].signature, text))
    return matches


def _with_words(
    text: str, readers: Mapping[str, Format], words_of: Callable[[Format], Tuple[str, ...]]
) -> Dict[str, int]:
    """Return, as keys, the readers of which the text contains some words and the signature."""
    return {
        name: 1
        for name, format_ in readers.items()
        if any(words in text for words in words_of(format_)) and re.search(format_.signature, text)
    }


def _choose(matches: Mapping[str, int]) -> str:
    """Return the reader with the most signature lines.

    :raises ValueError: another reader has more than half as many, so that the format is ambiguous.
    """
    ranked = sorted(matches, key=lambda key: -matches[key])
    close = [key for key in ranked if matches[key] * CLOSE > matches[ranked[0]]]
    if len(close) > 1:
        counts = ", ".join(f"{key} ({matches[key]} lines)" for key in close)
        raise ValueError(f"more than one reader fits: {counts}; name one with reader")
    return ranked[0]


def _why_not(waiting: List[str]) -> str:
    """Return why a text has no reader, with the crash that may explain it."""
    text = "".join(waiting)
    if not text.strip():
        return "the log is empty"
    ending = judge({kind: (0, line) for kind, _, line in scan(text)}, -1, -1, False, False)
    crash = f"; it ends with {ending['kind']}: {ending['detail']}" if ending["detail"] else ""
    lines = len(text.splitlines())
    return f"no known format in {lines} lines (sought: {', '.join(READERS)}){crash}"
