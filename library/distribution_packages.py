#!/usr/bin/python
"""Documentation only; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: distribution_packages
short_description: Install missing packages of the distribution
description:
  - Queries dpkg or rpm with one command, without Python on the node, and runs
    M(ansible.builtin.package) only if a package is missing. Ansible's modules for apt and dnf load
    all package lists to find that there is nothing to do, which takes ten times as long.
options:
  name:
    description: Names of packages, without versions.
    type: list
    elements: str
    required: true
  removal_allowed:
    description:
      - Whether packages that are there may be removed for them, where dpkg manages packages. dnf
        never removes a package for another unless one replaces the other.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    description: As M(ansible.builtin.package) of the distribution.
"""

EXAMPLES = r"""
- name: Install sshd and ssh
  distribution_packages:
    name: [openssh-client, openssh-server]
"""

RETURN = r"""
missing:
  description: The packages that were missing.
  type: list
  elements: str
  returned: always
  sample: [openssh-server]
"""
