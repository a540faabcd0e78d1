"""The nodes' internet access: a proxy on this machine. No packets are forwarded."""

from __future__ import annotations

import os
import signal

from .commands import run, say
from .daemon import running_pid
from .settings import Settings

PORT = 3128


def url(config: Settings) -> str:
    """Return the URL of the proxy for programs on the nodes."""
    return f"http://{config.gateway}:{PORT}"


def ensure(config: Settings) -> None:
    """Start the proxy, for the nodes only, if it is not running. The network must exist."""
    pid_file = config.state / "tinyproxy.pid"
    if running_pid(pid_file, "tinyproxy"):
        return
    say(f"starting a proxy for the nodes on {config.gateway} port {PORT}")
    configuration = config.state / "tinyproxy.conf"
    log = config.state / "tinyproxy.log"
    # It names every host that a node asks for.
    log.unlink(missing_ok=True)
    configuration.write_text(
        f"Port {PORT}\n"
        f"Listen {config.gateway}\n"
        f"Allow {config.prefix}.0/24\n"
        "ConnectPort 443\n"
        "MaxClients 200\n"
        "Timeout 600\n"
        f'PidFile "{pid_file}"\n'
        f'LogFile "{log}"\n'
        "LogLevel Connect\n"
    )
    run("tinyproxy", "-c", str(configuration))


def end(config: Settings) -> None:
    """Stop the proxy."""
    pid = running_pid(config.state / "tinyproxy.pid", "tinyproxy")
    if pid:
        os.kill(pid, signal.SIGTERM)
