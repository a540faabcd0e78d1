"""From a stack's file, the user's overrides and mirrors to what the roles install."""

from __future__ import annotations

from typing import Any, Dict, Mapping
from urllib.parse import urlsplit

from .schema import check_stack

__all__ = ["resolved_stack"]


def resolved_stack(
    definition: Mapping[str, Any],
    name: str,
    overrides: Mapping[str, Any],
    mirror: str = "",
    image_mirror: str = "",
) -> Dict[str, Any]:
    """Return the stack with what the user set instead, and every address on the mirrors.

    :param overrides: as the file, with only the keys that differ; null takes a record away.
    :param mirror: prefix of downloads: ``https://host/path`` becomes ``<mirror>/host/path``. Files
        and what the user overrides stay as they are.
    :param image_mirror: registry of images: it takes the place of the image's own.
    :raises ValueError: as ``check_stack``.
    """
    check_stack(definition, name)
    stack = _merged(_mirrored(definition, mirror, image_mirror), overrides)
    return check_stack(stack, name)


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = _merged(merged[key], value)
        else:
            merged[key] = value
    return merged


def _mirrored(value: Any, mirror: str, image_mirror: str) -> Any:
    if not isinstance(value, Mapping):
        return value
    changed = {}
    for key, inner in value.items():
        if key in ("url", "key_url") and mirror:
            parts = urlsplit(inner)
            remote = parts.scheme in ("http", "https")
            changed[key] = f"{mirror.rstrip('/')}/{parts.netloc}{parts.path}" if remote else inner
        elif key == "image" and image_mirror:
            changed[key] = f"{image_mirror.rstrip('/')}/{inner.split('/', 1)[1]}"
        else:
            changed[key] = _mirrored(inner, mirror, image_mirror)
    return changed
