"""What the nodes need before published programs can run: sources, patches and images."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from .chosen import chosen_benchmarks, chosen_recipe
from .container import container_name, image_reference

__all__ = ["preparations"]

# Letters of a commit that tell one image from another.
_SHORT = 12


def preparations(
    benchmarks: Mapping[str, Mapping[str, Any]], options: Mapping[str, Any], mirror: str = ""
) -> List[Dict[str, Any]]:
    """Return what role framework fetches, builds and starts for the recipes that are chosen.

    :param benchmarks: checked definitions by name.
    :param options: what ``options.parse_options`` returned; ``benchmark`` and ``recipe`` count.
    :param mirror: a registry that stands for the images' own.
    :returns: for each recipe with ``sources``: ``name`` (its folder), ``sources`` and, where it
        runs in a container, ``container``: the recipe's, with ``name``, ``reference`` (what to
        pull) and ``built`` (the name that the image made from it gets).
    :raises ValueError: as ``chosen.chosen_benchmarks`` and ``container.image_reference``.
    """
    found = []
    for name in chosen_benchmarks(benchmarks, options):
        recipe_name, recipe = chosen_recipe(benchmarks[name], options.get("recipe"))
        if "sources" in recipe:
            folder = f"{name}-{recipe_name}"
            made: Dict[str, Any] = {"name": folder, "sources": list(recipe["sources"])}
            if "container" in recipe:
                version = str(recipe["sources"][0]["version"])[:_SHORT]
                made["container"] = {
                    **recipe["container"],
                    "name": container_name(name, recipe_name),
                    "reference": image_reference(recipe["container"], mirror),
                    "built": f"scalebench/{folder}:{version}",
                }
            found.append(made)
    return found
