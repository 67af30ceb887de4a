"""Parts of an Office file and their relationships (Open Packaging Conventions, ECMA-376 part 2).

Some kilobytes can stand for gigabytes: by compression, and by elements of a few bytes that take
1 kB each in memory. So what is read of all parts together has limits."""

from __future__ import annotations

import io
import posixpath
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any
from urllib.parse import unquote
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from config.errors import LoadError
from loaders.document import MAX_BYTES, too_many

Element = Any
"""An element of lxml."""
MAX_ELEMENTS = 1_000_000
"""XML elements. A page has some 800."""
MAX_MEDIA_BYTES = 2 * MAX_BYTES
"""Unpacked bytes of all pictures."""
_OFFICE = "http://schemas.openxmlformats.org"
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
"""Begins files of Office before 2007, and protected ones."""
_STRICT = re.compile(rb"(xmlns(?::\w+)?\s*=\s*[\"'])http://purl\.oclc\.org/ooxml/(\w+)/(\w+)")
"""Strict namespaces differ from the transitional ones by host and year only."""


@dataclass(frozen=True)
class Relation:
    kind: str
    """The last word of its type, e.g. `image`."""
    target: str
    """Path of a part, or an address outside of the file."""
    external: bool


@contextmanager
def open_package(data: bytes, name: str, *, kind: str, suffix: str) -> Iterator[Package]:
    """`kind`: e.g. `a Word file`. Raises LoadError for what is none, for a protected one, and for
    whatever zipfile, zlib and lxml raise while it is read."""
    try:
        with _open_archive(data, name, kind, suffix) as archive:
            yield Package(archive, name)
    except LoadError:
        raise
    except RecursionError:
        raise LoadError(name, "its content is nested too deep") from None
    except Exception as error:
        what = kind.partition(" ")[2]
        problem = type(error).__name__  # its text may quote the content
        raise LoadError(name, f"not a readable {what}: {problem}") from None


def _open_archive(data: bytes, name: str, kind: str, suffix: str) -> ZipFile:
    if data.startswith(_OLE):
        raise _in_old_container(data, name, kind, suffix)
    try:
        archive = ZipFile(io.BytesIO(data))
    except (BadZipFile, ValueError):  # ValueError: a name that is no UTF-8
        raise LoadError(name, f"not {kind} ({suffix})") from None
    parts = archive.infolist()
    if any(part.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for part in parts):
        raise LoadError(name, f"not {kind} ({suffix}): compressed in another way")
    if any(part.flag_bits & 1 for part in parts):
        raise LoadError(name, "it is protected by a password", remedy="save it without one")
    return archive


def _in_old_container(data: bytes, name: str, kind: str, suffix: str) -> LoadError:
    if "EncryptedPackage".encode("utf-16-le") in data:
        return LoadError(name, "it is protected by a password", remedy="save it without one")
    reason = f"not {kind} of 2007 or later ({suffix})"
    return LoadError(name, reason, remedy=f"open it in Office and save it as {suffix}")


class Package:
    """The parts by path. Letter case and `\\` don't count, as in Office."""

    def __init__(self, archive: ZipFile, name: str) -> None:
        """`name`: of the document, for errors."""
        self._archive = archive
        self._name = name
        self._parts = {_key(part.filename): part for part in archive.infolist()}
        self._bytes = self._media = self._elements = 0

    def __contains__(self, path: str) -> bool:
        return _key(path) in self._parts

    def open(self, path: str) -> IO[bytes]:
        """For a reader that keeps to limits of its own. Raises KeyError."""
        return self._archive.open(self._parts[_key(path)])

    def read(self, path: str, size: int = -1) -> bytes | None:
        """None when there is no such part. `size`: the most that is read of a picture. Raises
        LoadError for too much of all parts."""
        if (part := self._parts.get(_key(path))) is None:
            return None
        # A part's stated size is the most that zipfile unpacks of it.
        if size < 0:
            self._bytes += part.file_size
        else:
            self._media += min(size, part.file_size)
        for count, limit in ((self._bytes, MAX_BYTES), (self._media, MAX_MEDIA_BYTES)):
            if count > limit:
                reason = f"it unpacks to {count:,} bytes, more than {limit:,}"
                raise LoadError(self._name, reason)
        with self._archive.open(part) as opened:
            return opened.read(size)

    def parse(self, data: bytes) -> Element:
        """Raises XMLSyntaxError, and LoadError for too many elements or a document type: its
        entities unfold to any size, and Office writes none."""
        plain = data.replace(b"\0", b"")
        self._elements += plain.count(b"<") - plain.count(b"</")
        if self._elements > MAX_ELEMENTS:
            raise too_many(self._name, "", self._elements, MAX_ELEMENTS, "XML elements")
        if b"<!DOCTYPE" in plain:
            raise LoadError(self._name, "not an Office file: it declares a document type")
        return _parse(data)

    def part(self, path: str) -> Part | None:
        """Raises lxml's XMLSyntaxError."""
        data = self.read(path)
        return Part(self, path, self.parse(data)) if data else None

    def main_part(self, usual: str) -> Part | None:
        """The document, workbook or presentation, whatever its path and content type."""
        targets = self.relations("").values()
        paths = [one.target for one in targets if one.kind == "officeDocument"]
        parts = map(self.part, [*paths, usual])
        return next((part for part in parts if part is not None), None)

    def relations(self, path: str) -> Mapping[str, Relation]:
        """Relationships of a part by id; of the package for ''."""
        folder, name = posixpath.split(path)
        data = self.read(posixpath.join(folder, "_rels", f"{name}.rels"))
        if not data:
            return {}
        return {one.get("Id", ""): _relation(one, folder) for one in self.parse(data)}


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

    # No entity is unfolded, nothing is fetched, and libxml2's own limits of depth hold.
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )
    return etree.fromstring(
        _STRICT.sub(rb"\1http://schemas.openxmlformats.org/\2/2006/\3", data), parser
    )
