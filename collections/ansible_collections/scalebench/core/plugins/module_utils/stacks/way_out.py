"""The way out of a site: proxy and mirrors, as environment variables of what downloads."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence
from urllib.parse import urlsplit

__all__ = ["MIRRORS", "way_named", "way_out"]

# What each mirror stands for.
MIRRORS = {
    "downloads": "https://HOST/PATH is downloaded from <mirror>/HOST/PATH (role stack)",
    "git": "https://HOST/PATH is cloned from <mirror>/HOST/PATH",
    "images": "the registry of all images (role framework)",
    "pip": "the index of Python packages, or a folder of wheels",
}
_SCHEMES = {
    "downloads": ("http", "https", "file"),
    "git": ("http", "https", "ssh", "file"),
    "pip": ("http", "https", "file"),
}


def way_out(proxy: str, no_proxy: Sequence[str], mirrors: Mapping[str, str]) -> Dict[str, str]:
    """Return the environment in which apt, dnf, pip, git, curl and Ansible's modules download.

    :param proxy: ``http://proxy:3128`` for http and https; empty for none, which leaves what the
        nodes have themselves.
    :param no_proxy: host names, domains and networks that are reached without it, besides the node.
    :param mirrors: addresses by the keys of ``MIRRORS``.
    :raises ValueError: names the variable, what is wrong and what may stand there.
    """
    problems = [
        *_problems_of_proxy(proxy),
        *_problems_of_no_proxy(no_proxy),
        *_problems_of_mirrors(mirrors),
    ]
    if problems:
        raise ValueError("; ".join(problems))
    environment: Dict[str, str] = {}
    if proxy:
        without = ",".join(["localhost", "127.0.0.1", "::1", *no_proxy])
        for name, value in (("http_proxy", proxy), ("https_proxy", proxy), ("no_proxy", without)):
            # curl reads http_proxy only in small letters, some programs only the others.
            environment.update({name: value, name.upper(): value})
    pip = mirrors.get("pip", "")
    if pip.startswith(("file:", "/")):
        environment.update({"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": pip})
    elif pip:
        environment["PIP_INDEX_URL"] = pip
        if urlsplit(pip).scheme == "http":
            # pip leaves out, with a warning, an index without TLS that is not named here.
            environment["PIP_TRUSTED_HOST"] = urlsplit(pip).netloc.rpartition("@")[2]
    if mirrors.get("git"):
        key = f"url.{mirrors['git'].rstrip('/')}/.insteadOf"
        environment.update(
            {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": key, "GIT_CONFIG_VALUE_0": "https://"}
        )
        # What `git -c` passes on: before 2.31 (Ubuntu 20.04, Debian 11) git knows nothing else.
        # It divides at the first equals sign.
        if "=" not in key:
            quoted = key.replace("'", r"'\''")
            environment["GIT_CONFIG_PARAMETERS"] = f"'{quoted}=https://'"
    return environment


def way_named(proxy: str, mirrors: Mapping[str, str], key: str) -> str:
    """Return by which options something was sought, with their values, for a message.

    :param proxy: as for :func:`way_out`; a folder is reached without it.
    :param key: one of ``MIRRORS``.
    """
    mirror = mirrors.get(key, "")
    named = [f"scalebench_mirrors.{key} ({mirror})"] if mirror else []
    if proxy and not mirror.startswith(("file:", "/")):
        named.append(f"scalebench_proxy ({proxy})")
    return " and ".join(named) or "the node's own settings, without scalebench_mirrors or _proxy"


def _problems_of_proxy(proxy: Any) -> List[str]:
    parts = urlsplit(proxy if isinstance(proxy, str) else "")
    if proxy == "" or (parts.scheme in ("http", "https") and parts.hostname):
        return []
    return [f"scalebench_proxy is {proxy!r}: write http://HOST:PORT"]


def _problems_of_no_proxy(no_proxy: Any) -> List[str]:
    if isinstance(no_proxy, (list, tuple)) and all(isinstance(host, str) for host in no_proxy):
        return []
    return [f"scalebench_no_proxy is {no_proxy!r}: write a list of texts, [HOST, .DOMAIN, NETWORK]"]


def _problems_of_mirrors(mirrors: Any) -> List[str]:
    if not isinstance(mirrors, Mapping):
        return [f"scalebench_mirrors is {mirrors!r}: write {{pip: URL}}"]
    problems = [
        f"scalebench_mirrors has {name!r}: known are {', '.join(MIRRORS)}"
        for name in mirrors
        if name not in MIRRORS
    ]
    problems += [
        f"scalebench_mirrors: {name} is {value!r}: write text, or leave it out"
        for name, value in mirrors.items()
        if name in MIRRORS and not isinstance(value, str)
    ]
    for name, schemes in _SCHEMES.items():
        value = str(mirrors.get(name) or "")
        folder = name == "pip" and value.startswith("/")
        if value and not folder and urlsplit(value).scheme not in schemes:
            allowed = ", ".join(f"{scheme}://" for scheme in schemes)
            problems.append(f"scalebench_mirrors: {name} is {value!r}: begin it with {allowed}")
    return problems
