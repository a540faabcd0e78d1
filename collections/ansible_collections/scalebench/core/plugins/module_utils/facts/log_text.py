"""The reading and the facts of a log that is at hand as text, as plain data for playbooks."""

from __future__ import annotations

from .. import logs
from .facts import log_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping, Optional

__all__ = ["facts_of_text", "reading_of_text"]


def reading_of_text(text: str, reader: str = "auto", name: str = "log") -> Dict[str, Any]:
    """Return what ``logs.read`` does, with the observations as a list of dicts.

    :raises ValueError: not text, empty, or of no known format; it names the log and the cause.
    """
    reading = logs.read(text, reader=reader, name=name)
    return {**reading, "observations": list(reading["observations"])}


def facts_of_text(
    text: str,
    strategy: str = "mean_after_warmup",
    parameters: Optional[Mapping[str, Any]] = None,
    reader: str = "auto",
    expect: Optional[Mapping[str, Any]] = None,
    target_accuracy: Optional[float] = None,
    name: str = "log",
) -> Dict[str, Any]:
    """Return the facts of a log; see ``facts.log_facts``.

    :raises ValueError: as :func:`reading_of_text`; or no such strategy or parameter.
    """
    reading = logs.read(text, reader=reader, name=name)
    return log_facts(
        reading, strategy, parameters, expect, path=name, target_accuracy=target_accuracy
    )
