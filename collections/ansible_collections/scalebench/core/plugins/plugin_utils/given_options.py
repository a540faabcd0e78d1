"""The options of a campaign as they were given: with -e or as variables, and -e variants=FILE."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleUndefinedVariable
from ansible_collections.scalebench.core.plugins.module_utils.planning import options
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import (
    chosen_benchmarks,
    declaring,
    factors_of,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.variable_types import (
    option_types,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.variants import (
    check_variants,
    with_variants,
)
from ansible_collections.scalebench.core.plugins.module_utils.records.node_names import differing
from ansible_collections.scalebench.core.plugins.plugin_utils.campaign_files import load_benchmarks
from ansible_collections.scalebench.core.plugins.plugin_utils.files import (
    read_yaml,
    said,
    user_path,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.plan_evidence import PROJECT

__all__ = [
    "check_same_on_nodes",
    "declared_types",
    "given_options",
    "misspelt",
    "role_variables",
    "with_given_variants",
    "with_sources",
]

Declared = Mapping[str, Iterable[str]]
_NONE: Mapping[str, Any] = {}
# Of defaults/main.yml: its variables, and those of the inventory that they refer to.
_VARIABLE = re.compile(r"^(\w+):|\b(scalebench_\w+)", re.M)
# Read by Ansible or a playbook before any role.
_BEFORE_ROLES = {"scalebench_first_contact", "scalebench_ssh_arguments"}


class _Specs(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads argument_specs, whose defaults may be templates that stay as they are."""


_Specs.add_constructor("!unsafe", _Specs.construct_scalar)


def given_options(
    extra: Mapping[str, Any],
    variables: Mapping[str, Any],
    names: Iterable[str],
    template: Callable[[Any], Any],
) -> tuple[dict[str, Any], list[str]]:
    """Return the options by name, those of -e first, and the names of those that variables gave.

    Ansible's precedence holds. An option's variable has its name, or that of role campaign,
    ``campaign_<name>``, which stands over the former. An empty value of a variable gives nothing.
    Templates in the values are resolved.

    :param extra: the variables given with -e.
    :param variables: all variables, those of -e among them, untemplated.
    """
    given: dict[str, Any] = {}
    of_variables: dict[str, Any] = {}
    for name in names:
        keys = _variables_of(name)
        key = _first(keys, extra)
        if key:
            if key == name or extra[key] != "":
                given[name] = _resolved(key, variables.get(key, extra[key]), template)
            continue
        key = _first(keys, variables)
        value = _resolved(key, variables[key], template) if key else None
        if value not in (None, "", []):
            of_variables[name] = value
    return {**given, **of_variables}, list(of_variables)


def _resolved(name: str, value: Any, template: Callable[[Any], Any]) -> Any:
    try:
        return template(value)
    except AnsibleUndefinedVariable as error:
        raise AnsibleUndefinedVariable(f"{name}: {error}") from None


@cache
def role_variables() -> frozenset[str]:
    """Return the variables of all roles, and those of the inventory."""
    defaults = (PROJECT / "roles").glob("*/defaults/main.yml")
    texts = [file.read_text(encoding="utf-8") for file in defaults]
    found = {name for text in texts for match in _VARIABLE.findall(text) for name in match if name}
    return frozenset(found | _BEFORE_ROLES)


def declared_types(known: Iterable[str] = ()) -> dict[str, str]:
    """Return the types of the variables of all roles, of the inventory, and of a playbook.

    :param known: what the playbook reads beside those of roles.
    """
    specs = (PROJECT / "roles").glob("*/meta/argument_specs.yml")
    read = (yaml.load(file.read_bytes(), _Specs)["argument_specs"] for file in specs)
    return option_types(read, known)


def misspelt(names: Iterable[str], known: Iterable[str], benchmarks_dir: str = "") -> list[str]:
    """Return what ``options.misspelt`` says, which is told the variables of all roles.

    :param benchmarks_dir: the folder of the benchmarks whose own factors are options too; empty
        where those are among the known names.
    """
    own: Iterable[str] = ()
    given = {*names}
    if benchmarks_dir and given - {*known, *role_variables()}:
        # What is wrong with folder or file is told where a benchmark is run.
        with suppress(ValueError, OSError):
            own = declaring(load_benchmarks(Path(os.path.expanduser(benchmarks_dir))))
    return options.misspelt(given, known, role_variables(), own)


def check_same_on_nodes(
    nodes: Mapping[str, Mapping[str, Any]], names: Iterable[str], declared: Declared = _NONE
) -> None:
    """Refuse an option whose value differs between the nodes.

    :param nodes: the variables of each, templated.
    :param names: of the options that were not given with -e.
    :param declared: the benchmarks that declare a factor of their own, by its name.
    :raises ValueError: the option and its value on each node.
    """
    for name in names:
        values = {}
        for node, variables in nodes.items():
            key = _first(_variables_of(name), variables)
            values[node] = json.dumps(variables[key], default=str) if key else "no value"
        listed = differing(values)
        if listed:
            raise ValueError(
                f"variable {name} differs between the nodes: {listed}. An option holds for the"
                " whole campaign: set it for all nodes, as in group_vars/all, or with -e"
                f" ({_way_out(name, declared)})"
            )


def with_sources(message: str, of_variables: Iterable[str], declared: Declared = _NONE) -> str:
    """Return a message about an option, ``-e <name>=…``, that says so if a variable gave it.

    :param declared: the benchmarks that declare a factor of their own, by its name.
    """
    for name in of_variables:
        if message.startswith(f"-e {name}="):
            return (
                f"variable {message[len('-e ') :]} ({name} is a variable of the inventory or the"
                f" play; {_way_out(name, declared)})"
            )
    return message


def _way_out(name: str, declared: Declared) -> str:
    owners = " and ".join(declared.get(name, ()))
    factor = f"{name} is a factor of benchmark {owners}; " if owners else ""
    return f"{factor}where it is meant for something else, campaign_{name}: '' keeps it out"


def _variables_of(name: str) -> tuple[str, ...]:
    """Return the variables that may give an option, that of role campaign first."""
    return (f"campaign_{name}", name)


def _first(keys: Iterable[str], variables: Mapping[str, Any]) -> str | None:
    return next((key for key in keys if key in variables), None)


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
    content = None if kept.get("variants") else _variants(options["variants"], given)
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


def _variants(path: str, given: str) -> Any:
    try:
        content = read_yaml(user_path(path))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ValueError(f"{given}: {said(error)}") from None
    if not isinstance(content, Mapping) or [*content] != ["variants"]:
        raise ValueError(f"{given}: a file with one key, variants, is needed")
    return content["variants"]
