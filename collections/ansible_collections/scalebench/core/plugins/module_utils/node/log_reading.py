"""The facts of log files: the work of module training_log_facts."""

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


def _files(paths: List[str]) -> Iterator[Path]:
    """Yield the log files at some paths; folders are searched recursively."""
    for path in map(Path, paths):
        if not path.is_dir():
            yield path
            continue
        found = (p for p in path.rglob("*") if p.name.endswith(logs.FILE_ENDINGS) and p.is_file())
        yield from sorted(found)


def _facts_of(path: Path, given: Dict[str, Any]) -> Dict[str, Any]:
    """Return the facts of one file, which is read in pieces."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path}: not a regular file")
    with path.open("rb") as file:
        pieces = iter(lambda: file.read(1 << 18), b"")
        reading = logs.read(pieces, given["reader"], str(path), known=given["expect"])
    facts = log_facts(
        reading,
        given["strategy"],
        given["parameters"],
        given["expect"],
        path=str(path),
        observations=given["observations"],
        target_accuracy=given["target_accuracy"],
    )
    return dict(facts)


def _check(given: Dict[str, Any]) -> None:
    """Check reader, strategy and parameters once, rather than for every log.

    :raises ValueError: one of them is unknown.
    """
    if given["strategy"] != "auto":
        parameters_of(given["strategy"], given["parameters"])
    if given["reader"] not in ("auto", *logs.READERS):
        names = ", ".join(logs.READERS)
        raise ValueError(f"no reader named {given['reader']!r}: use auto or one of {names}")


def read_logs(given: Dict[str, Any]) -> Dict[str, Any]:
    """Return ``logs`` and ``failures``; the facts of a single log also at the top level.

    :param given: all the arguments of ``ARGUMENTS``.
    :raises ValueError: an unknown reader, strategy or parameter; no log could be read.
    """
    _check(given)
    facts: List[Dict[str, Any]] = []
    failures = []
    for path in _files(given["path"]):
        try:
            facts.append(_facts_of(path, given))
        except (ValueError, OSError) as error:
            failures.append({"path": str(path), "reason": str(error)})
    if not facts:
        reasons = "; ".join(failure["reason"] for failure in failures) or "no log in it"
        raise ValueError(f"no log could be read from {given['path']}: {reasons}")
    single = dict(facts[0]) if len(facts) == 1 and not failures else {}
    single.pop("path", None)  # Ansible would add owner and mode of the file at that path
    return {"changed": False, **single, "logs": facts, "failures": failures}
