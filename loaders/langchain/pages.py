"""Pages that a class of LangChain yields, on disk, and the documents that they form."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from config.errors import LoadError
from loaders.assemble import as_name
from loaders.document import MAX_CHARACTERS, Document, Permission, too_many
from loaders.files.markdown import parse_markdown

MAX_PAGES = 100_000
MAX_BYTES = 2 << 30
"""Bytes of all pages of one entry, which wait on disk."""
MAX_FIELD_BYTES = 100 << 20
"""Bytes of their metadata, which are held in memory."""
MAX_ID = 1_000
"""Characters of a page's `source`."""
_REMEDY = "narrow its arguments, or write several entries that share its documents"


@dataclass(frozen=True, kw_only=True)
class Page:
    """Where a page's text is, and what its metadata say, by the groups of `child.FIELDS`."""

    at: int
    size: int
    fields: Mapping[str, str]

    def line(self, name: str) -> str:
        return " ".join(self.fields.get(name, "").split())


@dataclass
class Shelf:
    """The pages of one entry, in order."""

    name: str
    """Of the loader."""
    hide: Callable[[str], str]
    """Takes secrets out of a text."""
    pages: list[Page] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)
    """Why pages are left out → how many."""
    _field_bytes: int = 0

    def __post_init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="oncall-loader-")  # noqa: SIM115 - see below
        # Open until the last of its documents is parsed.
        weakref.finalize(self, self._file.close)

    def put(self, message: Mapping[str, Any]) -> None:
        """Raises LoadError beyond a limit."""
        if bad := message.get("bad"):
            self.leave_out(bad)
            return
        fields = {key: self.hide(_storable(one)) for key, one in message["fields"].items()}
        self._field_bytes += sum(map(len, fields.values()))
        text = self.hide(_storable(message["text"])).encode()
        at = self._file.tell()
        if len(self.pages) == MAX_PAGES:
            raise self._too_much(f"more than {MAX_PAGES:,} pages")
        if at + len(text) > MAX_BYTES or self._field_bytes > MAX_FIELD_BYTES:
            raise self._too_much("more text than is read of one source")
        self._file.write(text)
        self.pages.append(Page(at=at, size=len(text), fields=fields))

    def leave_out(self, why: str) -> None:
        self.notes[why] = self.notes.get(why, 0) + 1

    def bytes_of(self, page: Page) -> bytes:
        self._file.flush()
        return os.pread(self._file.fileno(), page.size, page.at)

    def documents(self) -> dict[str, list[Page]]:
        """Name of a document → its pages: those with the same `source` and the same title."""
        by_source: dict[str, dict[str, list[Page]]] = {}
        for page in self.pages:
            name = page.fields.get("source", "").strip()
            if problem := _problem_of(name):
                self.leave_out(problem)
                continue
            mark = page.line("title") or ("" if page.line("part") else page.line("id"))
            by_source.setdefault(name, {}).setdefault(mark, []).append(page)
        documents: dict[str, list[Page]] = {}
        for name, marked in by_source.items():
            if len(marked) == 1:
                documents[name] = next(iter(marked.values()))
            else:
                documents |= {f"{name}#{mark}": those for mark, those in marked.items()}
        return documents

    def version(self, pages: Sequence[Page]) -> str:
        """Changes with the text and metadata of a document."""
        digest = hashlib.sha256()
        for page in pages:
            digest.update(json.dumps([page.size, sorted(page.fields.items())]).encode())
            digest.update(self.bytes_of(page))
        return digest.hexdigest()[:32]

    def load(
        self,
        document_id: str,
        version: str,
        pages: Sequence[Page],
        permissions: tuple[Permission, ...],
    ) -> Document:
        """Raises LoadError."""
        if (size := sum(page.size for page in pages)) > MAX_CHARACTERS:
            raise too_many(document_id, "", size, MAX_CHARACTERS, "characters")
        text = b"\n\n".join(map(self.bytes_of, pages)).decode()
        first = pages[0]
        addresses = (first.line("address"), first.line("source"))
        web = (one for one in addresses if one.startswith(("http://", "https://")))
        changed = max(filter(None, (_moment(page.line("time")) for page in pages)), default=None)
        document = parse_markdown(
            text,
            url=next(web, ""),
            id=document_id,
            title=first.line("title"),
            owner=as_name(first.line("author")),
            modified_at=changed,
            source="loader",
        )
        # What says who may read is not the page's own front matter.
        return replace(document, id=document_id, version=version, permissions=permissions)

    def _too_much(self, problem: str) -> LoadError:
        return LoadError(self.name, f"it lists {problem}", remedy=_REMEDY, refused=True)


def _storable(text: str) -> str:
    """Half characters and NUL are in no database."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "\ufffd")


def _problem_of(source: str) -> str:
    if not source:
        return "no `source` in the metadata"
    if len(source) > MAX_ID:
        return f"a `source` of more than {MAX_ID:,} characters"
    return "" if source.isprintable() else "a `source` that is no line of text"


def _moment(text: str) -> datetime | None:
    """ISO 8601, or seconds since 1970; without a zone UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            moment = datetime.fromtimestamp(float(text), UTC)
        except (ValueError, OverflowError, OSError):
            return None
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        return None
