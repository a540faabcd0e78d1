"""The lines of our own trainers: the iterations of the PyTorch trainer, and what all trainers add.

Source: workloads/common/report_lines.py. The other trainers print their iterations in the format
of their framework, which another reader reads; identity and ending they print as all of ours do.
"""

from __future__ import annotations

from json import JSONDecodeError
from typing import Any, Dict, cast

from ..records.factors import FORMER
from ..records.runs import NAMES_IN_LOGS, Header, Identity, LogEnd, RankWaits
from ..records.shape import MEASURED, check_plain, check_shape, parse_json
from ._format import NUMBER, Format

__all__ = ["END", "FORMAT", "START", "WAITS", "identify", "note", "note_waits"]

START = "[scalebench] header "
END = "[scalebench] end "
WAITS = "[scalebench] waits {"
_RANK = "[scalebench] rank {"
# More than the largest jobs have; those of further ranks are left out.
_MOST_RANKS = 1 << 17
_NEEDED = {RankWaits: ("every", "node", "rank", "step_seconds", "wait_seconds")}
# Our trainers write 40, and who is waited for is found in quadratic time.
_MOST_INTERVALS = 1000


def identify(head: str) -> Dict[str, Any]:
    """Return the settings of the header line and the number of rank lines; empty without a header.

    The factors that a benchmark declares, ``own_factors`` in the header, stand beside the others;
    a ``model`` that is a mapping of its dimensions is ``architecture``.

    :param head: the start of a run's text.
    :raises ValueError: a value is of another type.
    """
    header = _json(head, START, Header)
    own = header.get("own_factors") or {}
    kept = {*Identity.__annotations__, *(factor.name for factor in FORMER)}
    identity = {
        **{key: value for key, value in own.items() if key not in NAMES_IN_LOGS},
        **{key: value for key, value in header.items() if key in kept},
    }
    ranks = head.count(_RANK)
    if identity and ranks:
        identity["ranks_seen"] = ranks
    return identity


def note(text: str, summary: Dict[str, Any]) -> None:
    """Add the end line: iterations, seconds, peak memory in MiB, checksum, ``figures``."""
    end = _json(text, END, LogEnd)
    summary.update({key: value for key, value in end.items() if key in LogEnd.__annotations__})


def note_waits(text: str, summary: Dict[str, Any]) -> None:
    """Add the lines on the ranks' waits to ``waits``, a list of ``RankWaits``.

    A line that is cut off is left out.

    :raises ValueError: a value in one is of another type, or there are too many.
    """
    for part in text.split(WAITS)[1:]:
        try:
            waits = parse_json("{" + part.split("\n", 1)[0])
        except JSONDecodeError:
            continue
        check_shape(waits, RankWaits, WAITS[:-2], _NEEDED)
        if len(waits["wait_seconds"]) > _MOST_INTERVALS:
            raise ValueError(f"{WAITS[:-2]} has more than {_MOST_INTERVALS} wait_seconds")
        kept = summary.setdefault("waits", [])
        if len(kept) == _MOST_RANKS:
            return
        kept.append(waits)


def _json(text: str, words: str, kind: Any) -> Dict[str, Any]:
    """Return the JSON object after the last ``words``; empty without one, or where it is cut off.

    Null says what a missing key does: there is no such setting, or no such figure.

    :raises ValueError: a value in it is of another type than ``kind`` says.
    """
    at = text.rfind(words)
    if at < 0:
        return {}
    line = text[at + len(words) :].split("\n", 1)[0]
    try:
        content = parse_json(line)
    except JSONDecodeError:
        return {}
    if isinstance(content, dict):
        dimensions = content.get("model")
        if isinstance(dimensions, dict):
            content.update(architecture=dimensions, model=dimensions.get("name"))
        content = {key: value for key, value in content.items() if value is not None}
    check_shape(content, kind, words.strip(), {kind: ()})
    check_plain({key: content.get(key) for key in kind.__annotations__}, largest=MEASURED)
    return cast(Dict[str, Any], content)


FORMAT = Format(
    name="scalebench",
    source="workloads/common/report_lines.py of this project",
    needles=("/s step_time ",),
    observation=(
        r"[^\n]{0,120}?iteration (?P<step>\d{1,12}) epoch (?P<epoch>\d{1,9}) loss (?P<loss>"
        + NUMBER
        + ")"
        " throughput (?P<throughput>" + NUMBER + ") (?P<unit>[a-z]{1,32})/s"
        " step_time (?P<seconds>" + NUMBER + ") s time (?P<timestamp>[0-9.]{1,20})"
        r"(?=\s|$)"
    ),
    signature=r"\[scalebench\] (?:header|end) \{|iteration \d+ epoch \d+ loss \S+ throughput",
    end=(END,),
)
