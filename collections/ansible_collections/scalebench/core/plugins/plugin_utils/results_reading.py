"""Reads results that exist already: results.json files of any version, published documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.exclusion import (
    check_diagnosis,
)
from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import shown
from ansible_collections.scalebench.core.plugins.module_utils.history.trends import entry
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.published.rows import published_rows
from ansible_collections.scalebench.core.plugins.module_utils.results.versions import read
from ansible_collections.scalebench.core.plugins.plugin_utils.files import (
    NOT_UTF8,
    in_utf8,
    read_json,
    read_yaml,
)

__all__ = ["read_campaigns", "read_diagnosis", "read_published", "read_results"]


def read_results(path: Path, folder: Path | None = None) -> dict[str, Any]:
    """Return the results in the current schema.

    :param folder: that no link may lead out of.
    :raises ValueError: the file cannot be read, or is no results.json; without the path.
    """
    try:
        data = read_json(path, folder=folder)
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise ValueError(f"it is not a results.json: {error}") from None
    return read(data)


def read_campaigns(folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Return an entry (``trends.entry``) for each campaign below a folder, and those left out.

    :returns: the entries; ``folder`` and ``reason`` of each folder that holds a plan or results,
        and none that can be read.
    :raises OSError: the folder cannot be listed.
    """
    entries, left_out = [], []
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        path, named = place / "results.json", in_utf8(place.name)
        name = shown(plain(named))
        try:
            if path.exists():
                if named != place.name:
                    raise ValueError(NOT_UTF8)
                entries.append(entry(shown(read_results(path, place)), name))
            elif (place / "plan.json").exists():
                raise ValueError(
                    "it has a plan and no results.json: playbooks/report.yml"
                    f" -e campaign={name} writes it"
                )
        except (OSError, ValueError) as error:
            left_out.append({"folder": name, "reason": shown(plain(error))})
    return entries, left_out


def read_diagnosis(path: Path) -> Any:
    """Return the content of a diagnosis.json.

    :raises ValueError: it is none; without the path.
    :raises OSError: it cannot be read.
    """
    content = read_json(path)
    check_diagnosis(content)
    return content


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
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise ValueError(f"published results, {path}: {error}") from None
        rows += published_rows(document, path.stem)
    return rows
