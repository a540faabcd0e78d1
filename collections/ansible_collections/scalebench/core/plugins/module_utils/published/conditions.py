"""The conditions of a throughput: those of measured cells, and how two sets of them differ."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from ..records.factors import (
    FACTORS,
    FORMER,
    factor_names,
    missing_value,
    own_values,
    parse_text,
)
from ..records.results import MeasuredCell, Results
from ..results.cells import ok_speeds, with_speed
from ..stats.statistics import median
from ..topology import parse_topology
from .rows import CONDITIONS

__all__ = [
    "CPU",
    "DECISIVE",
    "FRAMEWORKS",
    "STATABLE",
    "apart",
    "cell_conditions",
    "check_stated",
    "judge",
    "plain_condition",
    "plain_conditions",
]

# A difference in one of these, or in a factor that a benchmark declares, makes two figures
# incomparable; one in the second list is only stated.
DECISIVE = (
    *("framework", "model", "unit", "gpu", "nodes", "devices_per_node"),
    *factor_names(lambda factor: factor.decisive),
    "loss_scaling",
)
# Two sides that lack one of these do not differ in it.
_OPTIONAL = (*factor_names(lambda factor: not factor.stated), "loss_scaling")
# What a log counts that does not say what it counts. Units differ where both sides say theirs.
_ANYTHING, _UNIT = "samples", "unit"
# The gpu of a cell that has none.
CPU = "none (CPU)"
_TOLD = ("benchmark", "framework_version", "container", "strategy")
# A framework's name in published rows and in benchmark files, and its package.
FRAMEWORKS: Dict[str, str] = {
    "tensorflow": "tensorflow",
    "pytorch": "torch",
    "mxnet": "mxnet",
    "paddle": "paddlepaddle",
    "oneflow": "oneflow",
    "jax": "jax",
    "nccl": "nccl",
}
# ResNet-50 without a version is v1.5, as in all reference efforts; v1b is another network.
_RESNET = re.compile(r"(?:.*[_-])?(?:resnet|rn?)[_-]?(\d+)[_-]?(?:v1\.5|(v\d\w*))?")
# What neither the path nor the format of a log states reliably.
STATABLE = (
    *("model", "framework", "container", "gpu", "loss_scaling"),
    *(one.name for one in (*FACTORS, *FORMER) if one.name in CONDITIONS and not one.needed),
)


def plain_condition(condition: str, row: Mapping[str, Any]) -> Any:
    """Return one condition of a cell or row in a form that can be compared; None is unknown.

    ``NGC TensorFlow`` is the framework tensorflow, ``nccl-tests`` is nccl, ``rn50`` the model r50,
    ``Tesla V100-SXM2-16GB`` the gpu V100-SXM2-16GB, ``pure_fp16`` the precision fp16,
    ``device: cpu`` no gpu, and a topology gives nodes and devices per node.
    """
    return _plain(condition, _with_own(row))


def _with_own(row: Mapping[str, Any]) -> Mapping[str, Any]:
    # A benchmark's factor may have the name of a key of results, such as state.
    return {**row, **own_values(row)}


def _plain(condition: str, row: Mapping[str, Any]) -> Any:
    """Return a condition of a row that has the values of its own factors among its keys."""
    value = row.get(condition)
    if condition in ("nodes", "devices_per_node") and value is None and row.get("topology"):
        return parse_topology(row["topology"])[condition == "devices_per_node"]
    if condition == "gpu" and row.get("device") == "cpu":
        return CPU
    if value is None or value == "":
        return missing_value(condition)
    return _PLAIN[condition](str(value)) if condition in _PLAIN else value


def _family(name: str) -> str:
    name = name.lower()
    return next((family for family in FRAMEWORKS if family in name), name)


def _model(name: str) -> str:
    name = name.lower()
    match = _RESNET.fullmatch(name)
    if match is None:
        return name
    return "_".join(part for part in (f"r{match.group(1)}", match.group(2)) if part)


def _noun(unit: str) -> Optional[str]:
    noun = unit.partition("/")[0]
    return None if noun == _ANYTHING else noun


_PLAIN: Dict[str, Callable[[str], Optional[str]]] = {
    "unit": _noun,
    "framework": _family,
    "model": _model,
    "precision": lambda name: name.lower().replace("pure_", ""),
    "gpu": lambda name: "-".join(re.sub(r"\b(NVIDIA|TESLA)\b", " ", name.upper()).split()),
}


def plain_conditions(row: Mapping[str, Any]) -> Dict[str, Any]:
    """Return all decisive conditions of a cell or row, each as :func:`plain_condition` does."""
    whole = _with_own(row)
    return {condition: _plain(condition, whole) for condition in _decisive(row)}


def _decisive(*rows: Mapping[str, Any]) -> Tuple[str, ...]:
    # A flag that is false needs no mention, and none is said of it where a row has no such flag.
    stated = [own_values(row).items() for row in rows]
    own = dict.fromkeys(name for items in stated for name, value in items if value is not False)
    return (*DECISIVE, *own)


def apart(
    measured: Mapping[str, Any], published: Mapping[str, Any], waive: Sequence[str] = ()
) -> List[str]:
    """Return in which conditions two sets differ, or may, of what :func:`plain_conditions` made."""
    return [
        condition
        for condition, value in {**dict.fromkeys(published), **measured}.items()
        if condition not in waive
        and (
            _is_unknown(condition, value, published.get(condition))
            or _differ(condition, value, published.get(condition))
        )
    ]


def _is_unknown(condition: str, measured: Any, published: Any) -> bool:
    """Return whether a side does not state a condition, or only a part of it."""
    if condition == _UNIT:
        return False
    if measured is None and published is None:
        return condition not in _OPTIONAL
    if measured is None or published is None:
        return True
    # A100 may be A100-SXM4-80GB or A100-PCIE-40GB.
    names = sorted((str(measured), str(published)), key=len)
    return condition == "gpu" and "-" not in names[0] and names[1].startswith(f"{names[0]}-")


def _differ(condition: str, measured: Any, published: Any) -> bool:
    return bool(measured != published) and (condition != _UNIT or None not in (measured, published))


def judge(
    measured: Mapping[str, Any], published: Mapping[str, Any], waive: Sequence[str] = ()
) -> Dict[str, Any]:
    """Return verdict, differences, unknown, waived, told and why of two sets of conditions.

    The verdict is not_comparable where a decisive condition differs, else not_known where a side
    does not state one, else comparable. ``waive`` names conditions to leave out.

    :raises ValueError: a condition to waive is not decisive.
    """
    decisive = _decisive(measured, published)
    for condition in waive:
        if condition not in decisive:
            raise ValueError(f"cannot waive {condition!r}: use one of {', '.join(decisive)}")
    whole = _with_own(measured), _with_own(published)
    sides: Dict[str, Tuple[Any, Any]] = {
        c: (_plain(c, whole[0]), _plain(c, whole[1])) for c in decisive + _TOLD
    }

    def listed(names: Iterable[str]) -> List[Dict[str, Any]]:
        return [{"condition": c, "measured": sides[c][0], "published": sides[c][1]} for c in names]

    judged = [c for c in decisive if c not in waive]
    unknown = [c for c in judged if _is_unknown(c, *sides[c])]
    differing = [c for c in judged if c not in unknown and _differ(c, *sides[c])]
    why = [f"{c}: {sides[c][0]} measured, {sides[c][1]} published" for c in differing]
    return {
        "verdict": "not_comparable" if differing else "not_known" if unknown else "comparable",
        "differences": listed(differing),
        "unknown": listed(unknown),
        "waived": listed(c for c in decisive if c in waive and _differ(c, *sides[c])),
        "told": listed(c for c in _TOLD if sides[c][0] != sides[c][1]),
        "why": "; ".join(why + [f"{c}: not stated" for c in unknown]),
    }


def check_stated(given: Mapping[str, Any]) -> Dict[str, Any]:
    """Return conditions that a user states for a tree of logs, each in its type.

    :param given: by name; ``-e`` makes every value a text.
    :raises ValueError: no such condition, or a value that it cannot have.
    """
    return {name: _typed(name, value) for name, value in given.items()}


def _typed(name: str, value: Any) -> Any:
    if name not in STATABLE:
        raise ValueError(f"conditions: {name!r} cannot be stated: use one of {', '.join(STATABLE)}")
    kind = CONDITIONS[name]
    known = (*FACTORS, *FORMER)
    parse = next((factor.parse for factor in known if factor.name == name), parse_text)
    try:
        typed = parse(str(value).strip())
    except ValueError:
        typed = None
    if typed is None or (isinstance(kind, tuple) and typed not in kind):
        choices = " or ".join(kind) if isinstance(kind, tuple) else kind.__name__
        raise ValueError(f"conditions: {name} is {value!r}: {choices} is needed")
    return typed


def _unit(cell: MeasuredCell) -> Optional[str]:
    """Return the unit of a cell: of samples, what the benchmark says that a sample is."""
    unit, samples = cell["unit"], (cell.get("model_data") or {}).get("samples")
    return f"{samples}/s" if samples and unit == "samples/s" else unit


def cell_conditions(cell: MeasuredCell, results: Results, printed: bool = True) -> Dict[str, Any]:
    """Return what ``compare.compare`` needs of a measured cell, None for what is not known.

    A recorded condition takes precedence over a stated one, but for the model: the path of a log
    may call it anything. Where no campaign made the logs, what all of them state precedes both.

    :param results: the cell's; stated conditions stand in its ``provenance.options.conditions``.
    :param printed: whether what the logs state counts, which differs between frameworks.
    """
    known = results["provenance"]
    options = known.get("options") or {}
    of_logs = _of_logs(cell) if printed and "log_dir" in options else {}
    stated = {**(options.get("conditions") or {}), **of_logs}
    recorded = {
        **cell,
        "framework": _framework(cell),
        "unit": _unit(cell),
        "loss_scaling": _each(one.get("loss_scaling") for one in cell["repeats"])
        # Of a program whose logs do not tell it.
        or cell.get("loss_scaling"),
        **_of_nodes(cell, known.get("nodes") or {}),
        **of_logs,
    }
    conditions = {
        name: stated[name] if not recorded.get(name) and name in stated else recorded.get(name)
        for name in (*CONDITIONS, "topology", "nodes", "devices_per_node", "device")
    }
    own = own_values({**conditions, "own_factors": cell.get("own_factors")})
    return {
        **conditions,
        **({"own_factors": own} if own else {}),
        "model": stated.get("model", cell["model"]),
        "strategy": _each(one.get("strategy") for one in cell["repeats"]),
        "throughput": cell["median_speed"],
        "runs": ok_speeds(cell),
        **_trained(cell),
    }


def _of_logs(cell: MeasuredCell) -> Dict[str, Any]:
    """Return the factors that the logs of all repeats with a speed state alike."""
    logged = [one.get("conditions") or {} for one in cell["repeats"] if one["ending"] == "ok"]
    first = logged[0] if logged else {}
    return {key: first[key] for key in first if all(one.get(key) == first[key] for one in logged)}


def _trained(cell: MeasuredCell) -> Dict[str, Any]:
    """Return what the cell's trainings to a target give of the figures that rows may have.

    There is no time to train of a cell where one training did not reach its target.
    """
    good = with_speed(cell["repeats"])
    done = [one["time_to_train"] for one in good if one.get("time_to_train")]
    times = [one["time_to_target"] for one in done if one["time_to_target"] is not None]
    rates = [one["end_to_end_throughput"] for one in done if one["end_to_end_throughput"]]
    targets, epochs = ({one[key] for one in done} for key in ("target_accuracy", "epochs"))
    return {
        "target_accuracy": targets.pop() if len(targets) == 1 else None,
        "epochs": epochs.pop() if len(epochs) == 1 else None,
        "time_to_train_seconds": median(times) if times and len(times) == len(done) else None,
        "accuracy_top1": max((one["best_accuracy"] or 0.0 for one in done), default=0.0) or None,
        "end_to_end_throughput": median(rates) if rates else None,
    }


def _framework(cell: MeasuredCell) -> Optional[str]:
    """Return the cell's framework, or that of the reader of its logs, which are named after it."""
    if cell.get("framework"):
        return str(cell["framework"])
    readers = {repeat["reader"] for repeat in cell["repeats"] if repeat.get("reader")}
    families = {plain_condition("framework", {"framework": reader}) for reader in readers}
    return families.pop() if len(families) == 1 and families <= set(FRAMEWORKS) else None


def _of_nodes(cell: MeasuredCell, nodes: Mapping[str, Any]) -> Dict[str, Any]:
    """Return gpu, framework_version and container of the cell's nodes; several are listed."""
    own = [nodes[name] for name in cell.get("node_names") or () if name in nodes]
    # Older campaigns name the framework instead of its package set.
    chosen = cell.get("framework_set") or cell.get("framework")
    used = [(node.get("frameworks") or {}).get(chosen) or {} for node in own]
    package = FRAMEWORKS.get(str(cell.get("framework")), str(cell.get("framework")))
    gpus = [gpu["name"] for node in own for gpu in node.get("gpus") or ()]
    return {
        "gpu": _each(gpus) if cell.get("device") != "cpu" else None,
        "framework_version": _each((entry.get("packages") or {}).get(package) for entry in used),
        "container": _each(entry.get("image") for entry in used),
    }


def _each(names: Any) -> Optional[str]:
    return ", ".join(dict.fromkeys(name for name in names if name)) or None
