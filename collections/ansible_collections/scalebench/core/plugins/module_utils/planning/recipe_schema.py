"""The schema of one recipe of a benchmark file: its keys, and that what they name is there."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from ..logs import READERS
from ..strategies import parameters_of
from ._mappings import check_mapping
from .container_schema import check_container, check_sources
from .launch import LAUNCHERS
from .matrix_schema import CHOICES, check_defaults, check_when
from .placeholders import check_placeholders

__all__ = ["OPTIONAL", "REQUIRED", "check_recipe"]

REQUIRED: Dict[str, type] = {
    "framework": str,
    "launcher": str,
    "choices": dict,
    "defaults": dict,
    "arguments": list,
}
# What a framework version may have otherwise.
_BY_VERSION: Dict[str, type] = {
    "framework_set": str,
    "launcher": str,
    "launcher_options": dict,
    "workload": str,
    "program": list,
    "container": dict,
    "reader": str,
    "strategy": dict,
    "estimate": dict,
}
OPTIONAL: Dict[str, type] = {
    **_BY_VERSION,
    "versions": dict,
    "additions": list,
    "environment": dict,
    "sources": list,
    "unavailable": list,
}


def check_recipe(recipe: Any, where: str) -> None:
    """Refuse a recipe of which a part cannot be used.

    :param where: file and key of the recipe, for the message.
    :raises ValueError: the file, the key and what should stand there.
    """
    check_mapping(recipe, where, REQUIRED, OPTIONAL)
    choices = dict.fromkeys(CHOICES, list)
    check_mapping(recipe["choices"], f"{where}.choices", choices, {"mode": list})
    versions = recipe.get("versions", {})
    for version, changes in versions.items():
        place = f"{where}.versions.{version}"
        if not isinstance(version, str):
            raise ValueError(f"{place}: {version!r} is not a text: quote it")
        check_mapping(changes, place, {}, _BY_VERSION)
    for merged in [{**recipe, **changes} for changes in versions.values()] or [recipe]:
        _check_start(merged, where)
        _check_reading(merged, where)
    known = {**recipe["choices"], **({"framework_version": list(versions)} if versions else {})}
    check_defaults(recipe["defaults"], known, f"{where}.defaults")
    check_placeholders(recipe["arguments"], f"{where}.arguments")
    check_placeholders(recipe.get("environment", {}).values(), f"{where}.environment")
    _check_additions(recipe.get("additions", []), known, f"{where}.additions")
    _check_unavailable(recipe.get("unavailable", []), known, f"{where}.unavailable")


def _check_start(recipe: Mapping[str, Any], where: str) -> None:
    """Check launcher and program."""
    if recipe["launcher"] not in LAUNCHERS:
        known = ", ".join(sorted(LAUNCHERS))
        raise ValueError(f"{where}.launcher: {recipe['launcher']!r} is none of {known}")
    options = LAUNCHERS[recipe["launcher"]].options
    check_mapping(recipe.get("launcher_options", {}), f"{where}.launcher_options", {}, options)
    if ("workload" in recipe) == ("program" in recipe):
        raise ValueError(
            f"{where}: either workload (a file below workloads/) or program (a list of words) is"
            " needed"
        )
    check_placeholders(recipe.get("program", []), f"{where}.program")
    if "container" in recipe:
        if "program" not in recipe:
            raise ValueError(f"{where}.container: it needs program, what to run in the container")
        check_container(recipe["container"], f"{where}.container")
    check_sources(recipe.get("sources", []), f"{where}.sources")


def _check_reading(recipe: Mapping[str, Any], where: str) -> None:
    """Check how the logs are read."""
    if recipe.get("reader", "auto") not in ("auto", *READERS):
        known = ", ".join(READERS)
        raise ValueError(f"{where}.reader: {recipe['reader']!r} is none of auto, {known}")
    if "strategy" in recipe:
        place = f"{where}.strategy"
        check_mapping(recipe["strategy"], place, {"name": str}, {"parameters": dict})
        try:
            parameters_of(recipe["strategy"]["name"], recipe["strategy"].get("parameters"))
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None


def _check_additions(additions: List[Any], choices: Mapping[str, Any], where: str) -> None:
    for number, addition in enumerate(additions):
        place = f"{where}[{number}]"
        check_mapping(addition, place, {"when": dict}, {"arguments": list, "environment": dict})
        check_when(addition["when"], choices, f"{place}.when")
        if len(addition) == 1:
            raise ValueError(f"{place}: arguments or environment is missing")
        check_placeholders(addition.get("arguments", []), f"{place}.arguments")
        check_placeholders(addition.get("environment", {}).values(), f"{place}.environment")


def _check_unavailable(entries: List[Any], choices: Mapping[str, Any], where: str) -> None:
    for number, entry in enumerate(entries):
        place = f"{where}[{number}]"
        check_mapping(entry, place, {"when": dict, "reason": str}, {})
        check_when(entry["when"], choices, f"{place}.when")
