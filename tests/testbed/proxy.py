"""The nodes' way out: a proxy on this machine, as many clusters have. No packet is forwarded."""

from __future__ import annotations

import os
import signal

from .commands import run, say
from .daemon import running_pid
from .settings import Settings

PORT = 3128


def url(wanted: Settings) -> str:
    """Return what programs on the nodes are told."""
    return f"http://{wanted.gateway}:{PORT}"


def ensure(wanted: Settings) -> None:
    """Run the proxy, for the nodes alone. The network must be there."""
    pid_file = wanted.state / "tinyproxy.pid"
    if running_pid(pid_file, "tinyproxy"):
        return
    say(f"starting a proxy for the nodes on {wanted.gateway} port {PORT}")
    configuration = wanted.state / "tinyproxy.conf"
    configuration.write_text(
        f"Port {PORT}\n"
        f"Listen {wanted.gateway}\n"
        f"Allow {wanted.prefix}.0/24\n"
        "ConnectPort 443\n"
        "MaxClients 200\n"
        "Timeout 600\n"
        f'PidFile "{pid_file}"\n'
        f'LogFile "{wanted.state}/tinyproxy.log"\n'
        "LogLevel Warning\n"
    )
    run("tinyproxy", "-c", str(configuration))


def end(wanted: Settings) -> None:
    """End the proxy."""
    pid = running_pid(wanted.state / "tinyproxy.pid", "tinyproxy")
    if pid:
        os.kill(pid, signal.SIGTERM)
