"""Has Python keep the bytecode of this collection.

Ansible finds the modules of collections by an import hook of its own, which compiles each file in
every process that imports it: in each playbook, and in each process that it forks for a task. What
is asked for first here is found as other files are. Nodes get no file of this name.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from typing import Optional, Sequence


class _Finder:
    """Finds the modules, and leaves packages to Ansible."""

    @staticmethod
    def find_spec(
        name: str, path: Optional[Sequence[str]] = None, target: object = None
    ) -> Optional[ModuleSpec]:
        if not path or not name.startswith(f"{__name__}."):
            return None
        spec = _folder(next(iter(path))).find_spec(name)
        return spec if spec and spec.submodule_search_locations is None else None


@cache
def _folder(path: str) -> FileFinder:
    return FileFinder(path, (SourceFileLoader, SOURCE_SUFFIXES))


sys.meta_path.insert(0, _Finder)
