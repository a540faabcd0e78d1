"""The schema of a recipe's container, and of the published programs that it runs."""

from __future__ import annotations

import re
from typing import Any, Dict, List

from ._mappings import check_mapping

__all__ = ["check_container", "check_sources"]

_CONTAINER: Dict[str, type] = {
    "digest": str,
    "build": str,
    "ipc": str,
    "shm_size": str,
    "ulimits": dict,
    "mounts": list,
    "devices": list,
    "capabilities": list,
    "environment": dict,
}
_SOURCE: Dict[str, type] = {"name": str, "repository": str, "version": str}
_PATCH: Dict[str, type] = {"file": str, "line": int, "from": str, "to": str}
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MOUNT = re.compile(r"\{data_dir\}(/[\w.-]+)*:(/[\w.-]+)+")
_NAME = re.compile(r"[\w-][\w.-]*")


def check_container(container: Any, where: str) -> None:
    """Refuse a container of which a part cannot be used.

    ``build`` is a folder of the sources whose Dockerfile begins from ``image``.

    :param where: file and key, for the message.
    :raises ValueError: the place and what should stand there.
    """
    check_mapping(container, where, {"image": str}, _CONTAINER)
    if "digest" in container and not _DIGEST.fullmatch(container["digest"]):
        raise ValueError(f"{where}.digest: {container['digest']!r} is not sha256: and 64 digits")
    for mount in container.get("mounts", []):
        if not _MOUNT.fullmatch(str(mount)):
            raise ValueError(
                f"{where}.mounts: {mount!r} is not a folder of the node's data and its place in the"
                " container, as {data_dir}/tfrecord:/data/tfrecords"
            )


def check_sources(sources: List[Any], where: str) -> None:
    """Refuse what cannot be checked out, or a patch that does not say what it changes.

    :param where: file and key, for the message.
    :raises ValueError: the place and what should stand there.
    """
    for number, source in enumerate(sources):
        place = f"{where}[{number}]"
        check_mapping(source, place, _SOURCE, {"patches": list})
        if not _NAME.fullmatch(source["name"]):
            raise ValueError(f"{place}.name: {source['name']!r} is not the name of a folder")
        for index, patch in enumerate(source.get("patches", [])):
            check_mapping(patch, f"{place}.patches[{index}]", _PATCH, {})
            if patch["from"] == patch["to"] or "\n" in patch["from"] + patch["to"]:
                raise ValueError(f"{place}.patches[{index}]: from and to are one line each, unlike")
