"""The nodes' image: a minimal Debian with systemd, built from packages and cached."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from .commands import run, say, succeeds
from .settings import Settings

HERE = Path(__file__).parent
# Additional certificate authorities of this machine, which its nodes must trust too.
CERTIFICATES = Path("/usr/local/share/ca-certificates")


def ensure(config: Settings) -> str:
    """Build the image if it is missing; return its name.

    The root file system is kept in ~/.cache/scalebench, so that it survives Docker's storage.
    """
    release, customised = config.release, customisation(config.packages)
    kept = cache() / f"{release}-{digest(release, customised)}.tar"
    name = f"scalebench/node:{kept.stem}"
    if succeeds("docker", "image", "inspect", name):
        return name
    if not kept.exists():
        say(f"building a root file system of Debian {release} (about a minute)")
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}.tar")
        try:
            run("mmdebstrap", "--variant=minbase", *customised, release, str(part))
            part.replace(kept)
        finally:
            part.unlink(missing_ok=True)
    say(f"importing {kept}")
    run("docker", "import", str(kept), name)
    return name


def cache() -> Path:
    """Return the folder of cached root file systems."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "scalebench"


def customisation(packages: tuple[str, ...]) -> list[str]:
    """Return mmdebstrap's arguments for packages and files."""
    hooks = [
        f"upload {HERE}/node-init /sbin/node-init",
        # Every node gets its own keys when it starts.
        'rm -f "$1"/etc/ssh/ssh_host_*',
        # pip has its own certificate authorities and would ignore the machine's.
        "printf '[global]\\ncert = /etc/ssl/certs/ca-certificates.crt\\n' >\"$1\"/etc/pip.conf",
    ]
    if any(CERTIFICATES.glob("*.crt")):
        hooks += [f"sync-in {CERTIFICATES} {CERTIFICATES}", 'chroot "$1" update-ca-certificates']
    # No long descriptions of packages: they are two fifths of what each "apt update" reads.
    options = [f"--include={','.join(packages)}", '--aptopt=Acquire::Languages "none"']
    return [*options, *(f"--customize-hook={hook}" for hook in hooks)]


def digest(release: str, customised: list[str]) -> str:
    """Return a hash of everything in the image except the packages' versions."""
    parts = [release, *customised, (HERE / "node-init").read_text()]
    parts += [path.read_text() for path in sorted(CERTIFICATES.glob("*.crt"))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
