"""The schema of a file in ``benchmarks/``: what it must contain, checked before use."""

from __future__ import annotations

import itertools
import re
import sys
from typing import Any, Callable, Collection, Dict, List, Mapping, Sequence

from ..logs import READERS
from ..records.factors import FACTORS, LOSS_SCALING, Factor, parse_count, parse_flag
from ..records.runs import NAMES_IN_LOGS
from ..stacks.pci import ARCHITECTURES
from ..strategies import parameters_of
from ..topology import parse_topology
from .launch import LAUNCHERS
from .model_file import KEYS as MODEL_KEYS
from .model_file import NAME, check_model
from .options import LISTS, OPTIONS, parse_options
from .placeholders import BATCHES, PLACEHOLDERS, check_placeholders, fields
from .recipes import DEVICES, factors_of, recipe_choices, recipe_of
from .variants import check_variants, with_variants

__all__ = ["OPTIONAL", "REQUIRED", "check_benchmark", "check_container", "check_sources"]

# The model is a name or a mapping, which model_file checks.
_BENCHMARK: Dict[str, type] = {"benchmark": str, "model": object, "recipes": dict}
# Keys of a recipe.
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
    "nccl": str,
    "reader": str,
    "strategy": dict,
    "estimate": dict,
    # GPUs that the software has code for.
    "gpu_architectures": list,
}
OPTIONAL: Dict[str, type] = {
    **_BY_VERSION,
    "versions": dict,
    "devices": dict,
    "additions": list,
    "conditions": list,
    "environment": dict,
    "sources": list,
    "unavailable": list,
    "learning_rate": dict,
}
# What a device may have otherwise; nothing in the place of a container means none.
_BY_DEVICE: Dict[str, type] = {**_BY_VERSION, "sources": list}
_METHOD = ("repeats", "warmup", "iterations", "epochs", "target_accuracy")


def _parse_device(value: Any) -> str:
    if value not in DEVICES:
        raise ValueError(f"is not one of {', '.join(DEVICES)}")
    return str(value)


# What a condition may ask for besides the factors that options vary.
_OF_CELL: Dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("nodes", "devices_per_node", "iterations"), parse_count),
    **dict.fromkeys(("several_nodes", "given_python"), parse_flag),
    "device": _parse_device,
}
# Names that a factor of a benchmark cannot have, since -e and inventories set it by its name: what
# cells are made of, variables that playbooks and roles read, and keywords and variables of Ansible.
# An entry that ends with _ stands for all names that begin so.
_READ_ELSEWHERE = """
    accept_changes acceptance allowed_signers ansible_ archive archive_path baseline campaign
    campaign_ cell_ claims cluster_ssh_port conditions dataset equivalence_margin framework_python
    carrier diagnosis exclude gate history_ log_dir older_than output_dir png predict preflight
    preflight_ report_ results scalebench_ sign_key signer slurm_ strategy

    action always any_errors_fatal args async async_val become become_ block changed_when
    check_mode collections connection cycler debugger delay delegate_ dict diff environment
    fact_path failed_when force_handlers gather_ group_names groups handlers hosts hostvars
    ignore_ inventory_ item joiner lipsum local_action lookup loop loop_ max_fail_percentage
    module_defaults namespace no_log notify now omit order play_hosts playbook_dir poll port
    post_tasks pre_tasks q query range register remote_user rescue retries role_name role_names
    roles run_once serial tags tasks throttle timeout undef until vars vars_ when with_
"""
_RESERVED = (
    *(*OPTIONS, *PLACEHOLDERS, *_OF_CELL, *re.findall(r"\w+", _READ_ELSEWHERE)),
    *("model", "framework", "framework_set", "variant", "unit", "name", "directory"),
    *("gpu", "container", "units_per_sample", "model_data"),
    # campaign_<name> is another variable of role campaign.
    *("results_dir", "benchmarks_dir", "ssh_config", "cpu_processes", "cpu_threads"),
    *("framework_dir", "container_engine", "free_mib", "retry", "requeue"),
    *("rdma_adapters", "transport", "ask_gpus", "gpu_ids"),
    *NAMES_IN_LOGS,
)
_CONTAINER: Dict[str, type] = {
    "digest": str,
    "build": str,
    "ipc": str,
    "shm_size": str,
    "ulimits": dict,
    "mounts": list,
    "devices": list,
    "capabilities": list,
    "environment": dict,
}
_SOURCE: Dict[str, type] = {"name": str, "repository": str, "version": str}
_PATCH: Dict[str, type] = {"file": str, "line": int, "from": str, "to": str}
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MOUNT = re.compile(r"\{data_dir\}(/[\w.-]+)*:(/[\w.-]+)+")
_VERSION = re.compile(r"\d+(\.\d+)+")
Choices = Mapping[str, Any]


def check_benchmark(definition: Any, name: str) -> Dict[str, Any]:
    """Return the definition of one benchmark if every part of it can be used.

    :param definition: what the YAML file holds.
    :param name: the file's name, for the message.
    :raises ValueError: the file, the key and what should stand there.
    """
    optional = {"factors": dict, "variants": dict, **MODEL_KEYS}
    _check_mapping(definition, name, _BENCHMARK, optional)
    try:
        factors = factors_of(definition, _RESERVED)
    except ValueError as error:
        raise ValueError(f"{name}: factors: {error}") from None
    check_model(definition, name, factors[len(FACTORS) :])
    if not definition["recipes"]:
        raise ValueError(f"{name}: recipes: at least one recipe is needed")
    for recipe_name, recipe in definition["recipes"].items():
        _check_recipe(recipe, f"{name}: recipes.{recipe_name}", factors)
    if "variants" not in definition:
        return dict(definition)
    variants = check_variants(
        definition["variants"], f"{name}: variants", factors, list(definition["recipes"])
    )
    return dict(with_variants(definition, variants))


def _check_mapping(
    value: Any, where: str, required: Mapping[str, type], optional: Mapping[str, type]
) -> None:
    """Refuse anything but a mapping with the required and perhaps the optional keys.

    :param where: file and key, for the message.
    :raises ValueError: the file, the key and what should stand there.
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"{where}: a mapping is needed, not {type(value).__name__}")
    for key in required:
        if key not in value:
            raise ValueError(f"{where}.{key} is missing")
    kinds = {**optional, **required}
    for key, item in value.items():
        if key not in kinds:
            raise ValueError(
                f"{where}.{key!s:.80}: no such key; there are {', '.join(sorted(kinds))}"
            )
        if not isinstance(item, kinds[key]):
            wanted = kinds[key].__name__
            raise ValueError(f"{where}.{key}: a {wanted} is needed, not {item!r:.80}")


def _check_recipe(recipe: Any, where: str, factors: Sequence[Factor]) -> None:
    """Refuse a recipe of which a part cannot be used.

    :param factors: of the benchmark.
    """
    _check_mapping(recipe, where, REQUIRED, OPTIONAL)
    own = factors[len(FACTORS) :]
    listed = {factor.name: factor for factor in factors if factor.listed or factor in own}
    required = [name for name, factor in listed.items() if factor.listed and factor.needed]
    _check_mapping(
        *(recipe["choices"], f"{where}.choices"),
        *(dict.fromkeys(required, list), dict.fromkeys(listed, list)),
    )
    versions = recipe.get("versions", {})
    for version, changes in versions.items():
        place = f"{where}.versions.{version}"
        if not isinstance(version, str):
            raise ValueError(f"{place}: {version!r:.80} is not a text: quote it")
        _check_mapping(changes, place, {}, _BY_VERSION)
    _check_mapping(recipe.get("devices", {}), f"{where}.devices", {}, dict.fromkeys(DEVICES, dict))
    for device, changes in recipe.get("devices", {}).items():
        given = {key: item for key, item in changes.items() if (key, item) != ("container", None)}
        _check_mapping(given, f"{where}.devices.{device}", {}, _BY_DEVICE)
    for version, device in itertools.product(list(versions) or [None], DEVICES):
        cell = {"recipe": "", "framework_version": version, "device": device}
        merged = recipe_of({"recipes": {"": recipe}}, cell)
        _check_start(merged, where, own)
        _check_reading(merged, where)
        _check_estimate(merged.get("estimate", {}), f"{where}.estimate")
    choices = recipe_choices(recipe, factors)
    _check_words(recipe, where, own)
    needed = [factor.name for factor in factors if factor.needed]
    _check_defaults(recipe["defaults"], f"{where}.defaults", choices, own, needed)
    for key, contents in (
        ("additions", ({"when": dict}, {"arguments": list, "environment": dict})),
        ("conditions", ({"when": dict, "loss_scaling": str}, {})),
        ("unavailable", ({"when": dict, "reason": str}, {})),
    ):
        for number, entry in enumerate(recipe.get(key, [])):
            place = f"{where}.{key}[{number}]"
            _check_mapping(entry, place, *contents)
            _check_when(entry["when"], f"{place}.when", choices, own)
            if len(entry) == 1:
                raise ValueError(f"{place}: arguments or environment is missing")
            if "loss_scaling" in entry:
                _check_known(entry["loss_scaling"], LOSS_SCALING, f"{place}.loss_scaling")
            _check_words(entry, place, own)
    _check_learning_rate(recipe, where)


def _check_known(name: Any, known: Collection[str], where: str) -> None:
    """Refuse a name that is none of those that are known."""
    if name not in known:
        raise ValueError(f"{where}: {name!r:.80} is not one of {', '.join(known)}")


def _check_words(part: Mapping[str, Any], where: str, own: Sequence[Factor]) -> None:
    """Check the arguments and the environment of a recipe, or of an addition to it."""
    names = [factor.name for factor in own]
    check_placeholders(part.get("arguments", []), f"{where}.arguments", names)
    check_placeholders(part.get("environment", {}).values(), f"{where}.environment", names)


def _check_learning_rate(recipe: Mapping[str, Any], where: str) -> None:
    """Check that it is proportional to a batch, and there where a word names it."""
    if "learning_rate" not in recipe:
        parts = [recipe, *recipe.get("additions", [])]
        words = [word for part in parts for word in part.get("arguments", [])]
        if "learning_rate" in fields(words):
            raise ValueError(
                f"{where}: {{learning_rate}} needs learning_rate of the recipe, a mapping with"
                " per_sample and of"
            )
        return
    rate, place = recipe["learning_rate"], f"{where}.learning_rate"
    _check_mapping(rate, place, {"per_sample": float, "of": str}, {})
    if rate["per_sample"] <= 0 or rate["of"] not in BATCHES:
        raise ValueError(f"{place}: per_sample must be above 0, and of one of {', '.join(BATCHES)}")


def _check_start(recipe: Mapping[str, Any], where: str, own: Sequence[Factor]) -> None:
    """Check launcher and program."""
    _check_known(recipe["launcher"], sorted(LAUNCHERS), f"{where}.launcher")
    for key in ("framework", "framework_set"):
        if not NAME.fullmatch(recipe.get(key, "_")):
            raise ValueError(
                f"{where}.{key}: {recipe[key]!r:.80} is not a name: letters, digits, _, - and ."
            )
    options = LAUNCHERS[recipe["launcher"]].options
    _check_mapping(recipe.get("launcher_options", {}), f"{where}.launcher_options", {}, options)
    if ("workload" in recipe) == ("program" in recipe):
        raise ValueError(
            f"{where}: either workload (a file below workloads/) or program (a list of words) is"
            " needed"
        )
    path = recipe.get("workload", "_")
    if not path.isprintable() or any(part.strip() in ("", ".", "..") for part in path.split("/")):
        raise ValueError(
            f"{where}.workload: {path!r:.80} is not the path of a file below workloads/, as"
            " line_fit/train.py"
        )
    if not _VERSION.fullmatch(recipe.get("nccl", "0.0")):
        raise ValueError(f"{where}.nccl: {recipe['nccl']!r:.80} is not a version, as 2.4.7")
    names = [factor.name for factor in own]
    check_placeholders(recipe.get("program", []), f"{where}.program", names)
    if "container" in recipe:
        if "program" not in recipe:
            raise ValueError(f"{where}.container: it needs program, what to run in the container")
        check_container(recipe["container"], f"{where}.container")
    check_sources(recipe.get("sources", []), f"{where}.sources")
    for name in recipe.get("gpu_architectures", []):
        _check_known(name, list(ARCHITECTURES), f"{where}.gpu_architectures")


def _check_reading(recipe: Mapping[str, Any], where: str) -> None:
    """Check how the logs are read."""
    _check_known(recipe.get("reader", "auto"), ("auto", *READERS), f"{where}.reader")
    if "strategy" in recipe:
        place = f"{where}.strategy"
        _check_mapping(recipe["strategy"], place, {"name": str}, {"parameters": dict})
        try:
            parameters_of(recipe["strategy"]["name"], recipe["strategy"].get("parameters"))
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None


def _check_estimate(estimate: Mapping[Any, Any], where: str) -> None:
    """Check the seconds of a repeat on each topology."""
    for topology, seconds in estimate.items():
        try:
            parse_topology(topology)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
            raise ValueError(f"{where}.{topology}: seconds are needed, not {seconds!r:.80}")
        if not 0 < seconds <= sys.float_info.max:
            raise ValueError(f"{where}.{topology}: {seconds} is not a number of seconds above 0")


def _check_defaults(
    defaults: Any,
    where: str,
    choices: Choices,
    own: Sequence[Factor],
    needed: Sequence[str],
) -> None:
    """Refuse defaults that name no option, an impossible value, or not all that is needed."""
    _check_mapping(defaults, where, {}, dict.fromkeys(DEVICES, dict))
    lists = (*LISTS, *(factor.name for factor in own))
    for device, usual in defaults.items():
        place = f"{where}.{device}"
        blocks = usual.get("matrix", [{}])
        if not isinstance(blocks, list) or not blocks:
            raise ValueError(f"{place}.matrix: a list of mappings is needed, not {blocks!r:.80}")
        common = {key: value for key, value in usual.items() if key != "matrix"}
        _check_factors(common, place, choices, own, (*lists, *_METHOD))
        for number, block in enumerate(blocks):
            if not isinstance(block, Mapping):
                raise ValueError(
                    f"{place}.matrix[{number}]: a mapping is needed, not {block!r:.80}"
                )
            _check_factors(block, f"{place}.matrix[{number}]", choices, own, lists)
            for name in (*needed, "topology"):
                if name not in {**common, **block}:
                    raise ValueError(f"{place}.{name} is missing")


def _check_factors(
    given: Mapping[str, Any],
    where: str,
    choices: Choices,
    own: Sequence[Factor],
    names: Sequence[str],
) -> None:
    unknown = set(given) - set(names)
    if unknown:
        raise ValueError(f"{where}: {', '.join(sorted(map(str, unknown)))}: no such option")
    for factor, values in parse_options(given, where, own).items():
        for value in values if factor in choices else ():
            _check_choice(factor, value, where, choices)


def _check_when(
    when: Mapping[str, Any], where: str, choices: Choices, own: Sequence[Factor]
) -> None:
    """Refuse a condition on a factor that is not there, or on a value that it cannot have.

    A value of another type, such as a quoted number, would never equal the cell's.
    """
    parsers = {**LISTS, **_OF_CELL, **{factor.name: factor.parse for factor in own}}
    known = sorted({*parsers} - {"benchmark"})
    for factor, wanted in when.items():
        if factor not in known:
            raise ValueError(
                f"{where}.{factor!s:.80}: no such factor; there are {', '.join(known)}"
            )
        for value in wanted if isinstance(wanted, list) else [wanted]:
            try:
                parsed = parsers[factor](value)
            except ValueError as error:
                raise ValueError(f"{where}.{factor}: {value!r:.80} {error}") from None
            if (type(parsed), parsed) != (type(value), value):
                raise ValueError(
                    f"{where}.{factor}: {value!r:.80} never equals a cell's value: write"
                    f" {str(parsed).lower() if isinstance(parsed, bool) else parsed} without quotes"
                )
            if factor in choices:
                _check_choice(factor, value, where, choices)


def _check_choice(factor: str, value: Any, where: str, choices: Choices) -> None:
    if value not in choices[factor]:
        listed = ", ".join(map(str, choices[factor]))
        raise ValueError(
            f"{where}.{factor}: {value!r:.80} is not among the recipe's choices: {listed}"
        )


def check_container(container: Any, where: str) -> None:
    """Refuse a container of which a part cannot be used.

    ``build`` is a folder of the sources whose Dockerfile begins from ``image``.

    :param where: file and key, for the message.
    :raises ValueError: the place and what should stand there.
    """
    _check_mapping(container, where, {"image": str}, _CONTAINER)
    if "digest" in container and not _DIGEST.fullmatch(container["digest"]):
        raise ValueError(
            f"{where}.digest: {container['digest']!r:.80} is not sha256: and 64 digits"
        )
    for mount in container.get("mounts", []):
        if not _MOUNT.fullmatch(str(mount)):
            raise ValueError(
                f"{where}.mounts: {mount!r:.80} is not a folder of the node's data and its place in"
                " the container, as {data_dir}/tfrecord:/data/tfrecords"
            )


def check_sources(sources: List[Any], where: str) -> None:
    """Refuse what cannot be checked out, or a patch that does not state what it changes.

    :param where: file and key, for the message.
    :raises ValueError: the place and what should stand there.
    """
    for number, source in enumerate(sources):
        place = f"{where}[{number}]"
        _check_mapping(source, place, _SOURCE, {"patches": list})
        if not NAME.fullmatch(source["name"]):
            raise ValueError(f"{place}.name: {source['name']!r:.80} is not the name of a folder")
        for index, patch in enumerate(source.get("patches", [])):
            _check_mapping(patch, f"{place}.patches[{index}]", _PATCH, {})
            if patch["from"] == patch["to"] or "\n" in patch["from"] + patch["to"]:
                raise ValueError(f"{place}.patches[{index}]: from and to are one line each, unlike")
