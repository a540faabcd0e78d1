"""Read JSON and YAML files; write files atomically and durably, where they differ."""

from __future__ import annotations

import glob
import os
import re
import shutil
import stat
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import yaml
from ansible.errors import AnsibleActionFail
from ansible_collections.scalebench.core.plugins.module_utils.node import durable
from ansible_collections.scalebench.core.plugins.module_utils.records.shape import (
    DEEPEST,
    check_plain,
    parse_json,
)

__all__ = [
    "LARGEST",
    "LEADS_OUTSIDE",
    "NOT_UTF8",
    "in_utf8",
    "inside",
    "leads_outside",
    "open_regular",
    "read_json",
    "read_named",
    "read_yaml",
    "remove_partial",
    "remove_partial_below",
    "said",
    "user_path",
    "write_files",
    "write_only",
    "write_texts",
]

# Ten times as fast as SafeLoader, which is for installations without libyaml.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# Bytes of a file that is read whole; a plan of a thousand nodes has a few million.
LARGEST = 1 << 28
LEADS_OUTSIDE = "a link that leads out of the folder; copy what it leads to"
NOT_UTF8 = "its name is not UTF-8; rename it"
# Values of a YAML file, with those of its aliases.
_MOST_VALUES = 1 << 18
# Characters of a text that is checked in no more time than a number.
_SHORT_TEXT = 256
# libyaml compares each directive with all before it; PyYAML computes with integers of any length.
_MOST_DIRECTIVES = 16
_BASE_60 = re.compile(r"[-+\d\s_]+:[-+\d\s_:]+").fullmatch
_INT64_DIGITS = len(str(-(1 << 63)))


def open_regular(path: Path, folder: Path | None = None) -> BinaryIO:
    """Open a file for reading; a pipe or a device would never end, or never begin.

    :param folder: that no link may lead out of.
    :raises ValueError: it is something else than a regular file, or leads out of the folder.
    :raises OSError: it cannot be opened.
    """
    if folder is not None and leads_outside(folder, path):
        raise ValueError(LEADS_OUTSIDE)
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    # A link may have come since: what counts is what was opened.
    now = f"/proc/self/fd/{opened}"
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        refused = "not a regular file"
    elif folder is not None and os.path.exists(now) and leads_outside(folder, now):
        refused = LEADS_OUTSIDE
    else:
        return os.fdopen(opened, "rb")
    os.close(opened)
    raise ValueError(refused)


def in_utf8(path: str) -> str:
    """Return a path as a report can hold it: bytes that are not UTF-8 become ``\\xe9``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def leads_outside(folder: Path | str, path: Path | str) -> bool:
    """Return whether a path lies outside of the folder, once links are followed."""
    top = os.path.realpath(folder)
    try:
        return os.path.commonpath([top, os.path.realpath(path)]) != top
    except (ValueError, OSError):
        # No system has a file of this name, or it changed at this moment.
        return True


def user_path(text: Path | str) -> Path:
    """Return a path that a user gave, in which a first ``~`` is a home.

    :raises ValueError: nobody here has the name after it.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ValueError(f"{text}: no user of this name has a home here") from None


def inside(folder: Path, name: str) -> Path:
    """Return the path of a campaign's file.

    :raises ValueError: it leads out of the campaign's folder; without the name.
    """
    if leads_outside(folder, folder / name):
        raise ValueError(LEADS_OUTSIDE)
    return folder / name


def _whole(path: Path, largest: int | None = None, folder: Path | None = None) -> bytes:
    largest = LARGEST if largest is None else largest
    with open_regular(path, folder) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise ValueError(f"it has more than {largest >> 20} MiB")
    return content


def read_json(path: Path, largest: int | None = None, folder: Path | None = None) -> Any:
    """Return the value of a JSON file of at most so many bytes, by default ``LARGEST``.

    :param folder: that no link may lead out of.
    :raises ValueError: it is not JSON, or as :func:`parse_json`; without the path.
    :raises OSError: it cannot be read.
    """
    return parse_json(_whole(path, largest, folder).decode("utf-8"))


def remove_partial(path: Path) -> None:
    """Remove the partial files and folders of processes that were killed while they wrote this."""
    prefix = f".{path.name}."
    parts = path.parent.glob(f"{glob.escape(prefix)}*.part")
    # Those of "a.b" are none of "a".
    _remove_ended(part for part in parts if part.name.count(".") == prefix.count(".") + 1)


def remove_partial_below(folder: Path) -> None:
    """Remove those of all that is below a folder."""
    _remove_ended(list(folder.rglob(".*.part")))


def _remove_ended(parts: Iterable[Path]) -> None:
    for part in parts:
        try:
            pid = int(part.name.split(".")[-2])
            # In a container the numbers come again soon.
            if pid != os.getpid():
                os.kill(pid, 0)
                continue
        except (ValueError, OverflowError):
            continue  # not one of ours
        except PermissionError:
            # A process of another user, which cannot have written here.
            continue
        except ProcessLookupError:
            pass
        if part.is_dir() and not part.is_symlink():
            shutil.rmtree(part, ignore_errors=True)
        else:
            with suppress(OSError):  # as in a folder of another user
                part.unlink()


def _before(path: Path) -> bytes | None:
    """Return the content of a file, of a link nothing, and None where there is neither."""
    try:
        # What is too large to be compared is replaced.
        if path.is_symlink() or (path.is_file() and path.stat().st_size > LARGEST):
            return b""
        return _whole(path)
    except FileNotFoundError:
        return None


def _write(path: Path, content: bytes) -> None:
    durable.make_folder(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        # A new file: a link that stands there would be followed.
        part.unlink(missing_ok=True)
        with part.open("xb") as file:
            file.write(content)
        durable.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def said(error: Exception) -> str:
    """Return what an error says, without the path that an OSError has."""
    return getattr(error, "strerror", None) or str(error)


def _shown(content: bytes | None) -> str:
    try:
        return (content or b"").decode("utf-8")
    except UnicodeDecodeError:
        return f"{len(content or b'')} bytes that are not text\n"


def _difference(path: Path, before: bytes | None, after: bytes) -> dict[str, str]:
    header = {"before_header": str(path), "after_header": str(path)}
    return {**header, "before": _shown(before), "after": _shown(after)}


def write_texts(texts: dict[Path, str], check_mode: bool, with_diff: bool) -> dict[str, Any]:
    """Write the texts that differ, as UTF-8; as :func:`write_files`."""
    contents = {path: text.encode("utf-8") for path, text in texts.items()}
    return write_files(contents, check_mode, with_diff)


def write_files(contents: dict[Path, bytes], check_mode: bool, with_diff: bool) -> dict[str, Any]:
    """Write the files whose content differs.

    :returns: ``changed``, ``paths`` of the files that were or would be written, and with
        ``with_diff`` the ``diff``.
    :raises AnsibleActionFail: a path cannot be read or written.
    """
    changed: list[str] = []
    diff: list[dict[str, str]] = []
    synced: set[Path] = set()
    for path, content in contents.items():
        try:
            before = _before(path)
            if before == content and not path.is_symlink():
                # It may be there from a write that failed after the rename, on a disk with errors.
                if not check_mode and path.parent not in synced:
                    durable.sync(path.parent)
                    synced.add(path.parent)
                continue
            if not check_mode:
                _write(path, content)
        except (OSError, ValueError) as error:
            raise AnsibleActionFail(f"{path}: cannot be written: {said(error)}") from None
        changed.append(str(path))
        diff.append(_difference(path, before, content))
    return {"changed": bool(changed), "paths": changed, **({"diff": diff} if with_diff else {})}


def write_only(
    contents: dict[Path, bytes], others: Iterable[Path], check_mode: bool, with_diff: bool
) -> dict[str, Any]:
    """Write the files whose content differs, and remove what earlier runs left.

    Partial files of these are removed too.

    :param others: files to remove; they need not exist.
    :returns: as :func:`write_files`, and in ``removed`` the files that were or would be removed.
    :raises AnsibleActionFail: a path cannot be read, written or removed.
    """
    written = write_files(contents, check_mode, with_diff)
    if not check_mode:
        for path in contents:
            remove_partial(path)
    removed: list[str] = []
    for path in others:
        try:
            before = _before(path)
            if before is None:
                continue
            if not check_mode:
                path.unlink()
        except (OSError, ValueError) as error:
            raise AnsibleActionFail(f"{path}: cannot be removed: {said(error)}") from None
        removed.append(str(path))
        if with_diff:
            written["diff"].append(_difference(path, before, b""))
    return {**written, "changed": written["changed"] or bool(removed), "removed": removed}


class _Unique(_Loader):  # type: ignore[valid-type, misc]
    """Refuses a mapping with the same key twice, of which YAML's loaders take the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [(key.tag, key.value) for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(set(keys)) < len(keys):
            twice = Counter(keys).most_common(1)[0][0][1]
            place = f"line {node.start_mark.line + 1}"
            raise yaml.constructor.ConstructorError(f"{place}: {twice!r} is there twice")
        # Python gives all multiples of 2^61 - 1 the same hash.
        if any(tag.endswith(":int") and len(text) > _INT64_DIGITS for tag, text in keys):
            place = f"line {node.start_mark.line + 1}"
            raise yaml.constructor.ConstructorError(f"{place}: a key beyond 64 bits")
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """Return the document of a YAML file.

    :raises OSError: the file cannot be read.
    :raises ValueError: it is no regular file, not UTF-8, nested too deep, too large with its
        aliases, or holds what JSON has not, such as a date; without the path.
    :raises yaml.YAMLError: it is not YAML, or a mapping has a key twice.
    """
    text = _whole(path).decode("utf-8")
    _check_size(text)
    try:
        value = yaml.load(text, Loader=_Unique)
    except (IndexError, KeyError, AttributeError, TypeError, OverflowError):
        # So PyYAML ends at "!!int ''", "!!bool maybe" and large floats to the base 60.
        raise ValueError("a value is not what its tag (!!int, !!bool, ...) says") from None
    check_plain(value)
    return value


def read_named(given: Path, folder: Path, what: str) -> Any:
    """Return the document of a YAML file that is given by its path or by its name in a folder.

    :param given: of ``user_path``.
    :param what: the file holds, for the error.
    :raises ValueError: there is none, with the names of the others, or as :func:`read_yaml`.
    :raises OSError: as :func:`read_yaml`; also yaml.YAMLError.
    """
    places = (given, folder / f"{given}.yml", folder / given)
    path = next((one for one in places if one.is_file()), None)
    if path is None:
        known = ", ".join(sorted(one.stem for one in folder.glob("*.yml"))) or "none"
        raise ValueError(f"no file, and no {what} in {folder}: there are {known}")
    return read_yaml(path)


def _check_size(text: str) -> None:
    """Refuse what would end the process, fill the memory or take hours: libyaml has no limits."""
    if text.count("\n%") > _MOST_DIRECTIVES:
        raise ValueError(f"more than {_MOST_DIRECTIVES} lines begin with %")
    sizes: dict[str, int] = {}
    # Of what is open: its values up to here, with those of aliases, and its anchor.
    inside: list[tuple[int, str]] = [(0, "")]
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            inside.append((1, event.anchor))
            size, anchor = 0, ""
        elif isinstance(event, yaml.CollectionEndEvent):
            size, anchor = inside.pop()
        elif isinstance(event, yaml.ScalarEvent):
            size, anchor = 1 + len(event.value) // _SHORT_TEXT, event.anchor
            if size > 1 and not event.implicit[1] and _BASE_60(event.value):
                raise ValueError(f"a number to the base 60 has {len(event.value)} characters")
        elif isinstance(event, yaml.AliasEvent):
            # One that stands within what it refers to has no end.
            size, anchor = sizes.get(event.anchor, _MOST_VALUES), ""
        else:
            continue
        if anchor:
            sizes[anchor] = size
        inside[-1] = (inside[-1][0] + size, inside[-1][1])
        if len(inside) > DEEPEST or inside[-1][0] >= _MOST_VALUES:
            raise ValueError("nested too deep, or too large with its aliases")
