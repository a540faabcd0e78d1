"""Reads the documents of published results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.scalebench.core.plugins.module_utils.published.rows import published_rows
from ansible_collections.scalebench.core.plugins.plugin_utils.files import read_yaml

__all__ = ["read_published"]


def read_published(folder: Path, names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of documents.

    :param names: of the documents, without their ending; none means all.
    :raises ValueError: a document cannot be read or is not right; named.
    """
    paths = [folder / f"{name}.yml" for name in names] or sorted(folder.glob("*.yml"))
    rows: list[dict[str, Any]] = []
    for path in paths:
        try:
            document = read_yaml(path)
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ValueError(f"published results, {path}: {error}") from error
        rows += published_rows(document, path.stem)
    return rows
