#!/usr/bin/python
"""Open TCP ports in the firewall that this node runs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: firewall_ports
short_description: Open TCP ports to some addresses in firewalld and ufw
description:
  - Adds rules to firewalld where it runs and to ufw where it is active; both keep the rules that
    are there. Rules of C(nftables.service) are written by hand and are left alone.
  - firewalld gets each rule at once and for good, in the zone of its source, or else of the
    interface that leads there. It is not reloaded, which would drop the site's rules of the moment.
  - Asks systemd for three services only; M(ansible.builtin.service_facts) asks for hundreds.
options:
  ports:
    description: Ports, and ranges written as C(29500-29999).
    type: list
    elements: str
    required: true
  sources:
    description: IPv4 addresses or networks that may connect.
    type: list
    elements: str
    required: true
attributes:
  check_mode:
    support: full
    description: Returns the rules that would be added.
  diff_mode:
    support: full
    description: The rules that are added.
"""

EXAMPLES = r"""
- name: Open sshd and the ports of the ranks to the nodes
  firewall_ports:
    ports: [10000, 29500-29999]
    sources: [10.11.0.2, 10.11.0.3]
"""

RETURN = r"""
firewalls:
  description: Those that filter on this node, C(firewalld), C(ufw) and C(nftables).
  type: list
  elements: str
  returned: always
  sample: [ufw]
added:
  description: The rules that were added, or would be in check mode.
  type: list
  elements: str
  returned: always
  sample: [allow proto tcp from 10.11.0.2 to any port 10000]
"""

import ipaddress
import itertools
import re
from typing import Any, Callable, List, Sequence, Tuple

from ansible.module_utils.basic import AnsibleModule

Run = Callable[[List[str]], Tuple[int, str, str]]
# The property and its value that show that a firewall filters, or will after the next boot. The
# unit of ufw is enabled on every Ubuntu; whether its rules are in force, ufw itself says.
FILTERS = {
    "firewalld": "ActiveState=active",
    "ufw": "UnitFileState=enabled",
    "nftables": "UnitFileState=enabled",
}


def firewalls(run: Run) -> List[str]:
    """Return the names of the firewalls that filter on this node.

    :raises ValueError: systemd does not answer.
    """
    units = [f"{name}.service" for name in FILTERS]
    answer = checked(run, ["systemctl", "show", "--property=Id,ActiveState,UnitFileState", *units])
    shown = [block.splitlines() for block in answer.split("\n\n")]
    return [
        name
        for name, value in FILTERS.items()
        if any(f"Id={name}.service" in lines and value in lines for lines in shown)
        and (name != "ufw" or "Status: active" in checked(run, ["ufw", "status"]).splitlines())
    ]


def within(network: Any, bound: str) -> bool:
    """Return whether a network lies in what a zone is bound to: a network, MAC or set."""
    try:
        return bool(network.subnet_of(ipaddress.ip_network(bound, strict=False)))
    except (TypeError, ValueError):
        return False


def bindings(run: Run) -> List[Tuple[str, str]]:
    """Return the zones of firewalld with what they are bound to, in its order, by their names.

    :raises ValueError: firewalld does not answer.
    """
    found, zone = [], ""
    for line in checked(run, ["firewall-cmd", "--get-active-zones"]).splitlines():
        key, _, rest = line.strip().partition(":")
        if not line.startswith(" "):
            zone = line.partition(" ")[0]
        elif key == "sources":
            found += [(zone, bound) for bound in rest.split()]
    return found


def zone_of(run: Run, source: str, bound: Sequence[Tuple[str, str]]) -> str:
    """Return the zone of firewalld whose rules hold for what comes from an address or network.

    What is bound to a network goes before what is bound to an interface.

    :param bound: what :func:`bindings` returned.
    :raises ValueError: firewalld does not answer.
    """
    network = ipaddress.ip_network(source, strict=False)
    for zone, place in bound:
        if within(network, place):
            return zone
    _, route, _ = run(["ip", "-oneline", "route", "get", source.partition("/")[0]])
    for name in re.findall(r" dev (\S+)", route)[:1]:
        rc, answer, _ = run(["firewall-cmd", f"--get-zone-of-interface={name}"])
        if rc == 0:
            return answer.strip()
    return checked(run, ["firewall-cmd", "--get-default-zone"]).strip()


def open_in_firewalld(
    run: Run, check: bool, ports: Sequence[str], sources: Sequence[str]
) -> List[str]:
    """Add the rules that are missing now or for good, and return them with their zones.

    :raises ValueError: firewalld refuses a rule.
    """
    added, bound = [], bindings(run)
    for source in sources:
        zone = f"--zone={zone_of(run, source, bound)}"
        for port in ports:
            rule = (
                f'rule family="ipv4" source address="{source}"'
                f' port port="{port}" protocol="tcp" accept'
            )
            for kind in ([], ["--permanent"]):
                command = ["firewall-cmd", *kind, zone]
                query = [*command, f"--query-rich-rule={rule}"]
                rc, _, stderr = run(query)
                if rc not in (0, 1):  # 0 is yes and 1 is no
                    raise ValueError(f"{' '.join(query)}: {stderr.strip()}")
                if rc and not check:
                    checked(run, [*command, f"--add-rich-rule={rule}"])
                if rc:
                    added.append(" ".join([*kind, zone, rule]))
    return added


def open_in_ufw(run: Run, check: bool, ports: Sequence[str], sources: Sequence[str]) -> List[str]:
    """Add the rules, which hold as soon as ufw is on, and return those that were missing.

    :raises ValueError: ufw refuses a rule.
    """
    added = []
    for port, source in itertools.product(ports, sources):
        rule = ["allow", "proto", "tcp", "from", source, "to", "any", "port"]
        rule.append(port.replace("-", ":"))
        if "Skipping" not in checked(run, ["ufw", *(["--dry-run"] if check else []), *rule]):
            added.append(" ".join(rule))
    return added


def checked(run: Run, command: List[str]) -> str:
    """Return the standard output of a command; raise ValueError if it fails."""
    rc, stdout, stderr = run(command)
    if rc:
        raise ValueError(f"{' '.join(command)}: {(stderr or stdout).strip()}")
    return stdout


def main() -> None:
    """Open the ports in every firewall that has rules of ours."""
    module = AnsibleModule(
        argument_spec={
            "ports": {"type": "list", "elements": "str", "required": True},
            "sources": {"type": "list", "elements": "str", "required": True},
        },
        supports_check_mode=True,
    )
    wanted = (module.check_mode, module.params["ports"], module.params["sources"])
    module.run_command_environ_update = {"LC_ALL": "C"}
    added: List[str] = []
    try:
        names = firewalls(module.run_command)
        if "firewalld" in names:
            added += open_in_firewalld(module.run_command, *wanted)
        if "ufw" in names:
            added += open_in_ufw(module.run_command, *wanted)
    except ValueError as error:
        module.fail_json(msg=str(error), added=added)
    diff = {"before": "", "after": "".join(f"{rule}\n" for rule in added)}
    module.exit_json(changed=bool(added), firewalls=names, added=added, diff=diff)


if __name__ == "__main__":
    main()
