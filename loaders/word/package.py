"""Parts of a Word file and their relationships (Open Packaging Conventions, ECMA-376 part 2)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

Element = Any
"""An element of lxml."""
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
_STRICT = re.compile(rb"(xmlns(?::\w+)?\s*=\s*[\"'])http://purl\.oclc\.org/ooxml/(\w+)/(\w+)")
"""Strict namespaces differ from the transitional ones by host and year only."""


_DOCTYPE = re.compile(rb"<\0?!\0?D\0?O\0?C\0?T\0?Y\0?P\0?E")
"""In UTF-8 or UTF-16."""


@dataclass(frozen=True)
class Relation:
    kind: str
    """The last word of its type, e.g. `image`."""
    target: str
    """Path of a part, or an address outside of the file."""
    external: bool


class Package:
    """The parts by path. Letter case and `\\` don't count, as in Word."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._parts = {_key(part.filename): part for part in archive.infolist()}

    def read(self, path: str, size: int = -1) -> bytes | None:
        """None when there is no such part."""
        if (part := self._parts.get(_key(path))) is None:
            return None
        with self._archive.open(part) as opened:
            return opened.read(size)

    def part(self, path: str) -> Part | None:
        """Raises lxml's XMLSyntaxError."""
        data = self.read(path)
        return Part(self, path, _parse(data)) if data else None

    def main_part(self) -> Part | None:
        """The document, whatever its path and content type (.docx, .docm, .dotx, .dotm)."""
        targets = self.relations("").values()
        paths = [one.target for one in targets if one.kind == "officeDocument"]
        parts = map(self.part, [*paths, "word/document.xml"])
        return next((part for part in parts if part is not None), None)

    def relations(self, path: str) -> Mapping[str, Relation]:
        """Relationships of a part by id; of the package for ''."""
        folder, name = posixpath.split(path)
        data = self.read(posixpath.join(folder, "_rels", f"{name}.rels"))
        if not data:
            return {}
        return {one.get("Id", ""): _relation(one, folder) for one in _parse(data)}


@dataclass(frozen=True)
class Part:
    package: Package
    path: str
    root: Element

    @cached_property
    def relations(self) -> Mapping[str, Relation]:
        return self.package.relations(self.path)

    def related(self, kind: str, default: str = "") -> Part | None:
        """The part of this kind. `default`: its usual name in this folder."""
        targets = [one.target for one in self.relations.values() if one.kind == kind]
        usual = posixpath.join(posixpath.dirname(self.path), default) if default else ""
        parts = (self.package.part(path) for path in [*targets, usual] if path)
        return next((part for part in parts if part is not None), None)

    def by_id(self, name: str) -> Part | None:
        relation = self.relations.get(name)
        return self.package.part(relation.target) if relation and not relation.external else None


def value(element: Element | None, path: str, default: str = "") -> str:
    """The `w:val` of a child, e.g. of `pPr/outlineLvl`."""
    holder = child(element, path)
    return default if holder is None else holder.get(f"{W}val", default)


def child(element: Element | None, path: str) -> Element | None:
    return None if element is None else element.find("/".join(W + step for step in path.split("/")))


def number(text: str, default: int = 0) -> int:
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else default


def is_on(element: Element | None) -> bool:
    """Whether a switch such as `<w:b/>` is set."""
    return element is not None and element.get(f"{W}val", "1") not in ("0", "false", "off", "none")


def _key(path: str) -> str:
    return path.replace("\\", "/").lstrip("/").lower()


def _relation(element: Element, folder: str) -> Relation:
    kind = element.get("Type", "").rstrip("/").rpartition("/")[2]
    target, external = element.get("Target", ""), element.get("TargetMode") == "External"
    if not external:
        inner = unquote(target.partition("#")[0])
        target = posixpath.normpath(posixpath.join("/", folder, inner)).lstrip("/")
    return Relation(kind, target, external)


def _parse(data: bytes) -> Element:
    from lxml import etree

    if _DOCTYPE.search(data):
        raise ValueError("a document type")
    # No entity is unfolded, nothing is fetched, and libxml2's own limits of depth hold.
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )
    return etree.fromstring(
        _STRICT.sub(rb"\1http://schemas.openxmlformats.org/\2/2006/\3", data), parser
    )
