"""Look up the addresses by which the nodes reach each other."""

from __future__ import annotations

DOCUMENTATION = r"""
name: node_address
short_description: Return the address by which the other nodes reach a node
description:
  - C(scalebench_address) of the node if the inventory sets it, else C(ansible_host), else the
    node's name. A DNS name is resolved on the controller.
  - Fails for an IPv6 address, and for a name without an IPv4 address, or with one of loopback
    (as of a controller that is itself a node), which the other nodes could not reach. Where
    Ansible reaches all nodes by its connection C(local), they are this machine, and such a name
    stands for V(127.0.0.1).
options:
  _terms:
    description: Names of hosts of the inventory.
    type: list
    elements: str
  lenient:
    description: Return an empty text instead for every host but the one whose variables these are.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show the address of every node
  ansible.builtin.debug:
    msg: "{{ dict(groups.nodes | zip(query('node_address', *groups.nodes))) }}"
"""

RETURN = r"""
_raw:
  description: One address per host.
  type: list
  elements: str
"""

import contextlib
import ipaddress
import socket

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase


class LookupModule(LookupBase):
    """Implements lookup node_address."""

    def run(self, terms, variables=None, **kwargs):
        """Return the addresses of the hosts."""
        every = variables["hostvars"]
        nodes = variables["groups"].get("nodes", [])
        alone = all(every[node].get("ansible_connection") == "local" for node in nodes)
        self.set_options(var_options=variables, direct=kwargs)
        lenient, own = self.get_option("lenient"), variables.get("inventory_hostname")
        found = []
        for name in terms:
            try:
                found.append(address_of(name, every[name], alone))
            except AnsibleLookupError:
                # One node's name must not stop the others; its own run says what is wrong.
                if not lenient or name == own:
                    raise
                found.append("")
        return found


def address_of(name: str, hostvars, alone: bool = False) -> str:
    """Return the address of one host.

    :param hostvars: its variables.
    :param alone: whether all nodes are this machine.
    :raises AnsibleLookupError: its name has no address that other nodes could reach.
    """
    text = str(hostvars.get("scalebench_address") or hostvars.get("ansible_host") or name)
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(text).version == 6:
            raise AnsibleLookupError(
                f"{name}: {text} is an IPv6 address, by which the nodes cannot reach each other."
                f" Set scalebench_address of {name} to its IPv4 address in the cluster's network."
            )
        return text
    try:
        found = socket.getaddrinfo(text, None, socket.AF_INET, socket.SOCK_STREAM)
        address = str(found[0][4][0])
        problem = "is an address of this machine alone" if address.startswith("127.") else ""
    except OSError as error:
        address, problem = "no address", f"as it is not in the controller's DNS ({error})"
    if problem and alone:
        return "127.0.0.1"
    if problem and text != "localhost":
        raise AnsibleLookupError(
            f"{name}: {text} has {address}, {problem}. Set scalebench_address of {name} to its"
            " address in the cluster's network."
        )
    return address
