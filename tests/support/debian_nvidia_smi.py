"""The real nvidia-smi of Debian's drivers, and a stand-in for NVML that it can run over."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

# Branch of the driver: suite, packages of the program and of its library.
PACKAGES = {
    418: ("bullseye", "nvidia-tesla-418-smi", "libnvidia-tesla-418-ml1"),
    450: ("bullseye", "nvidia-tesla-450-smi", "libnvidia-tesla-450-ml1"),
    470: ("bookworm", "nvidia-tesla-470-smi", "libnvidia-tesla-470-ml1"),
    535: ("bookworm", "nvidia-smi", "libnvidia-ml1"),
    550: ("trixie", "nvidia-smi", "libnvidia-ml1"),
}
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Every function of NVML answers NVML_ERROR_NOT_SUPPORTED (3), but for these: one GPU that has a
# name and a UUID, a second one that fails with the code $LOST where that is set, and remapped rows
# where $REMAPPED is "<pending> <failure>". nvidia-smi also asks for tables of internal functions,
# which it may not find missing.
ANSWERS = {
    "nvmlInit_v2": ("void", "return 0;"),
    "nvmlInitWithFlags": ("unsigned flags", "return 0;"),
    "nvmlShutdown": ("void", "return 0;"),
    "nvmlDeviceGetCount_v2": (
        "unsigned *count",
        '*count = getenv("LOST") ? 2 : 1; return 0;',
    ),
    "nvmlUnitGetCount": ("unsigned *count", "*count = 0; return 0;"),
    "nvmlDeviceGetHandleByIndex_v2": (
        "unsigned index, void **handle",
        '*handle = (void *)1; return index ? atoi(getenv("LOST")) : 0;',
    ),
    "nvmlDeviceGetIndex": ("void *handle, unsigned *index", "*index = 0; return 0;"),
    "nvmlDeviceGetName": (
        "void *handle, char *text, unsigned size",
        'strncpy(text, "Stand-in", size); return 0;',
    ),
    "nvmlDeviceGetUUID": (
        "void *handle, char *text, unsigned size",
        'strncpy(text, "GPU-0", size); return 0;',
    ),
    "nvmlSystemGetDriverVersion": (
        "char *text, unsigned size",
        'strncpy(text, "1.0", size); return 0;',
    ),
    "nvmlDeviceGetRemappedRows": (
        "void *handle, unsigned *sbe, unsigned *dbe, unsigned *pending, unsigned *failure",
        'const char *rows = getenv("REMAPPED"); *sbe = *dbe = 0;'
        ' return rows && sscanf(rows, "%u %u", pending, failure) == 2 ? 0 : 3;',
    ),
    "nvmlInternalGetExportTable": (
        "const void **table, const void *name",
        "static void *entries[512]; entries[0] = (void *)(long)sizeof entries;"
        " for (int i = 1; i < 512; i++) entries[i] = internal; *table = entries; return 0;",
    ),
}


class Unavailable(Exception):  # noqa: N818 (no error: the tests are skipped with this reason)
    """Why the program cannot be run here."""


def fetch(branch: int, folder: Path) -> tuple[Path, Path]:
    """Return the program and the folder of its library, unpacked below a folder that keeps them.

    Nothing is installed: apt works in the folder, with a list of sources of its own.

    :raises Unavailable: the packages cannot be fetched here.
    """
    suite, *packages = PACKAGES[branch]
    root = folder / str(branch)
    if not root.exists():
        if shutil.which("apt-get") is None or not Path(KEYRING).exists():
            raise Unavailable("apt and Debian's keys are not there")
        part = folder / f"{branch}.part"
        for name in ("lists/partial", "cache/archives/partial"):
            (part / name).mkdir(parents=True, exist_ok=True)
        source = f"deb [signed-by={KEYRING}] {_archive()} {suite} non-free\n"
        (part / "sources.list").write_text(source)
        options = [
            *("-oDir::Etc::sourceparts=-", f"-oDir::Etc::sourcelist={part}/sources.list"),
            *(f"-oDir::State::Lists={part}/lists", f"-oDir::Cache={part}/cache"),
            *("-oAPT::Sandbox::User=", "-oAcquire::Retries=1", "-oAcquire::http::Timeout=20"),
        ]
        for command in (["update"], ["download", *packages]):
            _run("apt-get", "-qq", *options, *command, cwd=part)
        for path in part.glob("*.deb"):
            _run("dpkg-deb", "--extract", path, part / "root")
        (part / "root").rename(root)
        shutil.rmtree(part)
    program = next(root.glob("usr/lib/nvidia/*/nvidia-smi"))
    return program, next(root.glob("usr/lib/*/nvidia/*/libnvidia-ml.so.1")).parent


def _archive() -> str:
    """Return the address of Debian's archive, or its mirror, that this machine's apt uses."""
    form = "$(LABEL) $(REPO_URI)"
    listed = _run("apt-get", "indextargets", "--format", form, "Created-By: Packages")
    for line in listed.splitlines():
        label, _, address = line.rpartition(" ")
        if label == "Debian":
            return address
    raise Unavailable("apt has no list of Debian's packages")


def _run(*command, **options) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, **options
    )
    if done.returncode:
        raise Unavailable(f"{command[0]}: {' '.join(done.stderr.split())[-200:]}")
    return done.stdout


def put(program: Path, libraries: Path | None, folder: Path) -> Path:
    """Write a program nvidia-smi that runs the real one, and return it.

    As root the library would make /dev/nvidiactl on this machine, so it may not make devices.
    """
    path = folder / "nvidia-smi"
    bounds = "setpriv --bounding-set=-mknod" if os.geteuid() == 0 else ""
    folder.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={libraries or ""} exec {bounds} {program} "$@"\n')
    path.chmod(0o755)
    return path


def build_nvml(program: Path, folder: Path) -> Path:
    """Build a stand-in for NVML with every function that a program names; return its folder.

    :raises Unavailable: there is no compiler.
    """
    if shutil.which("cc") is None:
        raise Unavailable("cc is not there")
    names = set(re.findall(rb"\0(nvml[A-Z]\w+)(?=\0)", program.read_bytes()))
    source = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    source += "static int internal(void) { return 3; }\n"
    source += 'const char *nvmlErrorString(int code) { return "Not Supported"; }\n'
    for name in sorted({name.decode() for name in names} - {"nvmlErrorString"}):
        arguments, body = ANSWERS.get(name, ("void", "return 3;"))
        source += f"int {name}({arguments}) {{ {body} }}\n"
    folder.mkdir(exist_ok=True)
    (folder / "nvml.c").write_text(source)
    _run("cc", "-w", "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1", folder / "nvml.c")
    return folder
