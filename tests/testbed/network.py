"""The private network of a testbed."""

from __future__ import annotations

from .commands import TestbedError, run, succeeds
from .settings import Settings


def ensure(wanted: Settings) -> None:
    """Make the network, so that nothing is ever sent to its addresses before it is there.

    :raises TestbedError: the addresses are another network's.
    """
    if succeeds("docker", "network", "inspect", wanted.network):
        return
    reached_by = run("ip", "route", "show", "root", f"{wanted.prefix}.0/24").strip()
    if reached_by:
        raise TestbedError(
            f"{wanted.prefix}.0/24 is in use here ({reached_by.splitlines()[0]}):"
            " choose another network, as TESTBED_PREFIX=10.12.0"
        )
    addresses = ["--subnet", f"{wanted.prefix}.0/24", "--gateway", wanted.gateway]
    run("docker", "network", "create", *addresses, wanted.network)


def remove(wanted: Settings) -> None:
    """Remove the network."""
    if succeeds("docker", "network", "inspect", wanted.network):
        run("docker", "network", "rm", wanted.network)
