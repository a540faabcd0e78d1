"""Start, renew and end a testbed: ``scripts/testbed --help``."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor

from . import daemon, image, keys, network, nodes, proxy
from .commands import TestbedError, say
from .settings import Settings, settings


def up(wanted: Settings, given: dict[str, str], renew: bool) -> None:
    """Bring nodes up; fresh ones where asked for or where they do not run."""
    daemon.ensure()
    wanted.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    network.ensure(wanted)
    proxy.ensure(wanted)
    name = image.ensure(wanted.release)
    missing = {
        node: address
        for node, address in given.items()
        if renew or not nodes.is_running(wanted, node)
    }
    # Before the nodes are started at once, which all authorise it and are known by theirs.
    keys.administrator(wanted)
    for node, address in missing.items():
        keys.host_key(wanted, node, address)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda node: nodes.start(wanted, name, *node), missing.items()))
    nodes.wait(wanted, given)
    keys.client_configuration(wanted, given)
    names = ", ".join(f"{node} ({address})" for node, address in given.items())
    say(f"{names}: ready; to log in: ssh -F {wanted.state}/ssh_config {next(iter(given))}")


def down(wanted: Settings) -> None:
    """Remove nodes, network and proxy; keys and images stay."""
    daemon.ensure()
    proxy.end(wanted)
    for node in nodes.all_containers(wanted):
        nodes.remove(wanted, node)
    network.remove(wanted)
    daemon.end()
    say(f"{wanted.prefix}.0/24 is gone")


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="scripts/testbed",
        description="Four systemd nodes on a private network of this machine.",
        epilog="Variables: TESTBED_PREFIX (10.11.0), the network; TESTBED_RELEASE (bookworm).",
    )
    parser.add_argument("--renew", action="store_true", help="replace nodes that run by fresh ones")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("up", help="start node1 to node4")
    verbs.add_parser("down", help="remove all nodes and the network")
    one = verbs.add_parser("node", help="start one more node")
    one.add_argument("name")
    one.add_argument("number", type=int, help="last number of its address, 10 to 250")
    given = parser.parse_args()
    try:
        wanted = settings()
        if given.verb == "down":
            down(wanted)
        elif given.verb == "up":
            up(wanted, wanted.nodes, given.renew)
        else:
            up(wanted, {given.name: f"{wanted.prefix}.{given.number}"}, given.renew)
    except TestbedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
