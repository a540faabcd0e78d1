"""Run make targets on a bare machine: a new root file system of a minimal Debian, for each target.

``make test-bare ARGS="unit bench bench-user"``. Such a machine has Debian's essential packages and
what README.md asks for, a clone of the last commit and an empty home folder. It shares the kernel
and ``../shared``, which is read-only, with this machine, and the settings that lead pip to its
index: nothing else, so that no program or cache of this machine can help. Its network is its own,
with slirp4netns as the way out: what listens on this machine is not seen there. Only root can.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import image, machine
from .commands import TestbedError, run, say
from .settings import ROOT

# What README.md asks for, beside the essential packages.
PACKAGES = ("apt", "make")
SHORT = "-e iterations=5 -e warmup=2 -e repeats=1 -e topology=1n1g"
PARTS = ("unit", "integration", "report", "faults", "roles")
COMMANDS = {
    **{part: f"make test-{part}" for part in PARTS},
    "bench": f'make bench ARGS="{SHORT}"',
    "default": "make bench",
    "all": "make test",
    "lint": "make lint",
}
# An ordinary user is told what to install, and an administrator installs just that.
AS_USER = """
useradd --create-home user && chown -R user: .
as_user() { setpriv --reuid user --regid user --init-groups env HOME=/home/user sh -c "$1"; }
as_user '%(command)s' >told 2>&1 && { echo 'nothing was to install'; exit 1; }
cat told
apt-get update -qq
DEBIAN_FRONTEND=noninteractive sh -exc "$(sed -n 's/.*sudo \\(apt-get install\\)/\\1 -qq/p' told)"
as_user '%(command)s'
"""
# Others, as a file of constraints, are this machine's own.
TO_THE_INDEX = (
    *("index-url", "extra-index-url", "find-links", "no-index", "trusted-host", "proxy"),
    *("default-timeout", "timeout", "retries"),
)
# The machine's own processes, mounts and names end with its first process.
NAMESPACES = ("--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--net")
NETWORK = ("slirp4netns", "--configure", "--disable-host-loopback", "--mtu=65520")
PLACE = "/srv/bare/scalebench"
ENTER = """
set -e
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
until grep -qs tap0 proc/net/route; do sleep 0.1; done
mount -t sysfs sysfs sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
# As in a container: no device of this machine but those that every machine has.
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/pts dev/shm
for device in null zero full random urandom tty; do
    touch dev/$device
    mount --bind /dev/$device dev/$device
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin; ln -s fd/1 dev/stdout; ln -s fd/2 dev/stderr
mount -t tmpfs -o mode=755 tmpfs run
while read -r shared; do
    mkdir -p ".${shared#*:}"
    mount --rbind "${shared%%:*}" ".${shared#*:}"
    mount -o remount,bind,ro ".${shared#*:}"
done
hostname bare
# With chroot alone, what enters the namespaces from outside (docker exec) is in the other root.
pivot_root . mnt
umount -l /mnt
exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
    chroot . sh -euc "cd $2; $3" </dev/null
"""


def base(release: str) -> Path:
    """Build the minimal system if it is missing; return the archive of its files."""
    kept = image.cache() / f"bare-{release}-{'-'.join(PACKAGES)}.tar"
    if not kept.exists():
        say(f"building a minimal Debian {release} (about a minute)")
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}.tar")
        options = ["--variant=minbase", f"--include={','.join(PACKAGES)}"]
        if any(image.CERTIFICATES.glob("*.crt")):
            made = f'mkdir -p "$1"{image.CERTIFICATES}'
            synced = f"sync-in {image.CERTIFICATES} {image.CERTIFICATES}"
            options += [f"--customize-hook={hook}" for hook in (made, synced)]
        try:
            run("mmdebstrap", *options, release, str(part))
            part.replace(kept)
        finally:
            part.unlink(missing_ok=True)
    return kept


def make_root(root: Path, release: str) -> None:
    """Fill a folder with a new machine and a clone of the last commit."""
    run("tar", "-xpf", str(base(release)), "-C", str(root))
    # As Debian's installer writes it.
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n127.0.1.1 bare\n::1 localhost\n")
    # The address at which slirp4netns hands questions on.
    (root / "etc/resolv.conf").write_text("nameserver 10.0.2.3\n")
    (root / "etc/pip.conf").write_text(pip_configuration())
    run("git", "clone", "-q", "--no-hardlinks", str(ROOT), str(root) + PLACE)


def pip_configuration() -> str:
    """Return what leads pip to its index, of all files and variables, as one file."""
    shown = run(sys.executable, "-m", "pip", "config", "list")
    settings = dict(re.findall(r"(?m)^[\w:.]*?\.([\w-]+)='(.*)'$", shown))
    lines = [f"{name} = {settings[name]}" for name in TO_THE_INDEX if name in settings]
    return "\n".join(["[global]", "cert = /etc/ssl/certs/ca-certificates.crt", *lines, ""])


def shared_folders() -> dict[str, str]:
    """Return the folders of this machine that the bare one reads, with their places there."""
    shared = Path(os.environ.get("SCALEBENCH_SHARED", ROOT.parent / "shared"))
    folders = {str(shared): f"{Path(PLACE).parent}/shared"}
    # Indexes and wheels that pip finds in folders.
    for name in re.findall(r"(?:file://|[\s=])(/[^\s']+)", pip_configuration()):
        # The pages of an index may link to the folder beside them.
        folders[name.removesuffix("/simple")] = name.removesuffix("/simple")
    return {here: there for here, there in folders.items() if Path(here).is_dir()}


@contextmanager
def network(pid: int, log: Path) -> Iterator[None]:
    """Give a process that enters a network of its own a way out."""
    while os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net"):
        time.sleep(0.1)
    with log.open("wb") as said, subprocess.Popen([*NETWORK, str(pid), "tap0"], stderr=said) as out:
        try:
            yield
        finally:
            out.terminate()


def try_command(command: str, release: str, folder: Path) -> int:
    """Run a command on a new machine, which is removed afterwards; return its exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix="bare-", dir=folder))
    root.chmod(0o755)
    try:
        make_root(root, release)
        lines = "".join(f"{here}:{there}\n" for here, there in shared_folders().items())
        inside = ["sh", "-c", ENTER, "enter", str(root), PLACE, command]
        with subprocess.Popen(["unshare", *NAMESPACES, *inside], stdin=subprocess.PIPE) as bare:
            try:
                with network(bare.pid, root / "var/log/slirp4netns"):
                    bare.communicate(lines.encode())
            finally:
                bare.kill()
        return bare.returncode
    finally:
        # Its mounts were in its own namespace and are gone.
        run("rm", "-rf", "--one-file-system", str(root))


def main() -> int:
    """Run what the command line names; return 1 if something failed."""
    parser = argparse.ArgumentParser(prog="testbed.bare", description=__doc__.splitlines()[0])
    names = [*COMMANDS, *(f"{name}-user" for name in COMMANDS)]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(names)}")
    parser.add_argument("--release", default="bookworm", help="of Debian")
    parser.add_argument("--folder", type=Path, default=ROOT / ".state/bare", help="for the roots")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(names)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(names)}")
    # So that a bare machine ends and is removed also where this program is told to end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    failed = []
    try:
        machine.install_programs("bare")
        for name in arguments.names or [*PARTS, "bench", "bench-user"]:
            command = COMMANDS[name.removesuffix("-user")]
            say(f"on a bare machine: {command}")
            began = time.monotonic()
            whole = AS_USER % {"command": command} if name.endswith("-user") else command
            status = try_command(whole, arguments.release, arguments.folder)
            say(f"{name}: exit status {status} after {time.monotonic() - began:.0f} s")
            failed += [name] * (status != 0)
    except TestbedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1
    if failed:
        say(f"failed on a bare machine: {shlex.join(failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
