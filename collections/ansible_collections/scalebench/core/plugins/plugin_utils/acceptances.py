"""The acceptance that a user named, and the one that a campaign was begun with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.scalebench.core.plugins.module_utils.acceptance.acceptance_text import (
    differences,
)
from ansible_collections.scalebench.core.plugins.module_utils.acceptance.judge import (
    judge_acceptance,
)
from ansible_collections.scalebench.core.plugins.module_utils.acceptance.promises import (
    check_acceptance,
    unlike,
)
from ansible_collections.scalebench.core.plugins.module_utils.evidence.archive import (
    CHECKSUMS,
    parse_checksums,
)
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.records.factors import Factor
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_reading import (
    content_of,
    file_sha256,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import (
    read_json,
    read_named,
    said,
    user_path,
    write_texts,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.report_files import json_text

__all__ = ["KEPT", "check_stated", "judged", "keep", "kept_with"]

# In a campaign's folder: what was promised when it began.
KEPT = "acceptance.json"
RESULTS = "results.json"


def _read(given: str, folder: Path, own: Sequence[Factor] | None) -> dict[str, Any]:
    """Return an acceptance as ``file``, its ``content``, and what is ``promised``: it checked.

    :param given: its path, or the name of a file in ``folder``.
    :raises ValueError: there is none, or it is wrong; named.
    """
    path = user_path(given)
    try:
        content = read_named(path, folder, "acceptance")
        return {"file": given, "content": content, "promised": check_acceptance(content, own)}
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ValueError(f"acceptance {given}: {said(error)}") from None


def kept_with(
    campaign: Path, given: str, folder: Path, own: Sequence[Factor] | None = None
) -> dict[str, Any] | None:
    """Return what was promised of a campaign, as :func:`_read`; None where nothing was.

    :param given: as of :func:`_read`; empty for that of the campaign.
    :param own: as of :func:`.promises.check_acceptance`.
    :raises ValueError: the file is wrong, or differs from what the campaign was begun with.
    """
    try:
        kept = read_json(campaign / KEPT, folder=campaign)
        if not isinstance(kept, dict) or not isinstance(kept.get("file"), str):
            raise ValueError("it has no file")
        kept = {**kept, "promised": check_acceptance(kept.get("content"))}
    except FileNotFoundError:
        kept = None
    except (OSError, ValueError) as error:
        raise ValueError(f"{campaign / KEPT}: {said(error)}") from None
    if not given:
        return kept
    wanted = _read(given, folder, own)
    if kept and kept["promised"] != wanted["promised"]:
        if (campaign / CHECKSUMS).is_file():
            raise ValueError(
                f"acceptance {given}: the archive has other promises ({campaign / KEPT}), so that"
                " it does not show whether yours are kept. Ask for an acceptance with your file"
            )
        raise ValueError(
            f"acceptance {given}: campaign {campaign.name} was begun with other promises"
            f" ({campaign / KEPT}): give another -e campaign=NAME"
        )
    return kept or wanted


def check_stated(name: str, campaign: dict[str, Any], planned: dict[str, Any]) -> None:
    """Refuse a campaign that is planned otherwise than its acceptance states.

    :param campaign: ``file`` and ``content`` of an acceptance; empty for none.
    :raises ValueError: what differs.
    """
    stated = check_acceptance(campaign["content"])["campaign"] if campaign else None
    said = [] if stated is None else unlike(stated, planned["options"], planned["cells"])
    if said:
        raise ValueError(
            f"campaign {name} is not the one that acceptance {campaign['file']} states:"
            f" {'; '.join(said)}. Give another -e campaign=NAME, or state what can be measured"
        )


def keep(folder: Path, campaign: dict[str, Any], check_mode: bool) -> bool:
    """Write what was promised of a campaign into its folder; return whether that changes it.

    :param campaign: as of :func:`check_stated`.
    """
    texts = {folder / KEPT: json_text(campaign)} if campaign else {}
    return bool(write_texts(texts, check_mode, False)["changed"])


def judged(
    results: dict[str, Any], kept: dict[str, Any], campaign: Path, archive: Path | None = None
) -> dict[str, Any]:
    """Return the verdicts; of an unpacked archive with what its results.json says otherwise.

    :param archive: from which the campaign was unpacked; else results.json is compared as long as
        it is the archived one.
    """
    found = judge_acceptance(results, kept["promised"], kept["file"])
    sums = campaign / CHECKSUMS
    if not sums.is_file():
        return {**found, "differs": []}
    try:
        if archive:
            recorded = json.loads(content_of(archive, RESULTS))
        elif file_sha256(campaign / RESULTS) == parse_checksums(sums.read_text()).get(RESULTS):
            recorded = read_json(campaign / RESULTS, folder=campaign)
        else:
            return {**found, "differs": [f"{RESULTS} was written anew: give -e archive=FILE"]}
        said = differences(recorded, {**results, "acceptance": found})
    except FileNotFoundError:
        said = [f"there is no {RESULTS}"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        said = [f"{RESULTS} cannot be read: {plain(error)}"]
    return {**found, "differs": said}
