"""The schema of a file in ``stacks/``: what it must say, checked before anything uses it."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Tuple

from .pci import ARCHITECTURES
from .versions import numbers

__all__ = ["SOURCES", "check_stack"]

# Where the software of a record comes from; `given` is there already and only looked at.
SOURCES: Dict[str, Tuple[str, ...]] = {
    "driver": ("repository", "distribution", "runfile", "given"),
    "cuda": ("repository", "distribution"),
    "nccl": ("repository", "local_repository", "distribution"),
    "ofed": ("mlnx_ofed", "doca", "distribution"),
}
_ARTEFACT = ("version", "url", "sha256")
_KEYS: Dict[str, Tuple[str, ...]] = {
    "driver": (*_ARTEFACT, "source", "modules"),
    "fabric_manager": _ARTEFACT,
    "cuda": (*_ARTEFACT, "source", "packages"),
    "cudnn": (*_ARTEFACT, "packages"),
    "nccl": (*_ARTEFACT, "source", "packages"),
    "ofed": (*_ARTEFACT, "source", "key_url", "fingerprints"),
    "nccl_tests": _ARTEFACT,
    "repository": ("url", "fingerprints"),
}
_IMAGE = ("image", "version", "digest")
_CODE = ("url", "version")
_TOP = ("stack", "architectures", "images", "code", *_KEYS)


def check_stack(definition: Any, name: str) -> Dict[str, Any]:
    """Return the definition of one stack if every part of it can be used.

    :param definition: what the YAML file holds, with the user's overrides in it.
    :param name: the stack's name, for the message.
    :raises ValueError: the stack, the key and what should stand there.
    """
    _known(definition, name, _TOP)
    if definition.get("stack") != name:
        raise ValueError(f"{name}: stack: should be {name}, as the file is named")
    for architecture in definition.get("architectures") or []:
        if architecture not in ARCHITECTURES:
            known = ", ".join(ARCHITECTURES)
            raise ValueError(f"{name}: architectures: {architecture!r} is none of {known}")
    for key in _KEYS:
        if key in definition:
            _check_record(definition[key], f"{name}: {key}", key)
    for key, keys in (("images", _IMAGE), ("code", _CODE)):
        for entry, record in (definition.get(key) or {}).items():
            _check_pinned(record, f"{name}: {key}.{entry}", keys)
    if "driver" in definition and not definition.get("architectures"):
        raise ValueError(f"{name}: architectures: a stack with a driver says for which GPUs")
    return dict(definition)


def _check_record(record: Any, where: str, key: str) -> None:
    _known(record, where, _KEYS[key])
    if key == "repository":
        for needed in _KEYS[key]:
            if not record.get(needed):
                raise ValueError(f"{where}.{needed} is missing")
        return
    if not isinstance(record.get("version"), str):
        raise ValueError(f"{where}.version: a text is needed: quote it")
    numbers(record["version"])
    sources = SOURCES.get(key)
    if sources and record.get("source") not in sources:
        raise ValueError(
            f"{where}.source: {record.get('source')!r} is none of {', '.join(sources)}"
        )
    if key == "driver" and record.get("modules") not in ("open", "proprietary"):
        raise ValueError(f"{where}.modules: open or proprietary, not {record.get('modules')!r}")
    if "packages" in _KEYS[key] and not isinstance(record.get("packages"), Mapping):
        raise ValueError(f"{where}.packages: for each family of distributions its packages")
    if record.get("source") == "doca" and not record.get("key_url"):
        raise ValueError(f"{where}.key_url is missing: the key of the repository that url names")
    checksum = record.get("sha256")
    if checksum is not None and not re.fullmatch(r"[0-9a-f]{64}", str(checksum)):
        raise ValueError(f"{where}.sha256: 64 hexadecimal digits are needed, not {checksum!r}")


def _check_pinned(record: Any, where: str, keys: Tuple[str, ...]) -> None:
    _known(record, where, keys)
    for needed in keys[:2]:
        if not isinstance(record.get(needed), str):
            raise ValueError(f"{where}.{needed}: a text is needed, not {record.get(needed)!r}")
    digest = record.get("digest")
    if digest is not None and not re.fullmatch(r"sha256:[0-9a-f]{64}", str(digest)):
        raise ValueError(f"{where}.digest: sha256: and 64 hexadecimal digits, not {digest!r}")


def _known(value: Any, where: str, keys: Tuple[str, ...]) -> None:
    if not isinstance(value, Mapping):
        raise ValueError(f"{where}: a mapping is needed, not {type(value).__name__}")
    for key in value:
        if key not in keys:
            raise ValueError(f"{where}.{key}: no such key; there are {', '.join(sorted(keys))}")
