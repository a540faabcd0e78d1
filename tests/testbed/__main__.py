"""Start, renew and remove a testbed: ``scripts/testbed --help``."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from . import daemon, image, keys, network, nodes, proxy, slurm
from .commands import TestbedError, say
from .settings import ADDITIONS, LOGIN, Settings, settings


def up(config: Settings, addresses: dict[str, str], renew: bool) -> None:
    """Start the nodes that are not running, or all of them with ``renew``.

    :param addresses: the addresses of the nodes by name.
    """
    daemon.ensure()
    config.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    network.ensure(config)
    proxy.ensure(config)
    name = image.ensure(config)
    missing = {
        node: address
        for node, address in addresses.items()
        if renew
        or not nodes.is_running(config, node)
        or (config.addition and nodes.image_of(config, node) != name)
    }
    # The keys must exist before the nodes start in parallel: they contain both.
    keys.administrator(config)
    for node, address in missing.items():
        keys.host_key(config, node, address)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda node: nodes.start(config, name, *node), missing.items()))
    nodes.wait(config, addresses)
    keys.client_configuration(config, addresses)
    if config.addition:
        slurm.set_up(config, set(missing))
        say(f"Slurm runs: ssh -F {config.state}/ssh_config alice@{LOGIN}")
    names = ", ".join(f"{node} ({address})" for node, address in addresses.items())
    say(f"{names} are ready; log in with: ssh -F {config.state}/ssh_config {next(iter(addresses))}")


def down(config: Settings) -> None:
    """Remove nodes, network and proxy; keep keys and images."""
    daemon.ensure()
    proxy.end(config)
    for node in nodes.all_containers(config):
        nodes.remove(config, node)
    network.remove(config)
    daemon.end()
    say(f"removed the testbed on {config.prefix}.0/24")


def main() -> int:
    """Run the command given on the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="scripts/testbed",
        description="Four systemd nodes on a private network of this machine.",
        epilog="Environment: TESTBED_PREFIX, the network (10.11.0); TESTBED_RELEASE (bookworm).",
    )
    parser.add_argument("--renew", action="store_true", help="replace running nodes by fresh ones")
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("up", help="start node1 to node4")
    addition = "with Slurm, a login node and the user alice; slurm-accounting: and with sacct"
    start.add_argument("addition", nargs="?", choices=["", *ADDITIONS], default="", help=addition)
    commands.add_parser("down", help="remove all nodes and the network")
    node = commands.add_parser("node", help="start one more node")
    node.add_argument("name")
    node.add_argument("number", type=int, help="last number of its address, 10 to 250")
    arguments = parser.parse_args()
    try:
        config = settings()
        if arguments.command == "down":
            down(config)
        elif arguments.command == "up":
            config = replace(config, addition=arguments.addition)
            login = {LOGIN: config.login} if config.addition else {}
            up(config, {**config.nodes, **login}, arguments.renew)
        else:
            up(config, {arguments.name: f"{config.prefix}.{arguments.number}"}, arguments.renew)
    except TestbedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
