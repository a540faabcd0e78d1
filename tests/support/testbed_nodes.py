"""Addresses of the testbed's nodes for testinfra: through the system's sshd, as root."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PREFIX = os.environ.get("TESTBED_PREFIX", "10.11.0")
STATE = ROOT / ".state/testbed" / PREFIX
NODES = {f"node{number}": f"{PREFIX}.{number + 1}" for number in range(1, 5)}
# testinfra's ssh backend takes a tenth of the time of its Ansible backend.
HOSTS = [f"ssh://{name}?ssh_config={STATE}/ssh_config" for name in NODES]
