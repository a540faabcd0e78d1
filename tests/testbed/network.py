"""The private network of a testbed."""

from __future__ import annotations

from .commands import TestbedError, run, succeeds
from .settings import Settings


def ensure(config: Settings) -> None:
    """Create the network if it is missing.

    :raises TestbedError: another network uses its addresses.
    """
    if succeeds("docker", "network", "inspect", config.network):
        return
    route = run("ip", "route", "show", "root", f"{config.prefix}.0/24").strip()
    if route:
        raise TestbedError(
            f"{config.prefix}.0/24 is already in use ({route.splitlines()[0]}):"
            " choose another network, for example TESTBED_PREFIX=10.12.0"
        )
    addresses = ["--subnet", f"{config.prefix}.0/24", "--gateway", config.gateway]
    run("docker", "network", "create", *addresses, config.network)


def remove(config: Settings) -> None:
    """Remove the network."""
    if succeeds("docker", "network", "inspect", config.network):
        run("docker", "network", "rm", config.network)
