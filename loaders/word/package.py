"""Names of a Word file's XML, and what is asked of its elements."""

from __future__ import annotations

import re
from functools import lru_cache

from loaders.office.package import Element as Element
from loaders.office.package import Package as Package
from loaders.office.package import Part as Part

_OFFICE = "http://schemas.openxmlformats.org"
W = f"{{{_OFFICE}/wordprocessingml/2006/main}}"
R = f"{{{_OFFICE}/officeDocument/2006/relationships}}"
M = f"{{{_OFFICE}/officeDocument/2006/math}}"
A = f"{{{_OFFICE}/drawingml/2006/main}}"
WP = f"{{{_OFFICE}/drawingml/2006/wordprocessingDrawing}}"
DIAGRAM = f"{{{_OFFICE}/drawingml/2006/diagram}}"
CHART = f"{{{_OFFICE}/drawingml/2006/chart}}"
MC = f"{{{_OFFICE}/markup-compatibility/2006}}"
W14 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
V = "{urn:schemas-microsoft-com:vml}"
O = "{urn:schemas-microsoft-com:office:office}"  # noqa: E741 - its prefix in every file


def value(element: Element | None, path: str, default: str = "") -> str:
    """The `w:val` of a child, e.g. of `pPr/outlineLvl`."""
    holder = child(element, path)
    return default if holder is None else holder.get(f"{W}val", default)


def child(element: Element | None, path: str) -> Element | None:
    return None if element is None else element.find(_in_namespace(path))


@lru_cache(maxsize=256)
def _in_namespace(path: str) -> str:
    return "/".join(W + step for step in path.split("/"))


def number(text: str, default: int = 0) -> int:
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else default


def is_on(element: Element | None) -> bool:
    """Whether a switch such as `<w:b/>` is set."""
    return element is not None and element.get(f"{W}val", "1") not in ("0", "false", "off", "none")
