"""What one log format looks like, as data, and small helpers to read what it says of itself."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

    Fields = Mapping[str, Tuple[str, str, Callable[[str], Any]]]

__all__ = [
    "LEAD",
    "NUMBER",
    "STAMP",
    "Format",
    "evaluate",
    "fields",
    "number",
    "precision",
    "truth",
]

NUMBER = r"[-+0-9.eEnNaAiIfF]{1,32}"
STAMP = r"\d[-/\d]{9}[ T][\d:.,]{7,17}\d"
# What may stand on a line before its own words: a time and what else loggers add.
LEAD = r"(?:[^\n]{0,60}?(?P<timestamp>" + STAMP + r"))?[^\n]{0,120}?"


class Format:
    """One log format.

    :param name: name of the reader.
    :param source: where the format comes from: project, file, and how it was learnt.
    :param needles: an observation line has one of these texts (a cheap test before any pattern).
    :param pair: an observation is two lines, the first with the first needle.
    :param observation: pattern of an observation from the start of its line, behind a launcher's
        tag; its groups are named as in ``_columns.FIELDS``, or ``unit``. ``x_2`` is ``x`` where
        another version of the software prints it at another place.
    :param signature: pattern that only this format has; it begins with fixed text.
    :param unit: unit of the throughput, where the line does not say it.
    :param scope: what a printed throughput counts: ``global``, ``per_device`` or ``rank``.
    :param mark: fixed text with which a record begins; one line may hold several records.
    :param fallback: chosen only where no other format fits.
    :param whole: ``note`` is to see observation lines as well.
    :param start: texts that begin a run; a log may hold several runs one after another.
    :param end: texts that only a complete run prints.
    :param closes: whether every complete run prints one of ``end``.
    :param identify: head of a run's text -> what it says of itself.
    :param notes: texts of lines that ``note`` wants to see.
    :param note: (block, summary so far) -> None; adds what the log itself sums up.
    :param finish: (run, observations) -> None; last step, may derive from both.
    """

    def __init__(
        self,
        name: str,
        source: str,
        needles: Tuple[str, ...],
        observation: str,
        signature: str,
        unit: str = "images/s",
        scope: str = "global",
        pair: bool = False,
        mark: str = "",
        whole: bool = False,
        fallback: bool = False,
        start: Tuple[str, ...] = (),
        end: Tuple[str, ...] = (),
        closes: bool = True,
        identify: Optional[Callable[[str], Dict[str, Any]]] = None,
        notes: Tuple[str, ...] = (),
        note: Optional[Callable[[str, Dict[str, Any]], None]] = None,
        finish: Optional[Callable[[Dict[str, Any], Any], None]] = None,
    ) -> None:
        self.name = name
        self.source = source
        self.needles = needles
        self.observation = observation
        self.signature = signature
        self.unit = unit
        self.scope = scope
        self.pair = pair
        self.mark = mark
        self.whole = whole
        self.fallback = fallback
        self.start = start
        self.end = end
        self.closes = closes
        self.identify = identify
        self.notes = notes
        self.note = note
        self.finish = finish


def fields(head: str, wanted: Fields) -> Dict[str, Any]:
    """Look up settings in a text: ``{key: (a text that must be there, pattern, conversion)}``.

    The last match counts, as a later line overrides; what is not printed, is printed as None, or
    cannot be converted is left out.
    """
    found: Dict[str, Any] = {}
    for key, (needle, pattern, convert) in wanted.items():
        if needle not in head:
            continue
        for text in reversed(re.findall(pattern, head)):
            value = _converted(text, convert)
            if value is not None:
                found[key] = value
                break
    return found


def _converted(text: str, convert: Callable[[str], Any]) -> Any:
    if text in ("None", ""):
        return None
    try:
        return convert(text)
    except (ValueError, OverflowError):
        return None


def number(text: str) -> Union[int, float]:
    """Read a whole or a decimal number.

    :raises ValueError: it is none, or not finite.
    """
    value = float(text)
    if value - value != 0:
        raise ValueError(f"{text} is not finite")
    return int(value) if value == int(value) and "." not in text else value


def truth(text: str) -> bool:
    """Read a printed flag: True, true, 1, yes, on; anything else is False."""
    return text.strip().lower() in {"true", "1", "yes", "on"}


def precision(amp: Optional[bool], dtype: str = "") -> str:
    """Name the precision that an AMP flag and a data type make: amp, fp16, fp32, or the type."""
    if amp:
        return "amp"
    return {"float16": "fp16", "float32": "fp32", "half": "fp16"}.get(dtype, dtype or "fp32")


def evaluate(
    summary: Dict[str, Any], accuracy: float, epoch: Optional[int], timestamp: Optional[float]
) -> None:
    """Add an evaluation: top-1 accuracy in percent, epoch as printed, time in s."""
    done: List[Dict[str, Any]] = summary.setdefault("evaluations", [])
    done.append({"epoch": epoch, "timestamp": timestamp, "accuracy": accuracy})
