"""Addresses of the testbed's nodes for testinfra: through the system's sshd, as root."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PREFIX = os.environ.get("TESTBED_PREFIX", "10.11.0")
STATE = ROOT / ".state/testbed" / PREFIX
NODES = {f"node{number}": f"{PREFIX}.{number + 1}" for number in range(1, 5)}
# Commands share a login, of this process alone: other nodes may have the address soon.
_LOGINS = tempfile.mkdtemp(prefix="scalebench-")
atexit.register(shutil.rmtree, _LOGINS)
_OPTIONS = f"ssh_config={STATE}/ssh_config&controlpersist=10&controlpath={_LOGINS}"
# testinfra's ssh backend takes a tenth of the time of its Ansible backend.
HOSTS = [f"ssh://{name}?{_OPTIONS}/{name}" for name in NODES]
