"""NCCL's lines: which transport connects the ranks, and whether it is the expected one."""

import os
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.telemetry.nccl import (
    check_expected,
    transports,
    unexpected,
)

ROOT = Path(__file__).resolve().parents[3]
REAL = Path(os.environ.get("SCALEBENCH_PUBLIC_LOGS", ROOT.parent / "shared/logs")) / (
    "wanghuancoder+PerformanceReport@66245fd/ResNet50V1.5/OtherReports/MxNet/logs"
)
# Forms of the INFO calls of NVIDIA/nccl at these tags (src/transport/*.cc, *.cu), values as a rank
# would print them, and the transport that each means.
FORMS = [
    ("2.3.7", "Ring %02d : %d -> %d via NET/%s/%d%s%s", (0, 1, 8, "IB", 0, "/GDRDMA", ""),
     "NET/IB/GDRDMA"),
    ("2.4.8", "Ring %02d : %d -> %d [send] via NET/%s/%d%s", (3, 7, 8, "Socket", 0, ""),
     "NET/Socket"),
    ("2.4.8", "Ring %02d : %d -> %d [receive] via NET/%s/%d%s", (3, 7, 8, "IB", 2, "/GDRDMA"),
     "NET/IB/GDRDMA"),
    ("2.4.8", "Ring %02d : %d[%d] -> %d[%d] via P2P/IPC", (11, 7, 7, 3, 3), "P2P/IPC"),
    ("2.4.8", "Ring %02d : %d[%d] -> %d[%d] via direct shared memory", (0, 1, 1, 2, 2), "SHM"),
    ("2.6.4", "Ring %02d : %d[%lx] -> %d[%lx] [send] via NET/%s/%d%s",
     (1, 0, 0x1A000, 8, 0x1A000, "IB", 1, ""), "NET/IB"),
    ("2.8.4", "Channel %02d : %d[%lx] -> %d[%lx] via P2P/indirect/%d[%lx]%s",
     (0, 1, 0x3B000, 2, 0x5E000, 3, 0x86000, "/read"), "P2P/indirect"),
    ("2.8.4", "Channel %02d : %d[%lx] -> %d[%lx] via P2P/direct pointer%s",
     (0, 1, 0x3B000, 2, 0x5E000, ""), "P2P/direct pointer"),
    ("2.12.12", "Channel %02d/%d : %d[%lx] -> %d[%lx] [receive] via NET/%s/%d%s%s",
     (0, 0, 1, 0x3B000, 8, 0x1A000, "IB", 0, "", "/Shared"), "NET/IB"),
    ("2.18.3", "CollNet %02d/%1d : %d [send] via COLLNET/%s/%d%s",
     (0, 0, 0, "SHARP", 0, "/GDRDMA"), "COLLNET/SHARP/GDRDMA"),
    ("2.21.5", "Channel %02d : %d[%d] -> %d[%d] via SHM/%s/%s", (0, 0, 0, 1, 1, "CE", "direct"),
     "SHM"),
    ("2.28.9", "Channel %02d/%01d : %d[%d] -> %d[%d] via P2P/%s%s%s",
     (15, 0, 0, 0, 1, 1, "CUMEM", "/read", ""), "P2P/CUMEM"),
    ("2.28.9", "Channel %02d/%01d : %d[%d] -> %d[%d] via P2P/%s%s%s",
     (0, 0, 3, 3, 4, 0, "MNNVL", "", ""), "P2P/MNNVL"),
    ("2.28.9", "Channel %02d/%d : %d[%d] -> %d[%d] [send] via NET/%s/%d(%d)%s%s%s",
     (2, 0, 1, 1, 9, 1, "IB", 3, 4, "/GDRDMA", "(PCI)", "/Shared"), "NET/IB/GDRDMA"),
    ("2.28.9", "Channel %02d/%d : %d[%d] -> %d[%d] [send] via NET/%s/%d%s%s%s",
     (2, 0, 1, 1, 9, 1, "AWS Libfabric", 0, "", "", ""), "NET/AWS Libfabric"),
    ("2.28.9", "NVLS comm %s headRank %d nHeads %d nvlsRanks %d buffSize %d", ("0x55", 0, 8, 8, 1),
     "NVLS"),
    ("2.30.7", "Channel %02d : %d[%d] -> %d[%d] via SHM/direct", (0, 0, 0, 1, 1), "SHM"),
]  # fmt: skip
# The networks of NVIDIA's plugin: .name in src/ib_plugin.c of Mellanox/nccl-rdma-sharp-plugins.
FORMS += [
    ("2.22.3", "Channel %02d/%d : %d[%d] -> %d[%d] [send] via NET/%s/%d%s%s%s",
     (0, 0, 1, 1, 9, 1, name, 0, "/GDRDMA", "", ""), f"NET/{name}/GDRDMA")
    for name in ("IBext", "IBext_v5", "IBext_v8", "IBext_v11")
]  # fmt: skip
# What is printed beside them and connects nothing.
OTHERS = [
    "NET/IB : No device found.",
    "NET/IB : Using [0]mlx5_0:1/IB ; OOB ib0:10.11.0.2<0>",
    "NET/Socket : Using [0]eth0:192.168.1.4<0>",
    "Using network Socket",
    "NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)",
    "comm 0x7fb128b026a0 rank 7 nranks 8 cudaDev 7 nvmlDev 7 - Init COMPLETE",
]


def line(form, *values):
    return "v1:7669:8821 [7] NCCL INFO " + (form % values if values else form) + "\n"


@pytest.mark.parametrize(("version", "form", "values", "name"), FORMS)
def test_a_connection_of_each_version_is_read(version, form, values, name):
    assert transports([line(form, *values)]) == [name], version


def test_what_is_only_there_is_not_taken():
    assert transports([*map(line, OTHERS), "10 images/s via NET/IB/0\n"]) == []


def test_real_logs_of_eight_gpus_have_one_transport():
    """NCCL 2.4.7 on 8 V100 with NVLink."""
    if not REAL.is_dir():
        pytest.skip(f"{REAL} is not here")
    found = {path.name: transports(path.read_text().splitlines()) for path in REAL.glob("*.txt")}
    assert len(found) == 4
    assert set(map(tuple, found.values())) == {("P2P/IPC",)}


@pytest.mark.parametrize(
    ("expected", "taken"),
    [
        ("NET/IB", ["NET/IB", "P2P/CUMEM"]),
        ("NET/IB", ["NET/IB/GDRDMA"]),
        # V100 receives by GPUDirect RDMA and sends without.
        ("NET/IB/GDRDMA", ["NET/IB", "NET/IB/GDRDMA", "SHM"]),
        ("NET/IB", ["P2P/MNNVL", "NVLS"]),
        ("NET/IB", []),
        ("NET/IB", ["NET/IBext"]),
        ("NET/IB", ["NET/IB", "NET/IBext_v8/GDRDMA"]),
        ("NET/IB/GDRDMA", ["NET/IBext_v11", "NET/IBext_v11/GDRDMA"]),
        ("NET/IBext_v9", ["NET/IBext_v10/GDRDMA"]),
    ],
)
def test_what_is_expected_passes(expected, taken):
    assert unexpected(expected, taken) == ""


@pytest.mark.parametrize(
    ("expected", "taken"),
    [
        ("NET/IB", ["NET/Socket", "P2P/IPC"]),
        ("NET/IB", ["NET/IB", "NET/Socket"]),
        ("NET/IB/GDRDMA", ["NET/IB"]),
        ("NET/Socket", ["NET/IB"]),
        ("NET/IB", ["NET/IBM"]),
        ("NET/IB", ["NET/IBextra"]),
        ("NET/IB", ["NET/IBext_v8", "NET/Socket"]),
        ("NET/IB/GDRDMA", ["NET/IBext_v8"]),
        ("NET/Socket", ["NET/IBext_v8"]),
    ],
)
def test_another_network_is_told_with_both_names(expected, taken):
    told = unexpected(expected, taken)
    network = ", ".join(name for name in taken if name.startswith("NET/"))
    assert told == f"NCCL took {network} between the nodes, expected was {expected}"


def test_an_expectation_is_a_network_or_none():
    assert [check_expected(word, "v1") for word in ("", "any", "NET/IB")] == ["", "", "NET/IB"]
    with pytest.raises(ValueError, match="v1: scalebench_transport is 'infiniband': write NET/IB"):
        check_expected("infiniband", "v1")
