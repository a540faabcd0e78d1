"""The files that roles write on a server, as docs/your-site.md lists them."""

import re
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OWN = re.compile(r"/(?:etc|usr|var)/[\w./-]*scalebench[\w./-]*\w")


def written():
    """Return the paths with our name in roles: in their texts, and those of their templates."""
    found = set()
    for path in (ROOT / "roles").rglob("*"):
        if not path.is_file() or "meta" in path.parts:
            continue
        found.update(OWN.findall(path.read_text()))
        parts = path.relative_to(ROOT).parts
        if parts[2:4] == ("templates", "etc") and "scalebench" in path.name:
            found.add("/" + "/".join(parts[3:]).removesuffix(".j2"))
    # A purpose is part of its name: scalebench-driver.pref.
    return {path for path in found if not path.endswith(("/scalebench.pref", "/scalebench"))}


def test_the_page_lists_every_file_that_a_role_writes():
    _, mark, rest = (ROOT / "docs/your-site.md").read_text().partition("looks like afterwards")
    listed = re.findall(r"`(/[^`]+)`", rest.partition("\n## ")[0])
    assert mark and len(listed) > 10
    missing = [
        path
        for path in sorted(written())
        if not any(fnmatch(path, one) or path.startswith(f"{one}/") for one in listed)
    ]
    assert missing == []


def test_what_the_page_lists_is_written():
    section = (ROOT / "docs/your-site.md").read_text().partition("looks like afterwards")[2]
    paths = re.findall(r"`(/[^`]+)`", section.partition("\n## ")[0])
    listed = [path for path in paths if "scalebench" in path.rsplit("/", 1)[-1][1:]]
    assert [one for one in listed if not any(fnmatch(path, one) for path in written())] == []
