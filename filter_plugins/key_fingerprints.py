"""Door to MU stacks.openpgp."""

from __future__ import annotations

DOCUMENTATION = r"""
name: key_fingerprints
short_description: Which OpenPGP keys a keyring holds
description: Works without gpg, which a node need not have.
positional: _input
options:
  _input:
    description: The keyring, binary or armoured, in base64 as module slurp returns it.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Refuse a keyring with another key
  ansible.builtin.assert:
    that: keyring.content | key_fingerprints == ['EB693B3035CD5710E231E123A4B469963BF863CC']
"""

RETURN = r"""
_value:
  description: The fingerprints of the primary keys.
  type: list
  elements: str
"""

from ansible_collections.scalebench.core.plugins.module_utils.stacks.openpgp import key_fingerprints


class FilterModule:
    """Registers the pure function."""

    def filters(self) -> dict:
        """Return the filter by name."""
        return {"key_fingerprints": key_fingerprints}
