"""GPUs, NVSwitches and HCAs among the PCI devices of a node."""

import json
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stacks.pci import hardware

STAND_INS = Path(__file__).resolve().parents[3] / "molecule/shared/stand_ins/gpus"


def device(vendor, identifier, kind):
    return {"slot": "0000:1a:00.0", "vendor": vendor, "device": identifier, "device_class": kind}


@pytest.mark.parametrize(
    ("name", "architecture", "switches", "hca"),
    [
        ("8xV100", "volta", [], {"ConnectX-5"}),
        ("8xH100", "hopper", ["NVSwitch 3"] * 4, {"ConnectX-7"}),
        ("1xH100_MIG", "hopper", [], set()),
        ("1xH200", "hopper", [], set()),
        ("1xL40S", "ada", [], set()),
    ],
)
def test_the_nodes_of_the_stand_ins(name, architecture, switches, hca):
    described = json.loads((STAND_INS / f"{name}.json").read_text())["pci"]
    found = hardware(
        {"slot": entry["address"], "device_class": entry["class"], **entry} for entry in described
    )
    assert [gpu["architecture"] for gpu in found["gpus"]] == [architecture] * int(name[0])
    assert [switch["model"] for switch in found["nvswitches"]] == switches
    assert {entry["model"] for entry in found["hcas"]} == hca


@pytest.mark.parametrize(
    ("identifier", "architecture"),
    [
        ("0x15f9", "pascal"),
        ("0x1db6", "volta"),
        ("0x1eb8", "turing"),
        ("0x20b2", "ampere"),
        ("0x26b5", "ada"),
        ("0x2335", "hopper"),
        ("0x2901", "blackwell"),
        ("0x9999", None),
        # The ends of the ranges, and what lies beside them.
        ("0x0fbf", None), ("0x0fc0", "kepler"), ("0x12bf", "kepler"), ("0x12c0", None),
        ("0x1340", "maxwell"), ("0x15ef", "maxwell"), ("0x15f0", "pascal"), ("0x15ff", "pascal"),
        ("0x1600", "maxwell"), ("0x17ff", "maxwell"), ("0x1800", None), ("0x1aff", None),
        ("0x1b00", "pascal"), ("0x1d7f", "pascal"), ("0x1d80", "volta"), ("0x1dff", "volta"),
        ("0x1e00", "turing"), ("0x1fff", "turing"), ("0x2000", None), ("0x2080", "ampere"),
        ("0x20ff", "ampere"), ("0x2180", "turing"), ("0x21ff", "turing"), ("0x2200", "ampere"),
        ("0x22ff", "ampere"), ("0x2300", "hopper"), ("0x237f", "hopper"), ("0x2380", None),
        ("0x2480", "ampere"), ("0x25ff", "ampere"), ("0x2680", "ada"), ("0x28ff", "ada"),
        ("0x2900", "blackwell"), ("0x31ff", "blackwell"), ("0x3200", None),
    ],
)  # fmt: skip
def test_the_architecture_of_a_gpu(identifier, architecture):
    (gpu,) = hardware([device("0x10de", identifier, "0x030200")])["gpus"]
    assert gpu["architecture"] == architecture


def test_other_devices_are_left_out():
    audio = device("0x10de", "0x10f7", "0x040300")
    other = device("0x8086", "0x1db6", "0x030000")
    assert hardware([audio, other]) == {"gpus": [], "nvswitches": [], "hcas": []}
