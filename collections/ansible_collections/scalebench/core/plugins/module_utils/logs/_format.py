"""The description of one log format as data, and helpers to parse the settings in a log."""

from __future__ import annotations

import re

from ..records.runs import LogEnd
from ._columns import ABSURD, TINY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

    Fields = Mapping[str, Tuple[str, str, Callable[[str], Any]]]

__all__ = [
    "LEAD",
    "NUMBER",
    "STAMP",
    "Format",
    "add_metrics",
    "count",
    "counts",
    "evaluate",
    "fields",
    "number",
    "precision",
    "truth",
]

NUMBER = r"[-+0-9.eEnNaAiIfF]{1,32}"
# What readers add to a summary under names of their own.
_TAKEN = {*LogEnd.__annotations__, "evaluations", "finished", "message", "rows", "started", "table"}
_TAKEN |= {"throughput_key", "time_to_train", "total_time", "waits"}
STAMP = r"\d[-/\d]{9}[ T][\d:.,]{7,17}\d"
# The start of a line: a time, and other prefixes of loggers.
LEAD = r"(?:[^\n]{0,60}?(?P<timestamp>" + STAMP + r"))?[^\n]{0,120}?"


class Format:
    """One log format.

    :param name: name of the reader.
    :param source: origin of the format: project, file, and how it was learnt.
    :param needles: an observation line contains one of these texts (tested before any pattern).
    :param pair: an observation is two lines, the first with the first needle.
    :param observation: pattern of an observation from the start of its line, after a launcher's
        tag; its groups are named as in ``_columns.FIELDS``, or ``unit``. ``x_2`` is ``x`` where
        another version of the software prints it in another place.
    :param signature: pattern that only this format matches; it begins with fixed text.
    :param unit: unit of the throughput, where the line does not print it.
    :param scope: what a printed throughput refers to: ``global``, ``per_device`` or ``rank``.
    :param mark: fixed text at the start of a record; a line may contain several records.
    :param fallback: chosen only where no other format matches.
    :param yields_to: readers that are chosen instead where their lines are there as well.
    :param spans: a printed throughput is that of all steps since the line before it; without,
        that of the line's own step.
    :param whole: ``note`` gets the observation lines as well.
    :param start: texts that begin a run; a log may contain several runs in sequence.
    :param end: texts that only a complete run prints.
    :param closes: whether every complete run prints one of ``end``.
    :param identify: (head of a run's text) -> the settings that it prints.
    :param notes: ``note`` is called for text that contains one of these.
    :param note: (text, summary so far) -> None; adds the results that the log prints itself.
    :param finish: (run, observations) -> None; the last step, may derive values from both.
    """

    def __init__(
        self,
        name: str,
        source: str,
        needles: Tuple[str, ...],
        observation: str,
        signature: str,
        unit: str = "samples/s",
        scope: str = "global",
        pair: bool = False,
        mark: str = "",
        whole: bool = False,
        fallback: bool = False,
        yields_to: Tuple[str, ...] = (),
        spans: bool = False,
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
        self.yields_to = yields_to
        self.spans = spans
        self.start = start
        self.end = end
        self.closes = closes
        self.identify = identify
        self.notes = notes
        self.note = note
        self.finish = finish


def fields(head: str, wanted: Fields, **known: Any) -> Dict[str, Any]:
    """Return the settings in a text.

    The last match is used, as a later line overrides; a setting that is not printed, printed as
    None, or cannot be converted is left out.

    :param wanted: by key a text that must be present, a pattern, and a conversion.
    :param known: settings that stand first, and that the text may override.
    """
    settings = known
    for key, (needle, pattern, convert) in wanted.items():
        if needle not in head:
            continue
        for text in reversed(re.findall(pattern, head)):
            value = _converted(text, convert)
            if value is not None:
                settings[key] = value
                break
    return settings


def _converted(text: str, convert: Callable[[str], Any]) -> Any:
    if text in ("None", ""):
        return None
    try:
        return convert(text)
    except (ValueError, OverflowError):
        return None


def count(text: str) -> int:
    """Return a whole number of at most nine digits.

    :raises ValueError: the text is something else.
    """
    if not re.fullmatch("[0-9]{1,9}", text):
        raise ValueError(f"{text!r:.80} is no count")
    return int(text)


def counts(given: Mapping[str, str], **names: str) -> Dict[str, int]:
    """Return the settings that are given as counts, by the names that they have in ``given``."""
    printed = ((setting, _converted(given.get(name, ""), count)) for setting, name in names.items())
    return {setting: value for setting, value in printed if value is not None}


def number(text: str) -> Union[int, float, None]:
    """Return a whole or decimal number; None if the text is no number, or an absurd one."""
    try:
        value = float(text)
    except ValueError:
        return None
    if not TINY < abs(value) < ABSURD and value:
        return None
    return int(value) if value == int(value) and "." not in text else value


def truth(text: str) -> bool:
    """Return a printed flag: True for True, true, 1, yes, on; False for any other text."""
    return text.strip().lower() in {"true", "1", "yes", "on"}


def precision(amp: Optional[bool], dtype: str = "") -> str:
    """Return the precision of an AMP flag and a data type: amp, fp16, fp32, or the type."""
    if amp:
        return "amp"
    return {"float16": "fp16", "float32": "fp32", "half": "fp16"}.get(dtype, dtype or "fp32")


def add_metrics(summary: Dict[str, Any], printed: Mapping[str, float]) -> None:
    """Add metrics by the names that a log prints, but for those that mean something else there."""
    summary.update((name, value) for name, value in printed.items() if name not in _TAKEN)


def evaluate(
    summary: Dict[str, Any], accuracy: float, epoch: Optional[int], timestamp: Optional[float]
) -> None:
    """Add an evaluation to a summary: top-1 accuracy in percent, epoch as printed, time in s.

    An epoch is added once, also where every rank prints it; what is no accuracy is left out.
    """
    if not 0 <= accuracy <= 100:
        return
    done: List[Dict[str, Any]] = summary.setdefault("evaluations", [])
    if epoch is None or not done or done[-1]["epoch"] != epoch:
        done.append({"epoch": epoch, "timestamp": timestamp, "accuracy": accuracy})
