"""Check that a mapping of a benchmark file has the keys and kinds it should have."""

from __future__ import annotations

from typing import Any, Mapping

__all__ = ["check_mapping"]


def check_mapping(
    value: Any, where: str, required: Mapping[str, type], optional: Mapping[str, type]
) -> None:
    """Refuse what is no mapping, lacks a key, has one too many or one of another kind.

    :param where: file and key, for the message.
    :raises ValueError: the file, the key and what should stand there.
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"{where}: a mapping is needed, not {type(value).__name__}")
    for key in required:
        if key not in value:
            raise ValueError(f"{where}.{key} is missing")
    kinds = {**optional, **required}
    for key, found in value.items():
        if key not in kinds:
            raise ValueError(f"{where}.{key}: no such key; there are {', '.join(sorted(kinds))}")
        if not isinstance(found, kinds[key]):
            wanted = kinds[key].__name__
            raise ValueError(f"{where}.{key}: a {wanted} is needed, not {found!r}")
