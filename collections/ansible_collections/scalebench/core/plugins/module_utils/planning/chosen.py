"""Which benchmarks and recipes the options choose, and what may be chosen."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .recipes import framework_set, recipe_of, usual_recipe, usual_version

__all__ = [
    "ALL",
    "MODE",
    "TO_TARGET",
    "chosen_benchmarks",
    "chosen_recipe",
    "frameworks",
    "recipe_choices",
]

# What runs when no benchmark is named; `all` is every one.
DEFAULT_BENCHMARKS = ["pytorch"]
ALL = ["all"]
# What a benchmark does where it is not told otherwise.
MODE = "train"
# Trains epochs with an evaluation after each, until a target accuracy.
TO_TARGET = "train_and_evaluate"
_CHOSEN = ("precision", "xla", "data", "data_backend", "framework_version", "mode")


def frameworks(
    benchmarks: Mapping[str, Mapping[str, Any]], options: Mapping[str, Any]
) -> List[str]:
    """Return the package sets of role framework that the chosen benchmarks need, each once.

    A recipe that runs in a container needs none.

    :raises ValueError: as ``expand``, for all that can be told without knowing the nodes.
    """
    found = set()
    for name in chosen_benchmarks(benchmarks, options):
        benchmark = benchmarks[name]
        recipe_name, recipe = chosen_recipe(benchmark, options.get("recipe"))
        usual = usual_version(recipe)
        for version in options.get("framework_version", [usual]):
            if version == usual or version in recipe.get("versions", {}):
                chosen = {"recipe": recipe_name, "framework_version": version}
                made = recipe_of(benchmark, chosen)
                found.update([] if "container" in made else [framework_set(made)])
    return sorted(found)


def chosen_benchmarks(
    benchmarks: Mapping[str, Mapping[str, Any]], options: Mapping[str, Any]
) -> List[str]:
    """Return the names of the benchmarks that are asked for; ``all`` are those with the recipe.

    :raises ValueError: a name or a value that there is not, with the choices.
    """
    names = options.get("benchmark", DEFAULT_BENCHMARKS)
    if names == ALL:
        asked = options.get("recipe")
        having = [name for name in benchmarks if not asked or asked in benchmarks[name]["recipes"]]
        names = sorted(having or benchmarks)
    for name in names:
        if name not in benchmarks:
            raise ValueError(_no_choice("benchmark", name, [*sorted(benchmarks), "all"]))
    _check_known(benchmarks, names, options)
    return list(names)


def recipe_choices(recipe: Mapping[str, Any]) -> Dict[str, List[Any]]:
    """Return what may be asked of a recipe, by factor."""
    versions = list(recipe.get("versions", {})) or [None]
    return {"mode": [MODE], **recipe["choices"], "framework_version": versions}


def chosen_recipe(
    benchmark: Mapping[str, Any], asked: Optional[str]
) -> Tuple[str, Mapping[str, Any]]:
    """Return name and content of the recipe that is asked for, or of the usual one.

    :raises ValueError: the benchmark has none of that name, with the choices.
    """
    recipes = benchmark["recipes"]
    name = asked or usual_recipe(benchmark)
    if name not in recipes:
        raise ValueError(_no_choice("recipe", name, sorted(recipes)))
    return name, recipes[name]


def _check_known(
    benchmarks: Mapping[str, Mapping[str, Any]], names: Sequence[str], options: Mapping[str, Any]
) -> None:
    """Refuse a value that none of the chosen benchmarks knows; one that some know selects them."""
    for factor in _CHOSEN:
        known: List[Any] = []
        for name in names:
            _, recipe = chosen_recipe(benchmarks[name], options.get("recipe"))
            known += [value for value in recipe_choices(recipe)[factor] if value not in known]
        for value in options.get(factor, []):
            if value not in known:
                choices = [choice for choice in known if choice is not None]
                raise ValueError(_no_choice(factor, value, choices))


def _no_choice(option: str, value: Any, choices: Sequence[Any]) -> str:
    listed = ", ".join(
        str(choice).lower() if isinstance(choice, bool) else str(choice) for choice in choices
    )
    return f"-e {option}={value}: there is no {option} {value!r}; the choices are {listed}"
