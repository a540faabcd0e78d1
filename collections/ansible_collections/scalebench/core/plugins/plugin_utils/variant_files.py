"""The variants that a user gives with -e variants=FILE, or that a plan keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import (
    chosen_benchmarks,
    factors_of,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.variants import (
    check_variants,
    with_variants,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import (
    read_yaml,
    said,
    user_path,
)

__all__ = ["with_given_variants"]

_NONE: Mapping[str, Any] = {}


def with_given_variants(
    benchmarks: Mapping[str, Any], options: Mapping[str, Any], kept: Mapping[str, Any] = _NONE
) -> Mapping[str, Any]:
    """Return the benchmarks by name; those asked for have the variants of -e variants=FILE.

    :param options: what ``options.parse_options`` returned.
    :param kept: the plan of a campaign that goes on without options. What the file held at its
        beginning stands in the plan; the file may be gone.
    :raises ValueError: the file cannot be used, or a benchmark has variants of its own.
    """
    if "variants" not in options:
        return benchmarks
    given = f"-e variants={options['variants']}"
    content = None if kept.get("variants") else _read(options["variants"], given)
    choosing = {key: options[key] for key in ("benchmark", "recipe") if key in options}
    changed = {}
    for name in chosen_benchmarks(benchmarks, choosing):
        benchmark = benchmarks[name]
        if "variants" in benchmark:
            raise ValueError(
                f"{given}: benchmark {name} has variants of its own,"
                f" {', '.join(benchmark['variants'])}: leave the option out"
            )
        found = content if content is not None else kept["variants"].get(name)
        where = f"{given}: variants"
        checked = check_variants(found, where, factors_of(benchmark), list(benchmark["recipes"]))
        changed[name] = with_variants(benchmark, checked)
    return {**benchmarks, **changed}


def _read(path: str, given: str) -> Any:
    try:
        content = read_yaml(user_path(path))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ValueError(f"{given}: {said(error)}") from None
    if not isinstance(content, Mapping) or [*content] != ["variants"]:
        raise ValueError(f"{given}: a file with one key, variants, is needed")
    return content["variants"]
