"""The schema of a file in ``benchmarks/``: what it must say, checked before anything uses it."""

from __future__ import annotations

from typing import Any, Dict

from ._mappings import check_mapping
from .recipe_schema import check_recipe

__all__ = ["check_benchmark"]


def check_benchmark(definition: Any, name: str) -> Dict[str, Any]:
    """Return the definition of one benchmark if every part of it can be used.

    :param definition: what the YAML file holds.
    :param name: the file's name, for the message.
    :raises ValueError: the file, the key and what should stand there.
    """
    check_mapping(definition, name, {"benchmark": str, "model": str, "recipes": dict}, {})
    if not definition["recipes"]:
        raise ValueError(f"{name}: recipes: at least one recipe is needed")
    for recipe_name, recipe in definition["recipes"].items():
        check_recipe(recipe, f"{name}: recipes.{recipe_name}")
    return dict(definition)
