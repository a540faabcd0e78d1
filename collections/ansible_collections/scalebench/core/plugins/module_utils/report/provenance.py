"""Where the figures of a report come from: rules, origin, machines and their software."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from ..layout.groups import machines
from ..layout.sections import Section, filled, quote, section, table, unquoted
from ..published.conditions import FRAMEWORKS
from ..records.node_names import folded
from ..records.results import Results
from ..stats.statistics import median

__all__ = ["machine_rows", "machines_section", "method", "origin"]

Node = Mapping[str, Any]
_CHECKS = (
    ("invalid_repeat", "checks that make a repeat invalid if they fail"),
    ("invalid_cell", "check that makes a speed-up invalid if it fails"),
    ("warning", "checks that only warn"),
)
# The packages that decide how fast a training is; the run records name all others.
_PACKAGES = (*FRAMEWORKS.values(), "numpy")
_MOST_ROWS = 100


def method(results: Results) -> List[str]:
    """Return the rules in words, that of one repeat first."""
    provenance = results["provenance"]
    lines = []
    for strategy in provenance["strategies"]:
        about = strategy["about"] or "a strategy of this name"
        changed = unquoted(", ".join(f"{k}={value}" for k, value in strategy["changed"].items()))
        here = f"; here with {changed}" if changed else ""
        lines.append(f"throughput of one repeat: {quote(strategy['name'])}: {about}{here}")
    lines += [f"{name.replace('_', ' ')}: {rule}" for name, rule in provenance["rules"].items()]
    checks = provenance["checks"]
    lines += [
        f"{text}: {' '.join(checks[kind].values())}" for kind, text in _CHECKS if checks[kind]
    ]
    half_width = (provenance.get("options") or {}).get("half_width")
    if half_width:
        lines.append(
            f"number of repeats: until half the 95 % interval of the median, between two order"
            f" statistics, is at most {half_width:.2%} of it; whatever the speeds are"
        )
    return lines


def origin(results: Results) -> List[str]:
    """Return the options, the time of planning, the code, and the log formats of the results."""
    provenance = results["provenance"]
    options = [quote(f"{key}={value}") for key, value in (provenance.get("options") or {}).items()]
    lines = [("Options", ", ".join(options) or "none, the benchmark's defaults")]
    lines += [("Planned", unquoted(provenance["created"]))] if provenance.get("created") else []
    lines += [
        ("Continued after changes", unquoted(f"{one['at']}: {'; '.join(one['changes'])}"))
        for one in provenance.get("continued") or ()
    ]
    other = provenance.get("other_trainers") or []
    if other:
        lines.append(("Trainers that are not those of this commit", ", ".join(map(quote, other))))
    if provenance.get("carrier"):
        lines.append(("Nodes reached by", unquoted(provenance["carrier"])))
    if provenance.get("controller"):
        lines.append(("Produced by", _controller(provenance["controller"])))
    if provenance.get("sha256"):
        lines.append(("Checksum of the plan", quote(provenance["sha256"])))
    lines.append(("Log formats", ", ".join(provenance["readers"]) or "none"))
    lines += [("Trainer on GPUs", _trainer(trainer)) for trainer in provenance["trainers"]]
    return [f"{name}: {text}" for name, text in lines]


def _trainer(trainer: Mapping[str, Any]) -> str:
    """Return what the header of a log states: framework, GPU libraries, GPU, its code."""
    libraries = {"cuda": "CUDA", "cudnn": "cuDNN", "nccl": "NCCL"}
    parts = [f"{trainer.get('framework')} {trainer.get('framework_version') or ''}".rstrip()]
    parts += [f"{name} {trainer[key]}" for key, name in libraries.items() if trainer.get(key)]
    device = f"{trainer.get('device_name') or 'GPU'} (capability {trainer['capability']})"
    built = f", built for {trainer['architectures']}" if trainer.get("architectures") else ""
    return unquoted(f"{', '.join(parts)}, on {device}{built}")


def _controller(controller: Mapping[str, Any]) -> str:
    """Return the code and the programs that ran it: commit, ansible-core, Python."""
    commit = controller.get("commit")
    parts = [f"commit {quote(commit)}" if commit else "commit unknown"]
    parts += ["with uncommitted changes"] if controller.get("dirty") else []
    parts += [
        f"{name} {unquoted(controller[key])}"
        for key, name in (("ansible_core", "ansible-core"), ("python", "Python"))
        if controller.get(key)
    ]
    return ", ".join(parts)


def machines_section(results: Results) -> Optional[Section]:
    """Return the section on hardware and software, None where nothing is recorded."""
    hardware = machine_rows(results)
    if not hardware:
        return None
    software = [{"nodes": folded(names), **row} for names, _, row in _alike(results, _software)]
    about = "As recorded when the campaign was planned. Machines with the same values share a row."
    tables = [
        table(caption, rows[:_MOST_ROWS], filled(rows))
        for caption, rows in (
            ("Hardware and system", hardware),
            ("Software and settings", software),
        )
    ]
    if max(len(hardware), len(software)) > _MOST_ROWS:
        about += f" The first {_MOST_ROWS} rows are shown; plan.json has all."
    return section("machines", "Machines", [about], tables)


def machine_rows(results: Results) -> List[Dict[str, Any]]:
    """Return a row of hardware for each kind of machine, with its nodes."""
    return [
        {
            "nodes": folded(names),
            "host": folded(node["hostname"] for node in some if node.get("hostname")) or "-",
            **row,
            "load before": _load(some),
        }
        for names, some, row in _alike(results, _hardware)
    ]


def _alike(
    results: Results, describe: Callable[[Node], Dict[str, Any]]
) -> List[Tuple[List[str], List[Node], Dict[str, Any]]]:
    """Return the nodes, the first node's fingerprint on each machine, and the row that they share.

    :param describe: the row of a machine.
    """
    nodes = results["provenance"].get("nodes") or {}
    found: Dict[str, Tuple[List[str], List[Node], Dict[str, Any]]] = {}
    for names in machines(results).values():
        row = describe(nodes[names[0]])
        alike = found.setdefault(repr(row), ([], [], row))
        alike[0].extend(names)
        alike[1].append(nodes[names[0]])
    return [*found.values()]


def _load(machines_alike: List[Node]) -> Any:
    """Return the load of a machine, or the median of several and the highest with its host."""
    loads = [
        (node["load"], node.get("hostname"))
        for node in machines_alike
        if node.get("load") is not None
    ]
    if len(loads) < 2:
        return loads[0][0] if loads else None
    highest, host = max(loads, key=lambda pair: pair[0])
    return f"{median([load for load, _ in loads]):.2f}, at most {highest:.2f} on {host}"


def _hardware(node: Node) -> Dict[str, Any]:
    gpus = node.get("gpus") or []
    kinds = dict.fromkeys(gpu["name"] for gpu in gpus)
    drivers = dict.fromkeys(gpu["driver"] for gpu in gpus if gpu.get("driver"))
    memory = node.get("memory_mib")
    return {
        "system": f"{node.get('os') or '-'}, Linux {node.get('kernel') or '-'}",
        "processor": node.get("cpu_model") or "-",
        "cores": node.get("cores"),
        "memory, GiB": None if memory is None else round(memory / 1024, 1),
        "GPUs": f"{len(gpus)} {', '.join(kinds)}" if gpus else "none",
        "driver": ", ".join(drivers) or "-",
    }


def _software(node: Node) -> Dict[str, Any]:
    cards = [
        f"{name} (MTU {card.get('mtu') or '-'}, {card.get('speed_mbit') or 'unknown'} Mbit/s)"
        for name, card in (node.get("interfaces") or {}).items()
    ]
    ports = [
        f"{name}/{number} {port.get('rate') or ''} {port.get('state') or ''}".strip()
        for name, device in (node.get("infiniband") or {}).items()
        for number, port in device.get("ports", {}).items()
    ]
    return {
        "frameworks": _frameworks(node),
        "Python of the node": node.get("python"),
        "CUDA driver": node.get("cuda_driver"),
        "CUDA toolkit": node.get("cuda_toolkit"),
        "NCCL": node.get("nccl"),
        "OFED": node.get("ofed"),
        "governor": node.get("cpu_governor"),
        "congestion control": node.get("tcp_congestion_control"),
        "virtualisation": node.get("virtualisation"),
        "interfaces": ", ".join(cards) or None,
        "InfiniBand": ", ".join(ports) or None,
    }


def _frameworks(node: Node) -> str:
    frameworks = []
    for name, framework in (node.get("frameworks") or {}).items():
        packages = (framework or {}).get("packages") or {}
        known = [f"{one} {packages[one]}" for one in _PACKAGES if one in packages]
        frameworks.append(f"{name}: {', '.join(known) or 'versions unknown'}")
    return "; ".join(frameworks) or "-"
