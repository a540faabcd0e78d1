"""What a JUnit XML file may hold, after junit-10.xsd of Jenkins' xUnit plugin, as a table."""

from __future__ import annotations

import re
from xml.etree import ElementTree

# By element: attributes that it needs, those that it may have, and its children.
SCHEMA = {
    "testsuites": ("", "name time tests failures errors", "testsuite"),
    "testsuite": (
        "name tests failures errors",
        "group time skipped timestamp hostname id package file log url",
        "testsuite properties testcase system-out system-err",
    ),
    "properties": ("", "", "property"),
    "property": ("name value", "", ""),
    "testcase": ("name", "time classname group", "skipped error failure system-out system-err"),
    **dict.fromkeys(("skipped", "error", "failure"), ("", "type message", "")),
    **dict.fromkeys(("system-out", "system-err"), ("", "", "")),
}
HOLDS_TEXT = ("skipped", "error", "failure", "system-out", "system-err")
SUREFIRE_TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")


def checked(text: str) -> ElementTree.Element:
    """Return the root of a valid file; a parser that is not ours reads it."""
    root = ElementTree.fromstring(text.encode())
    assert root.tag == "testsuites"
    for element in root.iter():
        needed, may, children = (words.split() for words in SCHEMA[element.tag])
        assert set(needed) <= set(element.keys()) <= {*needed, *may}, element.tag
        assert {child.tag for child in element} <= set(children), element.tag
        assert element.tag in HOLDS_TEXT or not (element.text or "").strip(), element.tag
        assert not (element.tail or "").strip()
        if "time" in element.attrib and element.tag != "testcase":
            assert SUREFIRE_TIME.fullmatch(element.attrib["time"])
        if element.tag == "testsuite":
            cases = element.findall("testcase")
            assert len(cases) == int(element.attrib["tests"])
            for key, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                assert int(element.attrib[key]) == sum(
                    case.find(kind) is not None for case in cases
                )
    return root
