"""What Ansible builds to send a module, kept from one playbook to the next.

Ansible builds it once a playbook and module, from some sixty files, and puts it into a folder of
its own that ends with the playbook.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import ansible
from ansible import constants
from ansible_collections.scalebench.core.plugins.module_utils.node import durable
from ansible_collections.scalebench.core.plugins.plugin_utils.plan_evidence import PROJECT

__all__ = ["KeptPayloads"]

# Folders of payloads of other versions of this code that stay, for a run that needs them.
_MOST = 3
# Of Ansible's own modules and those of this project, which are what the key is of.
_KEPT = re.compile(r"ansible\.(?:modules\.\w+|legacy\.(?P<own>\w+))-ZIP_\w+-none")


class KeptPayloads:
    """Those of one playbook, from its start on."""

    def __init__(self, state: Path = PROJECT / ".state") -> None:
        self._state = state
        # Of the code that this playbook begins with, which may be changed while it runs.
        self._kept = _folder(state)
        self._restored: set[str] = set()

    def restore(self) -> bool:
        """Give Ansible what earlier playbooks built; return whether there was something."""
        with contextlib.suppress(OSError):
            if self._kept and self._kept.is_dir():
                os.utime(self._kept)
                _ansibles().mkdir(exist_ok=True)
                for file in self._kept.iterdir():
                    _link(file, _ansibles() / file.name)
                    self._restored.add(file.name)
        return bool(self._restored)

    def keep(self) -> None:
        """Keep what this playbook has built, for this account alone."""
        with contextlib.suppress(OSError):
            built = [
                path
                for path in _ansibles().iterdir()
                if path.name not in self._restored and _is_ours(path.name)
            ]
            kept = self._kept
            if not built or not kept or kept != _folder(self._state):
                return
            for folder, mode in ((self._state, 0o755), (kept.parent, 0o700), (kept, 0o700)):
                folder.mkdir(mode, exist_ok=True)
            for path in built:
                # An empty one after a power failure would end every playbook.
                durable.sync(path)
                _link(path, kept / path.name, durable.replace)
            durable.sync(kept)
            others = sorted(kept.parent.iterdir(), key=lambda path: path.stat().st_mtime)
            for old in others[: -_MOST - 1]:
                shutil.rmtree(old, ignore_errors=True)


def _folder(state: Path) -> Path | None:
    """Return the folder for this version of all that a payload has in it; None for no such.

    What Ansible reads from it is run: it must be nobody else's. A link has all rights set.
    """
    if any(Path(path).is_dir() for path in constants.DEFAULT_MODULE_UTILS_PATH):
        return None
    kept = state / "payloads" / _key()
    for folder in (state, kept.parent, kept):
        with contextlib.suppress(FileNotFoundError):
            found = folder.lstat()
            shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            if found.st_uid != os.geteuid() or shared:
                return None
    return kept


def _key() -> str:
    digest = hashlib.sha256()
    for part in (ansible.__version__, ansible.__file__, sys.version, str(PROJECT)):
        digest.update(f"{part}\0".encode())
    for folder in ("library", "collections"):
        for path in sorted((PROJECT / folder).rglob("*.py")):
            digest.update(f"{path}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _ansibles() -> Path:
    return Path(constants.DEFAULT_LOCAL_TMP) / "ansiballz_cache"


def _is_ours(name: str) -> bool:
    match = _KEPT.fullmatch(name)
    return match is not None and (
        not match["own"] or (PROJECT / "library" / f"{match['own']}.py").is_file()
    )


def _link(source: Path, target: Path, put: Callable[[Path, Path], None] = os.replace) -> None:
    """Give a complete file a second place; the file itself where both are on one file system.

    :param put: how a copy, where they are not, takes its name.
    """
    try:
        os.link(source, target)
    except FileExistsError:
        pass
    except OSError:
        part = target.with_name(f"{target.name}-{os.getpid()}")
        shutil.copyfile(source, part)
        put(part, target)
