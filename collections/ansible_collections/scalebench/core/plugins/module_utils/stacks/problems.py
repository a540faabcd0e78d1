"""Why a stack cannot work on the hardware of a node, before anything is installed."""

from __future__ import annotations

from typing import Any, List, Mapping

from .requirements import architecture_problems, driver_for_toolkit, toolkit_problems
from .versions import numbers, same_release

__all__ = ["stack_problems"]

# By HCA the first version without it and the last software with it. MLNX_OFED 5.0 dropped
# ConnectX-3 and Connect-IB (release notes of 4.9 LTS); DOCA 2.9 LTS is the last with ConnectX-4
# (DOCA-Host release notes) and never had the older ones.
_REMOVED = {
    "mlnx_ofed": {
        "ConnectX-3": ("5.0", "MLNX_OFED 4.9"),
        "ConnectX-3 Pro": ("5.0", "MLNX_OFED 4.9"),
        "Connect-IB": ("5.0", "MLNX_OFED 4.9"),
    },
    "doca": {
        "ConnectX-3": ("0", "MLNX_OFED 4.9"),
        "ConnectX-3 Pro": ("0", "MLNX_OFED 4.9"),
        "Connect-IB": ("0", "MLNX_OFED 4.9"),
        "ConnectX-4": ("2.10", "DOCA 2.9"),
        "ConnectX-4 Lx": ("2.10", "DOCA 2.9"),
    },
}


def stack_problems(stack: Mapping[str, Any], hardware: Mapping[str, Any]) -> List[str]:
    """Return one sentence for each reason why the stack cannot work there.

    :param stack: as ``resolved_stack`` returns it.
    :param hardware: ``gpus``, ``nvswitches`` and ``hcas`` as ``pci.hardware`` returns them, and
        ``driver_loaded``: the version of the kernel module that runs, or null.
    """
    problems = _driver_problems(stack, hardware) + _toolkit_problems(stack, hardware)
    problems += _fabric_problems(stack, hardware) + _ofed_problems(stack, hardware)
    return list(dict.fromkeys(problems))


def _architectures(hardware: Mapping[str, Any]) -> List[str]:
    return sorted({gpu["architecture"] for gpu in hardware["gpus"] if gpu["architecture"]})


def _driver_problems(stack: Mapping[str, Any], hardware: Mapping[str, Any]) -> List[str]:
    found, problems = _architectures(hardware), []
    if found and "driver" in stack:
        meant = stack["architectures"]
        problems += [
            f"stack {stack['stack']} is for {', '.join(meant)} GPUs, and this node has {name}"
            for name in found
            if name not in meant
        ]
        for name in found:
            problems += architecture_problems(name, stack["driver"])
        given, loaded = stack["driver"]["source"] == "given", hardware.get("driver_loaded")
        if given and loaded != stack["driver"]["version"]:
            runs = f"{loaded} runs" if loaded else "none runs"
            problems.append(
                f"driver {stack['driver']['version']} is to be there already, and {runs}"
            )
    return problems


def _toolkit_problems(stack: Mapping[str, Any], hardware: Mapping[str, Any]) -> List[str]:
    if "cuda" not in stack:
        return []
    toolkit, problems = stack["cuda"]["version"], []
    for name in _architectures(hardware):
        problems += toolkit_problems(name, toolkit)
    driver, needed = stack.get("driver", {}).get("version"), driver_for_toolkit(toolkit)
    if driver and needed and numbers(driver) < numbers(needed):
        problems.append(
            f"CUDA {toolkit} needs driver {needed} or later, and the stack has {driver}"
        )
    return problems


def _fabric_problems(stack: Mapping[str, Any], hardware: Mapping[str, Any]) -> List[str]:
    if "driver" not in stack:
        return []
    driver, fabric = stack["driver"]["version"], stack.get("fabric_manager")
    if hardware["nvswitches"] and fabric is None:
        return ["the GPUs are behind NVSwitches, and the stack has no fabric_manager"]
    if fabric is not None and not same_release(driver, fabric["version"]):
        return [f"fabric manager {fabric['version']} must have the driver's version, {driver}"]
    return []


def _ofed_problems(stack: Mapping[str, Any], hardware: Mapping[str, Any]) -> List[str]:
    ofed = stack.get("ofed")
    removed = _REMOVED.get(ofed["source"], {}) if ofed else {}
    problems = []
    for model in sorted({hca["model"] for hca in hardware["hcas"]} & set(removed)):
        gone, last = removed[model]
        if ofed is not None and numbers(ofed["version"]) >= numbers(gone):
            problems.append(
                f"{ofed['source']} {ofed['version']} does not drive {model}: the last that does is"
                f" {last}; ofed.source=distribution takes rdma-core instead"
            )
    return problems
