"""Version numbers of drivers, packages and NCCL, and what a package manager would change."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stacks.packages import kernel_changes
from ansible_collections.scalebench.core.plugins.module_utils.stacks.versions import (
    branch,
    nccl_version,
    numbers,
    same_release,
)


def test_versions_compare_by_their_numbers():
    assert numbers("440.33.01") > numbers("440.33") > numbers("440.5")
    assert branch("580.159.04") == 580
    with pytest.raises(ValueError, match="'latest' is not a version"):
        numbers("latest")


@pytest.mark.parametrize(
    ("package", "same"),
    [
        ("580.159.04", True),
        ("580.159.04-1", True),
        ("1:580.159.04-0ubuntu1", True),
        ("580.159.041-1", False),
        ("580.159.04.1-1", False),
        ("580.159-1", False),
    ],
)
def test_a_package_is_a_release_whatever_its_revision(package, same):
    assert same_release("580.159.04", package) is same


@pytest.mark.parametrize(
    ("code", "version"), [(2703, "2.7.3"), (2804, "2.8.4"), (20906, "2.9.6"), (22203, "2.22.3")]
)
def test_ncclgetversion_counts_in_two_ways(code, version):
    assert nccl_version(code) == version


def test_kernels_are_found_in_a_simulation_and_headers_are_not():
    simulation = """Inst linux-headers-6.1.0-40-amd64 (6.1.153-1 Debian:12/stable [amd64])
Inst linux-image-6.1.0-40-amd64 (6.1.153-1 Debian:12/stable [amd64])
Remv linux-image-6.1.0-39-amd64 [6.1.148-1]
Conf linux-image-6.1.0-40-amd64 (6.1.153-1 Debian:12/stable [amd64])
"""
    assert kernel_changes(simulation) == [
        "install linux-image-6.1.0-40-amd64",
        "remove linux-image-6.1.0-39-amd64",
    ]
