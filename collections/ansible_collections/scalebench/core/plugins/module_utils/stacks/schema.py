"""The files in ``stacks/``: checked against their schema, resolved with overrides and mirrors."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Tuple
from urllib.parse import urlsplit

from .pci import ARCHITECTURES
from .versions import numbers

__all__ = ["SOURCES", "check_stack", "resolved_stack"]

# Where the software of a record comes from; `given` is installed already and only verified.
SOURCES: Dict[str, Tuple[str, ...]] = {
    "driver": ("repository", "distribution", "runfile", "given"),
    "cuda": ("repository", "distribution", "given"),
    "nccl": ("repository", "local_repository", "distribution", "given"),
    "ofed": ("mlnx_ofed", "doca", "distribution", "given"),
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
_FRAMEWORK = ("packages", "url", "unavailable")
_PIN = re.compile(r"[\w.-]+==[\w.+!-]+", re.ASCII)
_TOP = ("stack", "architectures", "frameworks", *_KEYS)


def check_stack(definition: Any, name: str) -> Dict[str, Any]:
    """Return the definition of one stack, if it is valid.

    :param definition: the content of the YAML file, with the user's overrides applied.
    :param name: the stack's name, for the message.
    :raises ValueError: an invalid key or value; the message names the stack, the key and what is
        expected.
    """
    _known(definition, name, _TOP)
    if definition.get("stack") != name:
        raise ValueError(f"{name}: stack: should be {name}, the name of the file")
    architectures = definition.get("architectures") or []
    _is_a(list, architectures, f"{name}: architectures")
    for architecture in architectures:
        if architecture not in ARCHITECTURES:
            known = ", ".join(ARCHITECTURES)
            raise ValueError(f"{name}: architectures: {architecture!r:.80} is not one of {known}")
    for key in _KEYS:
        if key in definition:
            _check_record(definition[key], f"{name}: {key}", key)
    frameworks = definition.get("frameworks") or {}
    _is_a(Mapping, frameworks, f"{name}: frameworks")
    for entry, record in frameworks.items():
        _check_framework(record, f"{name}: frameworks.{entry}")
    if "driver" in definition and not architectures:
        raise ValueError(f"{name}: architectures: required in a stack with a driver")
    return dict(definition)


def _check_record(record: Any, where: str, key: str) -> None:
    _known(record, where, _KEYS[key])
    _are_texts(record, where, "url", "key_url")
    if key == "repository":
        for needed in _KEYS[key]:
            if not record.get(needed):
                raise ValueError(f"{where}.{needed} is missing")
        return
    if record.get("version") is None:
        raise ValueError(f"{where}.version is missing")
    if not isinstance(record["version"], str):
        raise ValueError(f"{where}.version: must be a string: quote it")
    numbers(record["version"])
    sources = SOURCES.get(key)
    if sources and record.get("source") not in sources:
        raise ValueError(
            f"{where}.source: {record.get('source')!r:.80} is not one of {', '.join(sources)}"
        )
    if key == "driver" and record.get("modules") not in ("open", "proprietary"):
        raise ValueError(f"{where}.modules: open or proprietary, not {record.get('modules')!r:.80}")
    given = record.get("source") == "given"
    if "packages" in _KEYS[key] and not given and not isinstance(record.get("packages"), Mapping):
        raise ValueError(f"{where}.packages: must map families of distributions to packages")
    if record.get("source") == "doca" and not record.get("key_url"):
        raise ValueError(f"{where}.key_url is missing: the key of the repository that url names")
    checksum = record.get("sha256")
    if checksum is not None and not re.fullmatch(r"[0-9a-f]{64}", str(checksum)):
        raise ValueError(f"{where}.sha256: 64 hexadecimal digits are needed, not {checksum!r:.80}")


def _check_framework(record: Any, where: str) -> None:
    """Check what role framework installs otherwise than its set says, or why it installs nothing.

    ``packages`` take the place of the set's by name, ``url`` is a package index beside PyPI.
    """
    _known(record, where, _FRAMEWORK)
    if ("packages" in record) == ("unavailable" in record):
        raise ValueError(f"{where}: either packages or unavailable (the reason) is needed")
    packages = record.get("packages", [])
    _is_a(list, packages, f"{where}.packages")
    for package in packages:
        if not _PIN.fullmatch(str(package)):
            raise ValueError(f"{where}.packages: {package!r:.80} is not <name>==<version>")
    _are_texts(record, where, "url", "unavailable")


def _known(value: Any, where: str, keys: Tuple[str, ...]) -> None:
    _is_a(Mapping, value, where)
    for key in value:
        if key not in keys:
            raise ValueError(
                f"{where}.{key!s:.80}: no such key; there are {', '.join(sorted(keys))}"
            )


def _is_a(kind: type, value: Any, where: str) -> None:
    if not isinstance(value, kind):
        wanted = kind.__name__.lower()
        raise ValueError(f"{where}: a {wanted} is needed, not {type(value).__name__}")


def _are_texts(record: Mapping[str, Any], where: str, *keys: str) -> None:
    for key in keys:
        if not isinstance(record.get(key, ""), str):
            raise ValueError(f"{where}.{key}: a text is needed, not {record[key]!r:.80}")


def resolved_stack(
    definition: Mapping[str, Any],
    name: str,
    overrides: Mapping[str, Any],
    mirror: str = "",
) -> Dict[str, Any]:
    """Return a stack with the user's overrides, and with its addresses on the mirrors.

    :param overrides: in the form of the file, with only the keys that differ; null removes a
        record.
    :param mirror: prefix of downloads: ``https://host/path`` becomes ``<mirror>/host/path``. Other
        schemes and the addresses of overrides are kept.
    :raises ValueError: as :func:`check_stack`.
    """
    check_stack(definition, name)
    stack = _merged(_mirrored(definition, mirror), overrides)
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


def _mirrored(value: Any, mirror: str) -> Any:
    if not isinstance(value, Mapping):
        return value
    changed = {}
    for key, inner in value.items():
        if key in ("url", "key_url") and mirror:
            parts = urlsplit(inner)
            remote = parts.scheme in ("http", "https")
            changed[key] = f"{mirror.rstrip('/')}/{parts.netloc}{parts.path}" if remote else inner
        else:
            changed[key] = _mirrored(inner, mirror)
    return changed
