"""Readers of training logs: text of any known format to one reading, a plain dict.

A reading has ``reader``, ``own_trainer`` (whether one of ours wrote the log), ``identity``,
``ending``, ``unit``, ``scope``, ``observations``, ``summary`` and ``runs``. One file per format;
each names the source of its format.
"""

from __future__ import annotations

from . import (
    ai_rank,
    bert_pytorch,
    bert_tensorflow,
    mxnet_dllogger,
    mxnet_speedometer,
    oneflow,
    paddle_fluid,
    paddle_suites,
    paddleclas,
    paddlenlp,
    pytorch_ngc,
    scalebench,
    tensorflow_ngc_benchmark,
    tensorflow_ngc_nvlog,
    tensorflow_ngc_train,
    tensorflow_official,
)
from ._columns import LIMIT, Observations
from ._detect import choose, fits
from ._ending import judge, scan
from ._engine import Engine
from ._text import blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

    from ._format import Format
    from ._text import Source

__all__ = ["READERS", "Observations", "read"]

READERS: Dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (
        ai_rank,
        bert_pytorch,
        bert_tensorflow,
        mxnet_dllogger,
        mxnet_speedometer,
        oneflow,
        paddle_fluid,
        paddle_suites,
        paddleclas,
        paddlenlp,
        pytorch_ngc,
        scalebench,
        tensorflow_ngc_benchmark,
        tensorflow_ngc_nvlog,
        tensorflow_ngc_train,
        tensorflow_official,
    )
}
UNDECIDED = 1 << 24  # how much of a text of no known format is kept


def read(
    source: Source, reader: str = "auto", name: str = "", limit: int = LIMIT
) -> Dict[str, Any]:
    """Read one log.

    :param source: text, bytes, a list of lines, or any iterable of pieces (an open file).
    :param reader: a key of :data:`READERS`, or ``auto``: the reader whose lines the text has.
    :param name: what to call the log in errors.
    :param limit: how many observations to keep; see :class:`Observations`.
    :returns: ``observations`` is an :class:`Observations`, the rest plain data. ``runs`` lists the
        runs in the file (first observation, count, identity, ending, summary); the last one's
        identity, ending and summary stand at the top.
    :raises ValueError: empty, of no known format, of more than one, not of the format that
        ``reader`` names, or no such reader. It names the log and the cause.
    """
    try:
        return _read(source, reader, limit)
    except ValueError as error:
        raise ValueError(f"{name or 'log'}: {error}") from None


def _read(source: Source, reader: str, limit: int) -> Dict[str, Any]:
    if reader != "auto" and reader not in READERS:
        raise ValueError(f"no reader named {reader!r}: use auto or one of {', '.join(READERS)}")
    engine = None if reader == "auto" else Engine(READERS[reader], limit)
    waiting: List[str] = []
    size = 0
    for block in blocks(source):
        waiting.append(block)
        size += len(block)
        if engine is None:
            found = fits(block, READERS)
            if found:
                engine = Engine(READERS[choose(found)], limit)
            elif size > UNDECIDED:
                waiting = waiting[-1:]
        while engine is not None and len(waiting) > 1:
            engine.feed(waiting.pop(0))
    if engine is None or (not "".join(waiting).strip() and not engine.position):
        raise ValueError(_why_not(waiting))
    for block in waiting:
        engine.feed(block, last=True)
    return engine.reading()


def _why_not(waiting: List[str]) -> str:
    """Say why a text has no reader, with the crash that may explain it."""
    text = "".join(waiting)
    if not text.strip():
        return "the log is empty"
    ending = judge({kind: (0, line) for kind, _, line in scan(text)}, -1, -1, False, False)
    crash = f"; it ends with {ending['kind']}: {ending['detail']}" if ending["detail"] else ""
    lines = text.count("\n") + 1
    return f"no known format in {lines} lines (sought: {', '.join(READERS)}){crash}"
