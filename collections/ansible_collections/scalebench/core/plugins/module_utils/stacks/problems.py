"""Why a stack cannot work on the hardware of a node, before anything is installed.

The requirements of drivers and toolkits are from their release notes.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Tuple

from .versions import branch, numbers, same_release

__all__ = ["stack_problems"]

# The oldest Linux driver of a toolkit release, newest first: CUDA Toolkit Release Notes, table
# "CUDA Toolkit and Corresponding Driver Versions". From 11 on an older driver of the same major
# version may work (minor version compatibility); the role installs both, so it requires the pair.
_DRIVERS: Tuple[Tuple[str, str], ...] = (
    ("13.0.1", "580.82.07"),
    ("13.0", "580.65.06"),
    ("12.9.1", "575.57.08"),
    ("12.9", "575.51.03"),
    ("12.8.1", "570.124.06"),
    ("12.8", "570.26"),
    ("12.0", "525.60.13"),
    ("11.0", "450.36.06"),
    ("10.2", "440.33"),
    ("10.1", "418.39"),
    ("10.0", "410.48"),
)
# The last driver branch of an architecture: NVIDIA's Unix driver notices.
_LAST_BRANCH = {"kepler": 470, "maxwell": 580, "pascal": 580, "volta": 580}
# The first driver branch of an architecture: the release notes of the data centre drivers.
_FIRST_BRANCH = {"volta": 384, "turing": 410, "ampere": 450, "ada": 520, "hopper": 520}
# The first toolkit without an architecture: release notes of CUDA 12.0 and 13.0.
_REMOVED_IN_TOOLKIT = {"kepler": "12.0", "maxwell": "13.0", "pascal": "13.0", "volta": "13.0"}
# The first toolkit with an architecture.
_FIRST_TOOLKIT = {"volta": "9.0", "turing": "10.0", "ampere": "11.0", "ada": "11.8"}
_FIRST_TOOLKIT.update({"hopper": "11.8", "blackwell": "12.8"})
# Open kernel modules drive Turing and later: README of NVIDIA/open-gpu-kernel-modules.
_CLOSED_ONLY = ("kepler", "maxwell", "pascal", "volta")
# Blackwell has no proprietary modules: NVIDIA's driver installation guide.
_OPEN_ONLY = ("blackwell",)
# By HCA the first version without support for it, and the last software with it. MLNX_OFED 5.0
# dropped ConnectX-3 and Connect-IB (release notes of 4.9 LTS); DOCA 2.9 LTS is the last to support
# ConnectX-4 (DOCA-Host release notes) and never supported the older ones.
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


def _driver_for_toolkit(toolkit: str) -> Optional[str]:
    """Return the oldest driver for a CUDA toolkit; None for a toolkit older than the table."""
    for release, driver in _DRIVERS:
        if numbers(toolkit) >= numbers(release):
            return driver
    return None


def _unsupported_by_driver(architecture: str, driver: Mapping[str, str]) -> List[str]:
    """Return why a driver does not support GPUs of an architecture.

    :param driver: ``version``, and ``modules``: open or proprietary.
    """
    problems = []
    version, modules = driver["version"], driver.get("modules")
    last, first = _LAST_BRANCH.get(architecture), _FIRST_BRANCH.get(architecture)
    if last is not None and branch(version) > last:
        problems.append(f"driver {version}: {last} is the last branch that supports {architecture}")
    if first is not None and branch(version) < first:
        problems.append(f"driver {version}: {architecture} needs branch {first} or later")
    if modules == "open" and architecture in _CLOSED_ONLY:
        problems.append(
            f"open kernel modules support turing and later, not {architecture}:"
            " set driver.modules to proprietary"
        )
    if modules == "proprietary" and architecture in _OPEN_ONLY:
        problems.append(
            f"proprietary kernel modules do not support {architecture}: set driver.modules to open"
        )
    return problems


def _unsupported_by_toolkit(architecture: str, toolkit: str) -> List[str]:
    """Return why a CUDA toolkit does not support an architecture."""
    removed, since = _REMOVED_IN_TOOLKIT.get(architecture), _FIRST_TOOLKIT.get(architecture)
    if removed is not None and numbers(toolkit) >= numbers(removed):
        return [f"CUDA {toolkit}: {architecture} was removed in {removed}"]
    if since is not None and numbers(toolkit) < numbers(since):
        return [f"CUDA {toolkit}: {architecture} needs {since} or later"]
    return []


def stack_problems(stack: Mapping[str, Any], hardware: Mapping[str, Any]) -> List[str]:
    """Return one sentence for each reason why the stack cannot work on the hardware.

    :param stack: as ``resolved_stack`` returns it.
    :param hardware: ``gpus``, ``nvswitches`` and ``hcas`` as ``pci.hardware`` returns them,
        ``driver_loaded``: the version of the kernel module that runs, or null, ``os_family`` and
        ``os_release``: Ansible's family of the distribution and the number of its major release.
    """
    problems = _driver_problems(stack, hardware) + _toolkit_problems(stack, hardware)
    problems += _fabric_problems(stack, hardware) + _ofed_problems(stack, hardware)
    return list(dict.fromkeys(problems))


def _architectures(hardware: Mapping[str, Any]) -> List[str]:
    return sorted({gpu["architecture"] for gpu in hardware["gpus"] if gpu["architecture"]})


def _driver_problems(stack: Mapping[str, Any], hardware: Mapping[str, Any]) -> List[str]:
    present, problems = _architectures(hardware), []
    if present and "driver" in stack:
        supported = stack["architectures"]
        problems += [
            f"stack {stack['stack']} is for {', '.join(supported)} GPUs, and this node has {name}"
            for name in present
            if name not in supported
        ]
        for name in present:
            problems += _unsupported_by_driver(name, stack["driver"])
        given, loaded = stack["driver"]["source"] == "given", hardware.get("driver_loaded")
        if not given and hardware.get("os_family") == "RedHat":
            problems.append(_by_hand(stack["driver"], hardware))
        if given and loaded != stack["driver"]["version"]:
            runs = f"{loaded} is loaded" if loaded else "none is loaded"
            problems.append(
                f"driver {stack['driver']['version']} must be installed already, and {runs}"
            )
    return problems


def _by_hand(driver: Mapping[str, str], hardware: Mapping[str, Any]) -> str:
    """Return how to install the driver on the RHEL family, where the roles do not.

    By the chapter on Red Hat Enterprise Linux of NVIDIA's Driver Installation Guide: DKMS is in
    EPEL; a branch is a module stream up to release 9 and a version lock from 10 on. Fabric
    manager's package has another name before branch 580.
    """
    modules, number = driver.get("modules"), branch(driver["version"])
    stream = f"{number}-{'open' if modules == 'open' else 'dkms'}"
    locked = hardware.get("os_release", 0) >= 10
    lock = rf"versionlock \*nvidia\*{number}\*"
    choose = lock if locked else f"module enable nvidia-driver:{stream}"
    packages = "nvidia-open" if modules == "open" else "cuda-drivers"
    fabric = "nvidia-fabricmanager" if number >= 580 else "nvidia-fabric-manager"
    packages += f" {fabric}" if hardware["nvswitches"] else ""
    return (
        "the roles do not install a driver on the RHEL family. Enable EPEL (for DKMS) and NVIDIA's"
        f" repository there, run `dnf {choose}` and `dnf install {packages}`, reboot, and set"
        " driver.source to given and driver.version to what was installed"
    )


def _toolkit_problems(stack: Mapping[str, Any], hardware: Mapping[str, Any]) -> List[str]:
    if "cuda" not in stack:
        return []
    toolkit, problems = stack["cuda"]["version"], []
    for name in _architectures(hardware):
        problems += _unsupported_by_toolkit(name, toolkit)
    driver, needed = stack.get("driver", {}).get("version"), _driver_for_toolkit(toolkit)
    if driver and needed and numbers(driver) < numbers(needed):
        problems.append(
            f"CUDA {toolkit} needs driver {needed} or later, and the stack has {driver}"
        )
    return problems


def _fabric_problems(stack: Mapping[str, Any], hardware: Mapping[str, Any]) -> List[str]:
    if "driver" not in stack:
        return []
    driver, fabric = stack["driver"]["version"], stack.get("fabric_manager")
    if stack["driver"]["source"] == "given":
        # It comes with the driver; cuInit shows whether it runs.
        return []
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
                f"{ofed['source']} {ofed['version']} does not support {model}: the last that"
                f" does is {last}; ofed.source=distribution uses rdma-core instead"
            )
    return problems
