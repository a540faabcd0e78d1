"""Stacks that cannot work on some hardware, and the reasons."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stacks.problems import stack_problems
from stack_data import node, stack


def changed(name, **records):
    """Return a stack with some keys of its records set otherwise."""
    base = stack(name)
    return {**base, **{key: {**base[key], **value} for key, value in records.items()}}


@pytest.mark.parametrize(
    ("name", "hardware"),
    [
        ("v100-2020", node("volta", hcas=["ConnectX-5"])),
        ("v100-2026", node("volta", hcas=["ConnectX-4", "ConnectX-5"])),
        ("hopper-2026", node("hopper", hcas=["ConnectX-7"], nvswitches=4)),
        ("cpu", node(None)),
        ("cpu", node("volta")),
        ("v100-2026", node(None)),
        # A GPU that is newer than the table: no requirement is known.
        (
            "v100-2026",
            {**node(None), "gpus": [{"address": "a", "model": "b", "architecture": None}]},
        ),
    ],
)
def test_a_stack_on_the_hardware_it_is_for_has_no_problems(name, hardware):
    assert stack_problems(stack(name), hardware) == []


@pytest.mark.parametrize(
    ("definition", "hardware", "reasons"),
    [
        (
            stack("hopper-2026"),
            node("volta"),
            [
                "stack hopper-2026 is for hopper GPUs, and this node has volta",
                "open kernel modules support turing and later, not volta:"
                " set driver.modules to proprietary",
                "CUDA 13.0.2: volta was removed in 13.0",
            ],
        ),
        (
            changed("v100-2026", driver={"version": "590.44.01"}),
            node("volta"),
            ["driver 590.44.01: 580 is the last branch that supports volta"],
        ),
        (
            changed("v100-2026", driver={"version": "575.51.03"}),
            node("volta"),
            ["CUDA 12.9.1 needs driver 575.57.08 or later, and the stack has 575.51.03"],
        ),
        (
            changed("v100-2020", driver={"version": "440.31"}),
            node("volta"),
            ["CUDA 10.2.89 needs driver 440.33 or later, and the stack has 440.31"],
        ),
        (
            changed("v100-2020", driver={"version": "375.26"}, cuda={"version": "8.0.61"}),
            node("volta"),
            [
                "driver 375.26: volta needs branch 384 or later",
                "CUDA 8.0.61: volta needs 9.0 or later",
            ],
        ),
        (
            {**stack("hopper-2026"), "fabric_manager": None},
            node("hopper", nvswitches=4),
            ["the GPUs are behind NVSwitches, and the stack has no fabric_manager"],
        ),
        (
            changed("hopper-2026", fabric_manager={"version": "580.159.03"}),
            node("hopper", nvswitches=4),
            ["fabric manager 580.159.03 must have the driver's version, 580.159.04"],
        ),
        (
            stack("hopper-2026"),
            node("hopper", hcas=["ConnectX-4"]),
            [
                "doca 3.2.0 does not support ConnectX-4: the last that does is DOCA 2.9;"
                " ofed.source=distribution uses rdma-core instead"
            ],
        ),
        (
            stack("v100-2026"),
            node("volta", hcas=["ConnectX-3"]),
            [
                "mlnx_ofed 24.10-4.1.4.0 does not support ConnectX-3: the last that does is"
                " MLNX_OFED 4.9; ofed.source=distribution uses rdma-core instead"
            ],
        ),
        (
            changed("v100-2026", driver={"source": "given"}),
            node("volta", driver_loaded="570.86.15"),
            ["driver 580.159.04 must be installed already, and 570.86.15 is loaded"],
        ),
        (
            changed("v100-2026", driver={"source": "given"}),
            node("volta"),
            ["driver 580.159.04 must be installed already, and none is loaded"],
        ),
    ],
)
def test_a_stack_that_cannot_work_is_refused_with_the_reason(definition, hardware, reasons):
    if definition.get("fabric_manager", 1) is None:
        del definition["fabric_manager"]
    assert stack_problems(definition, hardware) == reasons


def test_doca_2_9_supports_connectx_4_and_mlnx_ofed_4_9_connectx_3():
    older = changed("hopper-2026", ofed={"version": "2.9.3"})
    assert stack_problems(older, node("hopper", hcas=["ConnectX-4"])) == []
    assert stack_problems(stack("v100-2020"), node("volta", hcas=["ConnectX-3"])) == []


def test_a_given_driver_that_is_loaded_is_not_a_problem():
    given = changed("v100-2026", driver={"source": "given"})
    assert stack_problems(given, node("volta", driver_loaded="580.159.04")) == []


@pytest.mark.parametrize(
    ("name", "release", "commands"),
    [
        ("v100-2026", 8, ["module enable nvidia-driver:580-dkms", "install cuda-drivers"]),
        (
            "hopper-2026",
            9,
            ["module enable nvidia-driver:580-open", "install nvidia-open nvidia-fabricmanager"],
        ),
        ("v100-2026", 10, [r"versionlock \*nvidia\*580\*", "install cuda-drivers"]),
    ],
)
def test_a_driver_for_the_rhel_family_is_refused_with_how_to_install_it(name, release, commands):
    hopper = name.startswith("hopper")
    hardware = node("hopper" if hopper else "volta", nvswitches=4 if hopper else 0)
    hardware.update(os_family="RedHat", os_release=release)
    (reason,) = stack_problems(stack(name), hardware)
    for command in commands:
        assert f"`dnf {command}`" in reason
    assert "EPEL" in reason and "driver.source to given" in reason
    given = changed(name, driver={"source": "given"})
    assert stack_problems(given, {**hardware, "driver_loaded": "580.159.04"}) == []
    assert stack_problems(stack(name), {**hardware, "os_family": "Debian"}) == []


def test_fabric_manager_had_another_name_on_the_rhel_family_before_branch_580():
    old = {"version": "570.211.01"}
    hardware = {**node("hopper", nvswitches=4), "os_family": "RedHat", "os_release": 9}
    # CUDA 13 needs branch 580.
    (reason,) = stack_problems(
        changed("hopper-2026", driver=old, fabric_manager=old, cuda={"version": "12.8.1"}), hardware
    )
    assert "`dnf install nvidia-open nvidia-fabric-manager`" in reason


def test_a_fabric_manager_is_given_with_its_driver():
    given = changed("hopper-2026", driver={"source": "given", "version": "580.95.05"})
    hardware = node("hopper", nvswitches=4, driver_loaded="580.95.05")
    assert stack_problems(given, hardware) == []
    without = {key: record for key, record in given.items() if key != "fabric_manager"}
    assert stack_problems(without, hardware) == []


def test_problems_are_in_order_of_the_hardware_s_names():
    models = ["ConnectX-4 Lx", "ConnectX-3 Pro", "ConnectX-4", "Connect-IB", "ConnectX-3"]
    found = stack_problems(
        changed("hopper-2026", ofed={"source": "doca", "version": "3.1.0"}),
        {**node("hopper", hcas=models), "nvswitches": []},
    )
    named = [line.split("support ")[1].split(":")[0] for line in found if " not support " in line]
    assert named == sorted(models)


def test_gpus_of_several_kinds_are_named_in_order():
    kinds = ["volta", "turing", "kepler", "maxwell", "ada"]
    gpus = [{"address": kind, "model": kind, "architecture": kind} for kind in kinds]
    found = stack_problems(stack("hopper-2026"), {**node("hopper"), "gpus": gpus})
    lines = [line for line in found if line.startswith("stack hopper-2026 is for")]
    assert [line.split()[-1] for line in lines] == sorted(kinds)
