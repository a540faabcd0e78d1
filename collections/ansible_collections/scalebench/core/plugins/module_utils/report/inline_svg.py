"""An SVG of matplotlib made part of a page: its names its own, its colours those of the page."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Mapping

__all__ = ["inline_svg"]

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_NAMED = ("aria-labelledby",)
_LEFT_OUT = (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style")
_COLOUR = re.compile(r"#[0-9a-f]{6}")


def inline_svg(text: str, prefix: str, colours: Mapping[str, str]) -> str:
    """Return the ``<svg>`` element to stand in a page that has other SVGs too.

    Only attributes change; what is written in the drawing stays. ``metadata`` goes, and ``style``,
    which would be in force for the whole page.

    :param prefix: put before every id and every reference to one.
    :param colours: from ``#rrggbb``, lower case, to what stands for it in the page.
    :raises ValueError: it is no SVG.
    """
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise ValueError(f"no SVG: {error}") from None
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    for parent in root.iter():
        for child in [child for child in parent if child.tag in _LEFT_OUT]:
            parent.remove(child)
        for name, value in parent.attrib.items():
            parent.set(name, _attribute(name, value, prefix, colours))
    # The page gives the size; the view box keeps the shape.
    root.attrib.pop("width", None)
    root.attrib.pop("height", None)
    return ET.tostring(root, encoding="unicode")


def _attribute(name: str, value: str, prefix: str, colours: Mapping[str, str]) -> str:
    if name == "id":
        return prefix + value
    if name in _NAMED:
        return " ".join(prefix + one for one in value.split())
    if name == f"{{{_XLINK}}}href":
        return value.replace("#", f"#{prefix}", 1)
    if "url(#" in value:
        value = value.replace("url(#", f"url(#{prefix}")
    return _COLOUR.sub(lambda match: colours.get(match.group(), match.group()), value)
