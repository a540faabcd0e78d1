"""Kernel parameters, in files like those of /proc/sys."""

from __future__ import annotations

import os

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.kernel_parameters import (
    KernelParameters,
)


@pytest.fixture
def kernel(tmp_path):
    for name, value in {
        "vm/swappiness": "60\n",
        "net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
        "net/ipv4/conf/eth0.5/rp_filter": "2\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value)
    return KernelParameters(str(tmp_path))


def test_only_differing_parameters_are_returned(kernel):
    wanted = {"vm.swappiness": "10", "net.ipv4.tcp_rmem": "4096 131072  6291456", "vm.none": "1"}
    assert kernel.differing(wanted) == ({"vm.swappiness": "60"}, [])


def test_a_least_value_only_raises(kernel):
    minima = {"vm.swappiness": "10", "net.ipv4.tcp_rmem": "5", "vm.none": "7"}
    assert kernel.raised(minima) == {
        "vm.swappiness": "60",
        "net.ipv4.tcp_rmem": "5",
        "vm.none": "7",
    }
    assert kernel.raised({"vm.swappiness": "100"}) == {"vm.swappiness": "100"}


def test_a_slash_is_a_dot_of_a_name(kernel):
    wanted = {"net.ipv4.conf.eth0/5.rp_filter": "1"}
    assert kernel.differing(wanted) == ({"net.ipv4.conf.eth0/5.rp_filter": "2"}, [])


def test_a_value_is_set(kernel, tmp_path):
    kernel.set("vm.swappiness", "10")
    assert (tmp_path / "vm/swappiness").read_text() == "10"
    assert kernel.differing({"vm.swappiness": "10"}) == ({}, [])


def test_parameters_that_are_not_writable_belong_to_the_host(kernel, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: "vm" not in path)
    found = kernel.differing({"vm.swappiness": "10", "net.ipv4.tcp_rmem": "1 2 3"})
    assert found == ({"net.ipv4.tcp_rmem": "4096 131072 6291456"}, ["vm.swappiness"])


def test_an_error_if_the_kernel_keeps_another_value(kernel, monkeypatch):
    monkeypatch.setattr(kernel, "_value", lambda name: "7")
    with pytest.raises(ValueError, match="the kernel accepted 10, and keeps 7"):
        kernel.set("vm.swappiness", "10")
