"""Log in on other nodes as the programs on this one would, all at once."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Dict, List

__all__ = ["unreachable"]

# Below MaxStartups of the nodes' sshd's, which all others dial at the same time.
_AT_ONCE = 16


def unreachable(config: str, nodes: List[str], patience: float = 30.0) -> Dict[str, str]:
    """Return why ssh did not get into a node, by node; empty where it got into all.

    :param config: ssh's configuration (``ssh -F``), which knows the nodes by name.
    :param patience: seconds that a login may take.
    :raises ValueError: there is no ssh.
    """

    def reason(node: str) -> str:
        command = ["ssh", "-F", config, node, "true"]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=patience,
                check=False,
            )
        except FileNotFoundError:
            raise ValueError("no ssh: install the package openssh-client") from None
        except subprocess.TimeoutExpired:
            return f"no answer within {patience:.0f} s"
        said = done.stderr.strip().splitlines()
        return "" if done.returncode == 0 else (said or [f"exit status {done.returncode}"])[-1]

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reasons = dict(zip(nodes, pool.map(reason, nodes)))
    return {node: why for node, why in reasons.items() if why}
