"""Read log files where they lie and return their facts: what module training_log_facts does."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Iterator, List

from .. import logs
from ..facts.facts import log_facts
from ..strategies import parameters_of

__all__ = ["ARGUMENTS", "read_logs"]

ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "path": {"type": "list", "elements": "path", "required": True},
    "reader": {"type": "str", "default": "auto"},
    "strategy": {"type": "str", "default": "mean_after_warmup"},
    "parameters": {"type": "dict", "default": {}},
    "expect": {"type": "dict", "default": {}},
    "observations": {"type": "bool", "default": False},
    "target_accuracy": {"type": "float"},
}
SUFFIXES = (".log", ".txt", ".out", "_log")


def _files(paths: List[str]) -> Iterator[Path]:
    """Yield the logs that paths name; a folder is searched at any depth."""
    for path in map(Path, paths):
        if not path.is_dir():
            yield path
            continue
        yield from sorted(p for p in path.rglob("*") if p.name.endswith(SUFFIXES) and p.is_file())


def _facts_of(path: Path, given: Dict[str, Any]) -> Dict[str, Any]:
    """Read one file, in pieces."""
    with path.open("rb") as file:
        pieces = iter(lambda: file.read(1 << 18), b"")
        reading = logs.read(pieces, reader=given["reader"], name=str(path))
    return log_facts(
        reading,
        given["strategy"],
        given["parameters"],
        given["expect"],
        path=str(path),
        observations=given["observations"],
        target_accuracy=given["target_accuracy"],
    )


def _check(given: Dict[str, Any]) -> None:
    """Raise ValueError now where a name is wrong, rather than once for every log."""
    if given["strategy"] != "auto":
        parameters_of(given["strategy"], given["parameters"])
    if given["reader"] not in ("auto", *logs.READERS):
        names = ", ".join(logs.READERS)
        raise ValueError(f"no reader named {given['reader']!r}: use auto or one of {names}")


def read_logs(given: Dict[str, Any]) -> Dict[str, Any]:
    """Return ``logs``, ``failures``, and one log's facts at the top as well.

    :param given: the arguments of ``ARGUMENTS``, all of them.
    :raises ValueError: an unknown reader, strategy or parameter; no log could be read.
    """
    _check(given)
    found: List[Dict[str, Any]] = []
    failures = []
    for path in _files(given["path"]):
        try:
            found.append(_facts_of(path, given))
        except (ValueError, OSError) as error:
            failures.append({"path": str(path), "reason": str(error)})
    if not found:
        reasons = "; ".join(failure["reason"] for failure in failures) or "no log in it"
        raise ValueError(f"no log could be read from {given['path']}: {reasons}")
    one = dict(found[0]) if len(found) == 1 and not failures else {}
    one.pop("path", None)  # Ansible would add the owner and mode of a file of that name
    return {"changed": False, **one, "logs": found, "failures": failures}
