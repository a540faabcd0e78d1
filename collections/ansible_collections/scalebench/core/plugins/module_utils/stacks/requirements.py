"""What drivers and toolkits ask of the hardware and of each other, from their release notes."""

from __future__ import annotations

from typing import List, Mapping, Optional, Tuple

from .versions import branch, numbers

__all__ = ["architecture_problems", "driver_for_toolkit", "last_branch", "toolkit_problems"]

# The oldest Linux driver of a toolkit release, newest first: CUDA Toolkit Release Notes, table
# "CUDA Toolkit and Corresponding Driver Versions". From 11 on an older driver of the same major
# version may do (minor version compatibility); the role installs both, so the pair is asked for.
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
_LAST_TOOLKIT = {"kepler": "12.0", "maxwell": "13.0", "pascal": "13.0", "volta": "13.0"}
# The first toolkit with an architecture.
_FIRST_TOOLKIT = {"volta": "9.0", "turing": "10.0", "ampere": "11.0", "ada": "11.8"}
_FIRST_TOOLKIT.update({"hopper": "11.8", "blackwell": "12.8"})
# Open kernel modules drive Turing and later: README of NVIDIA/open-gpu-kernel-modules.
_CLOSED_ONLY = ("kepler", "maxwell", "pascal", "volta")
# Blackwell has no proprietary modules: NVIDIA's driver installation guide.
_OPEN_ONLY = ("blackwell",)


def last_branch(architecture: str) -> Optional[int]:
    """Return the last driver branch that drives an architecture; None while there is no last."""
    return _LAST_BRANCH.get(architecture)


def driver_for_toolkit(toolkit: str) -> Optional[str]:
    """Return the oldest driver for a CUDA toolkit; None for one that is older than the table."""
    for release, driver in _DRIVERS:
        if numbers(toolkit) >= numbers(release):
            return driver
    return None


def architecture_problems(architecture: str, driver: Mapping[str, str]) -> List[str]:
    """Return why a driver cannot drive GPUs of an architecture.

    :param driver: ``version``, and ``modules``: open or proprietary.
    """
    problems = []
    version, modules = driver["version"], driver.get("modules")
    last, first = _LAST_BRANCH.get(architecture), _FIRST_BRANCH.get(architecture)
    if last is not None and branch(version) > last:
        problems.append(f"driver {version}: {last} is the last branch that drives {architecture}")
    if first is not None and branch(version) < first:
        problems.append(f"driver {version}: {architecture} needs branch {first} or later")
    if modules == "open" and architecture in _CLOSED_ONLY:
        problems.append(
            f"open kernel modules: they drive turing and later, and this is {architecture};"
            " set driver.modules to proprietary"
        )
    if modules == "proprietary" and architecture in _OPEN_ONLY:
        problems.append(f"proprietary kernel modules: {architecture} has open ones only")
    return problems


def toolkit_problems(architecture: str, toolkit: str) -> List[str]:
    """Return why a CUDA toolkit cannot compile for an architecture or run on it."""
    gone, since = _LAST_TOOLKIT.get(architecture), _FIRST_TOOLKIT.get(architecture)
    if gone is not None and numbers(toolkit) >= numbers(gone):
        return [f"CUDA {toolkit}: {architecture} was removed in {gone}"]
    if since is not None and numbers(toolkit) < numbers(since):
        return [f"CUDA {toolkit}: {architecture} needs {since} or later"]
    return []
