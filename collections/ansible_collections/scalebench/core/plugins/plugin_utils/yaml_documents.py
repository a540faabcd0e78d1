"""Reads the YAML files that users and authors of benchmarks write, on the controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

__all__ = ["read_yaml"]

# Ten times as fast as the loader in Python, which is there for installations without libyaml.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> Any:
    """Return the document of a file.

    :raises OSError: it cannot be read.
    :raises UnicodeDecodeError: it is not UTF-8.
    :raises yaml.YAMLError: it is not YAML.
    """
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
