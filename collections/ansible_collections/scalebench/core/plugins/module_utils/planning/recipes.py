"""Which recipe of a benchmark a cell runs, and what of it depends on the cell."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

__all__ = ["framework_set", "matches", "matching", "recipe_of", "usual_recipe", "usual_version"]

Recipe = Mapping[str, Any]


def usual_recipe(benchmark: Mapping[str, Any]) -> str:
    """Return the name of the recipe that runs where none is asked for: ``portable``, or the first.

    :param benchmark: a checked definition (``benchmark_file.check_benchmark``).
    """
    recipes = list(benchmark["recipes"])
    return "portable" if "portable" in recipes else str(recipes[0])


def usual_version(recipe: Recipe) -> Any:
    """Return the framework version that runs where none is asked for, None where there is one."""
    return next(iter(recipe.get("versions", {})), None)


def recipe_of(benchmark: Mapping[str, Any], cell: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the recipe that a cell runs, with what its framework version changes in it.

    :param cell: its ``recipe`` and ``framework_version`` count.
    """
    recipe = benchmark["recipes"][cell["recipe"]]
    return {**recipe, **recipe.get("versions", {}).get(cell.get("framework_version"), {})}


def framework_set(recipe: Recipe) -> str:
    """Return which set of packages of role framework the recipe's version needs.

    :param recipe: what :func:`recipe_of` returned.
    """
    return str(recipe.get("framework_set", recipe["framework"]))


def matches(when: Mapping[str, Any], cell: Mapping[str, Any]) -> bool:
    """Return whether a cell has, for each factor named, the value or one of the values.

    ``several_nodes`` is true of a cell on more than one node.
    """
    found = {**cell, "several_nodes": cell["nodes"] > 1}
    for factor, wanted in when.items():
        values = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        if found.get(factor) not in values:
            return False
    return True


def matching(entries: List[Mapping[str, Any]], cell: Mapping[str, Any]) -> List[Mapping[str, Any]]:
    """Return the entries whose ``when`` a cell matches, in their order."""
    return [entry for entry in entries if matches(entry["when"], cell)]
