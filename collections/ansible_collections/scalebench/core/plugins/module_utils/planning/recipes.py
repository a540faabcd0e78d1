"""Which benchmarks and recipes the options choose, and what of a recipe depends on the cell."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ..records.factors import FACTORS, TREATMENT, Factor, factor_values, own_factor
from .container import container_name, image_reference
from .variants import treated

__all__ = [
    "ALL",
    "DEVICES",
    "NO_FRAMEWORK",
    "TO_TARGET",
    "chosen_benchmarks",
    "chosen_recipe",
    "declared_factors",
    "declaring",
    "factors_of",
    "framework_set",
    "frameworks",
    "matching",
    "preparations",
    "recipe_choices",
    "recipe_of",
    "unused_factors",
    "usual_recipe",
    "workloads",
]

Recipe = Mapping[str, Any]
Benchmarks = Mapping[str, Mapping[str, Any]]
# What runs when no benchmark is named; `all` is every one.
DEFAULT_BENCHMARKS = ["pytorch"]
ALL = ["all"]
# The package set of a recipe that needs none: its workload runs in the node's own Python.
NO_FRAMEWORK = "none"
# What the nodes of a campaign have.
DEVICES = ("cpu", "gpu")
# The mode that trains epochs with an evaluation after each, until a target accuracy.
TO_TARGET = "train_and_evaluate"
# Length of the commit in the name of a built image.
_SHORT = 12
# How a program names a file of the folder of trainers.
_WORKLOADS = "{workload_dir}/"


def factors_of(benchmark: Mapping[str, Any], reserved: Sequence[str] = ()) -> List[Factor]:
    """Return the factors of the table, then those that the benchmark declares.

    :param reserved: names that none of the latter may have.
    :raises ValueError: a declaration is wrong.
    """
    factors = [*FACTORS]
    for name, declared in benchmark.get("factors", {}).items():
        factors.append(own_factor(name, declared, reserved, factors))
    return factors


def declared_factors(benchmarks: Benchmarks) -> List[Factor]:
    """Return the factors that any of the benchmarks declares, each once.

    :raises ValueError: two benchmarks declare one with different types.
    """
    declared: Dict[str, Factor] = {}
    for name, benchmark in benchmarks.items():
        for factor in factors_of(benchmark)[len(FACTORS) :]:
            if declared.setdefault(factor.name, factor).parse is not factor.parse:
                raise ValueError(
                    f"benchmark {name}: factors.{factor.name}: another benchmark declares it with"
                    " another type; rename one of them"
                )
    return list(declared.values())


def declaring(benchmarks: Benchmarks) -> Dict[str, List[str]]:
    """Return the names of the benchmarks that declare a factor of their own, by its name."""
    declared: Dict[str, List[str]] = {}
    for name, benchmark in benchmarks.items():
        for factor in benchmark.get("factors", {}):
            declared.setdefault(factor, []).append(name)
    return declared


def usual_recipe(benchmark: Mapping[str, Any]) -> str:
    """Return the name of the recipe that runs where none is asked for: ``portable``, or the first.

    :param benchmark: a checked definition (``benchmark_file.check_benchmark``).
    """
    recipes = list(benchmark["recipes"])
    return "portable" if "portable" in recipes else str(recipes[0])


def recipe_of(benchmark: Mapping[str, Any], cell: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the recipe that a cell runs, with what version, device and variant change in it.

    :param cell: its ``recipe``, ``framework_version``, ``device`` and ``treatment`` count.
    :raises ValueError: as ``variants.treated``.
    """
    recipe = benchmark["recipes"][cell["recipe"]]
    of_version = recipe.get("versions", {}).get(cell.get("framework_version"), {})
    of_device = recipe.get("devices", {}).get(cell.get("device"), {})
    merged = treated({**recipe, **of_version, **of_device}, cell.get(TREATMENT))
    return {key: value for key, value in merged.items() if value is not None}


def framework_set(recipe: Recipe) -> Optional[str]:
    """Return which set of packages of role framework a recipe needs; None in a container.

    :param recipe: what :func:`recipe_of` returned.
    """
    return None if "container" in recipe else str(recipe.get("framework_set", recipe["framework"]))


def matching(entries: List[Mapping[str, Any]], cell: Mapping[str, Any]) -> List[Mapping[str, Any]]:
    """Return the entries whose ``when`` a cell matches, in their order.

    A condition holds if the cell has, for each factor named, the value or one of the values.
    ``several_nodes`` is true of a cell on more than one node.
    """
    values = {**cell, **factor_values(cell), "several_nodes": cell["nodes"] > 1}
    return [
        entry
        for entry in entries
        if all(
            values.get(factor) in (wanted if isinstance(wanted, (list, tuple)) else [wanted])
            for factor, wanted in entry["when"].items()
        )
    ]


def recipe_choices(recipe: Recipe, factors: Sequence[Factor] = FACTORS) -> Dict[str, List[Any]]:
    """Return what may be asked of a recipe, by factor; one without an entry takes any value."""
    plain = {factor.name: [factor.plain] for factor in factors if factor.listed}
    versions = list(recipe.get("versions", {})) or [None]
    return {**plain, **recipe["choices"], "framework_version": versions}


def chosen_recipe(benchmark: Mapping[str, Any], asked: Optional[str]) -> Tuple[str, Recipe]:
    """Return name and content of the recipe that is asked for, or of the usual one.

    :raises ValueError: the benchmark has no recipe of that name; the choices.
    """
    recipes = benchmark["recipes"]
    name = asked or usual_recipe(benchmark)
    if name not in recipes:
        raise ValueError(_no_choice("recipe", name, sorted(recipes)))
    return name, recipes[name]


def chosen_benchmarks(benchmarks: Benchmarks, options: Mapping[str, Any]) -> List[str]:
    """Return the names of the benchmarks that are asked for; ``all`` are those with the recipe.

    :raises ValueError: an unknown name or value, with the choices.
    """
    names = _asked_for(benchmarks, options)
    for name in names:
        if name not in benchmarks:
            raise ValueError(_no_choice("benchmark", name, [*sorted(benchmarks), "all"]))
    _check_known(benchmarks, names, options)
    return list(names)


def _asked_for(benchmarks: Benchmarks, options: Mapping[str, Any]) -> List[str]:
    names = options.get("benchmark", DEFAULT_BENCHMARKS)
    if names == ALL:
        asked = options.get("recipe")
        # What has no speed-up says nothing of how a training scales.
        scaling = [name for name, one in benchmarks.items() if "no_speedup" not in one]
        having = [name for name in scaling if not asked or asked in benchmarks[name]["recipes"]]
        names = sorted(having or scaling)
    return list(names)


def unused_factors(benchmarks: Benchmarks, options: Mapping[str, Any]) -> List[str]:
    """Return the factors that only benchmarks declare that are not asked for.

    :param options: ``benchmark`` and ``recipe`` count.
    """
    asked = _asked_for(benchmarks, options)
    return [name for name, owners in declaring(benchmarks).items() if not {*owners} & {*asked}]


def _check_known(benchmarks: Benchmarks, names: Sequence[str], options: Mapping[str, Any]) -> None:
    """Refuse a value that none of the chosen benchmarks knows; one that some know selects them."""
    for factor in (*FACTORS, *declared_factors(benchmarks)):
        known: List[Any] = []
        takes_any = False
        for name in names:
            _, recipe = chosen_recipe(benchmarks[name], options.get("recipe"))
            own = factors_of(benchmarks[name])
            if factor.name in {declared.name for declared in own}:
                choices = recipe_choices(recipe, own)
                takes_any = takes_any or factor.name not in choices
                known += [value for value in choices.get(factor.name, ()) if value not in known]
        for value in options.get(factor.name, []):
            if value not in known and not takes_any:
                owners = " and ".join(declaring(benchmarks).get(factor.name, ()))
                if owners and not known:
                    raise ValueError(
                        f"-e {factor.name}={value}: there is no {factor.name} in the benchmarks"
                        f" asked for; it is a factor of benchmark {owners}"
                    )
                listed = [choice for choice in known if choice is not None]
                raise ValueError(_no_choice(factor.name, value, listed))


def _no_choice(option: str, value: Any, choices: Sequence[Any]) -> str:
    listed = ", ".join(
        str(choice).lower() if isinstance(choice, bool) else str(choice) for choice in choices
    )
    return (
        f"-e {option}={value}: there is no {option} {value!r}; the choices are {listed or 'none'}"
    )


def frameworks(
    benchmarks: Benchmarks, options: Mapping[str, Any], device: Optional[str] = None
) -> List[str]:
    """Return the package sets of role framework that the chosen benchmarks need, each once.

    A recipe that runs in a container needs none; ``NO_FRAMEWORK`` stands for the node's Python.

    :param device: what the nodes have; None for the sets of every device.
    :raises ValueError: as ``expand``, but for what depends on the nodes.
    """
    needed = {framework_set(recipe) for _, recipe in _chosen(benchmarks, options, device)}
    return sorted(name for name in needed if name is not None)


def workloads(benchmarks: Benchmarks, options: Mapping[str, Any]) -> Dict[str, str]:
    """Return the file and the key that name each trainer of the chosen benchmarks, by its path.

    The path is that below ``workloads/``.

    :raises ValueError: as :func:`frameworks`.
    """
    found = {}
    for place, recipe in _chosen(benchmarks, options, None):
        if "workload" in recipe:
            found[recipe["workload"]] = f"{place}.workload"
        for word in recipe.get("program", ()):
            if word.startswith(_WORKLOADS):
                found[word[len(_WORKLOADS) :]] = f"{place}.program"
    return dict(sorted(found.items()))


def _chosen(
    benchmarks: Benchmarks, options: Mapping[str, Any], device: Optional[str]
) -> Iterator[Tuple[str, Recipe]]:
    """Yield place and content of the recipe of each chosen benchmark, version and device."""
    for name in chosen_benchmarks(benchmarks, options):
        recipe_name, recipe = chosen_recipe(benchmarks[name], options.get("recipe"))
        versions = recipe_choices(recipe)["framework_version"]
        for version in options.get("framework_version", versions[:1]):
            for kind in ([device] if device else DEVICES) if version in versions else ():
                cell = {"recipe": recipe_name, "framework_version": version, "device": kind}
                yield f"{name}.yml: recipes.{recipe_name}", recipe_of(benchmarks[name], cell)


def preparations(
    benchmarks: Benchmarks,
    options: Mapping[str, Any],
    mirror: str = "",
    device: Optional[str] = None,
) -> List[Dict[str, Any]]:
    """Return what role framework fetches, builds and starts for the recipes that are chosen.

    :param benchmarks: checked definitions by name.
    :param options: what ``options.parse_options`` returned; ``benchmark`` and ``recipe`` count.
    :param mirror: a registry that stands for the images' own.
    :param device: what the nodes have.
    :returns: for each recipe with ``sources``, and again for each variant with an image of its own:
        ``name`` (its folder), ``sources`` and, where it runs in a container, ``container``: the
        recipe's, with ``name``, ``reference`` (what to pull) and ``built`` (the name that the image
        made from it gets).
    :raises ValueError: as :func:`chosen_benchmarks` and ``container.image_reference``.
    """
    prepared = []
    for name in chosen_benchmarks(benchmarks, options):
        recipe_name, _ = chosen_recipe(benchmarks[name], options.get("recipe"))
        images = benchmarks[name]["recipes"][recipe_name].get("images", {})
        of_variants = benchmarks[name].get("variants", {})
        # None is the recipe's own image, which variants without another run in.
        own = [None] if not of_variants or {*of_variants} - {*images} else []
        for variant in (*own, *images):
            cell = {"recipe": recipe_name, "device": device, TREATMENT: variant}
            recipe = recipe_of(benchmarks[name], cell)
            if "sources" in recipe:
                prepared.append(_preparation(name, recipe_name, recipe, mirror))
    return prepared


def _preparation(name: str, recipe_name: str, recipe: Recipe, mirror: str) -> Dict[str, Any]:
    folder = f"{name}-{recipe_name}"
    made: Dict[str, Any] = {"name": folder, "sources": list(recipe["sources"])}
    if "container" in recipe:
        variant = recipe["container"].get("variant", "")
        version = str(recipe["sources"][0]["version"])[:_SHORT]
        called = container_name(name, recipe_name, variant)
        made["container"] = {
            **recipe["container"],
            "name": called,
            "reference": image_reference(recipe["container"], mirror),
            # Names of images are in lower case.
            "built": f"scalebench/{called[len('scalebench-') :].lower()}:{version}",
        }
    return made
