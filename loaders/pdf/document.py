"""PDF → Document: text in reading order, tables, form values, headings from outline or layout."""

from __future__ import annotations

import ctypes
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Unpack

from config.errors import LoadError
from loaders.assemble import BlockWriter, Metadata, make_document
from loaders.document import MAX_CHARACTERS, Document
from loaders.pdf.blocks import Body, to_lines
from loaders.pdf.columns import Lines, arrange
from loaders.pdf.form import Form
from loaders.pdf.joining import WORD
from loaders.pdf.lines import Box, RawTable, Row, overlap, rows_of, segment, table_segment
from loaders.pdf.page import PDFIUM, Page, read_page
from loaders.pdf.probe import is_bounded
from loaders.pdf.rules import Rules
from loaders.pdf.running import WINDOW, Edges, RunningText, edges_of
from loaders.pdf.tables import ruled_tables
from loaders.text.markdown import clean

_MAX_PAGES = 5_000
_MAX_BOOKMARKS = 20_000
_MAX_OUTLINE_DEPTH = 30
_MAX_WARNED_PAGES = 20
"""Pages that a warning names."""
_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+\-Z])(\d\d)?'?(\d\d)?)?"
)
_NO_TITLE = re.compile(
    r"^\W*$|^\W*(?:untitled\b.*|anonymous|unspecified|no title|none|null|title|document)\W*\d*\W*$"
    r"|^microsoft \w+\b|\bhyperref\b|\bpowerpoint\b|about:blank|^\w+://"
    r"|\.(?:docx?|odt|rtf|pptx?|odp|xlsx?|ods|pdf|html?|md|txt|tex|dvi|ps|indd|pages|qxd|fm|p65)\W*$",
    re.IGNORECASE,
)
"""Titles that programs write: their own name, the name of a draft's file, or nothing."""


def parse_pdf(data: bytes, *, url: str = "", **metadata: Unpack[Metadata]) -> Document:
    """Blocks have a `page` and a URL that opens it. `warnings` lists pages without text, and what
    looks like a table but could not be rebuilt.

    Raises LoadError when the data is not a PDF, is locked, or exceeds a limit."""
    name = metadata.get("id") or "PDF file"
    if not is_bounded(data):
        raise LoadError(name, "its pages unfold to more than can be read")
    with PDFIUM, _opened(data, name) as document:
        return _Reader(document, name, url).read(metadata)


@contextmanager
def _opened(data: bytes, name: str) -> Iterator[Any]:
    import pypdfium2 as library
    import pypdfium2.raw as pdfium

    del library  # its import starts PDFium
    document = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
    if not document:
        error = pdfium.FPDF_GetLastError()
        if error in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
            raise LoadError(name, "the PDF is locked", remedy="save it without a password")
        raise LoadError(name, "not a readable PDF")
    try:
        yield document
    finally:
        pdfium.FPDF_CloseDocument(document)


@dataclass
class _Laid:
    """A page's words in rows, without those in ruled tables, until its neighbors are known."""

    page: Page
    rows: list[Row]
    tables: list[RawTable]
    doubts: list[tuple[str, Box]]
    """Why ruling lines make no table, and where; its alignment may make one."""
    edges: Edges


class _Reader:
    def __init__(self, document: Any, name: str, url: str) -> None:
        import pypdfium2.raw as pdfium

        self._pdfium = pdfium
        self._document = document
        self._name = name
        self._url = url
        self._writer = BlockWriter(url=url)
        self._body = Body()
        self._running = RunningText()
        self._characters = 0
        self._pages_by_warning: dict[str, list[int]] = {}
        self._last: RawTable | None = None
        self._ruled: list[RawTable] = []

    def read(self, metadata: Metadata) -> Document:
        pdfium = self._pdfium
        count = pdfium.FPDF_GetPageCount(self._document)
        if count > _MAX_PAGES:
            raise LoadError(self._name, f"{count:,} pages, more than {_MAX_PAGES:,}")
        if count < 1:
            raise LoadError(self._name, "not a readable PDF: it has no pages")
        bookmarks = self._bookmarks()
        form = Form(self._document)
        try:
            if form.is_xfa:
                self._writer.warn("the form's values may be missing: it is an XFA form")
            self._read_pages(count, form)
        finally:
            form.close()
        self._body.write(self._writer, self._url, bookmarks)
        for problem, pages in self._pages_by_warning.items():
            self._writer.warn(_with_pages(problem, pages))
        self._complete(metadata)
        return make_document(self._writer, url=self._url, **metadata)

    def _read_pages(self, count: int, form: Form) -> None:
        window: deque[_Laid] = deque()
        waiting = 0
        for number in range(1, count + 1):
            laid = self._lay(number, form)
            window.append(laid)
            waiting += 1
            if waiting > WINDOW:
                self._arrange(window[len(window) - waiting], window)
                waiting -= 1
            if len(window) > 2 * WINDOW + 1:
                window.popleft()
        for i in range(len(window) - waiting, len(window)):
            self._arrange(window[i], window)

    def _lay(self, number: int, form: Form) -> _Laid:
        page = self._page(number, form)
        self._characters += sum(len(word.text) + 1 for word in page.words)
        if self._characters > MAX_CHARACTERS:
            raise LoadError(self._name, f"it has more than {MAX_CHARACTERS:,} characters")
        if page.rules.are_too_many:
            self._warn("has too many lines drawn to look for tables", number)
        letters = sum(len(word.text) for word in page.words)
        if page.unmapped > max(5, 0.1 * letters):
            self._warn("has a font that doesn't say which letters it shows", number)
        words = page.words
        tables = []
        doubts: list[tuple[str, Box]] = []
        regions = ruled_tables(words, page.rules)
        for region in regions:
            table = region.table
            if table is None:
                doubts.append((region.doubt, region.box))
                continue
            others = [*self._ruled, *(one.table for one in regions if one.table)]
            if table.height < 2 and not any(
                one.height > 1 and one.has_columns_of(table) for one in others
            ):
                continue
            tables.append(table)
            inside = set(map(id, region.words))
            words = [word for word in words if id(word) not in inside]
        self._ruled = tables
        rows = rows_of(word for word in words if not word.turned)
        sizes = Counter[float]()
        for word in page.words:
            sizes[round(word.size * 2) / 2] += len(word.text)
        body = sizes.most_common(1)[0][0] if sizes else 10.0
        page.words = [word for word in words if word.turned]
        return _Laid(page, rows, tables, doubts, edges_of(number, rows, page.height, body))

    def _page(self, number: int, form: Form) -> Page:
        pdfium = self._pdfium
        handle = pdfium.FPDF_LoadPage(self._document, number - 1)
        if not handle:
            self._warn("could not be read", number)
            return Page([], Rules(), 0.0, 0.0, 0)
        try:
            widgets, is_cut = form.widgets(handle)
            if is_cut:
                self._warn("has more form fields than are read", number)
            page = read_page(handle, widgets)
        finally:
            pdfium.FPDF_ClosePage(handle)
        if page is None:
            raise LoadError(self._name, f"page {number} has too many letters or drawings")
        if not page.words:
            self._warn("has no text; is it a scan?", number)
        return page

    def _arrange(self, laid: _Laid, window: deque[_Laid]) -> None:
        number = laid.edges.number
        others = [
            one.edges for one in window
            if one is not laid and abs(one.edges.number - number) <= WINDOW
        ]  # fmt: skip
        repeated, first = self._running.rows(laid.edges, others)
        rows = [row for row in laid.rows if not any(row is one for one in repeated)]
        rows += [[table_segment(table)] for table in laid.tables]
        rows.sort(key=lambda row: row[0].top)
        headers = [one for one in first if one[0].base < laid.page.height / 2]
        self._add_running(headers, number)
        left = min((one.x0 for row in rows for one in row), default=0.0)
        right = max([laid.page.width - left, *(one.x1 for row in rows for one in row)])
        arranged = arrange(rows, right, laid.page.rules, before=self._last)
        boxes = [part.box for part in arranged.parts if isinstance(part, RawTable)]
        doubts = [why for why, box in laid.doubts if not any(overlap(box, one) for one in boxes)]
        for doubt in doubts or arranged.doubts:
            self._warn(f"has a table that could not be rebuilt: it {doubt}", number)
        for part in arranged.parts:
            if isinstance(part, RawTable):
                self._body.add_table(part, number)
            else:
                self._body.add(to_lines(part, number))
            self._last = part if isinstance(part, RawTable) else None
        self._add_running([one for one in first if one not in headers], number)
        for word in laid.page.words:
            self._body.add(to_lines(Lines([segment([word])], word.x1), number))

    def _add_running(self, rows: list[Row], number: int) -> None:
        for row in rows:
            lines = to_lines(Lines([segment([w for one in row for w in one.words])], 0.0), number)
            lines[0].is_running = True
            self._body.add(lines)

    def _warn(self, problem: str, number: int) -> None:
        self._pages_by_warning.setdefault(problem, []).append(number)

    def _bookmarks(self) -> dict[int, list[tuple[str, int]]]:
        """Page number → its bookmarks as (title, level)."""
        pdfium = self._pdfium
        pages: dict[int, list[tuple[str, int]]] = {}
        visited: set[int] = set()

        def collect(parent: Any, level: int) -> None:
            entry = pdfium.FPDFBookmark_GetFirstChild(self._document, parent)
            while entry and len(visited) < _MAX_BOOKMARKS:
                address = ctypes.cast(entry, ctypes.c_void_p).value or 0
                if address in visited:
                    return
                visited.add(address)
                title = " ".join(_string(pdfium.FPDFBookmark_GetTitle, entry).split())
                target = pdfium.FPDFBookmark_GetDest(self._document, entry)
                if not target and (action := pdfium.FPDFBookmark_GetAction(entry)):
                    target = pdfium.FPDFAction_GetDest(self._document, action)
                index = pdfium.FPDFDest_GetDestPageIndex(self._document, target) if target else -1
                if title and index >= 0:
                    pages.setdefault(index + 1, []).append((title, min(level, 6)))
                if level < _MAX_OUTLINE_DEPTH:
                    collect(entry, level + 1)
                entry = pdfium.FPDFBookmark_GetNextSibling(self._document, entry)

        collect(None, 1)
        if len(visited) >= _MAX_BOOKMARKS:
            self._writer.warn(f"the outline has more than {_MAX_BOOKMARKS:,} entries")
        return pages

    def _complete(self, metadata: Metadata) -> None:
        title = self._meta(b"Title")
        author = self._meta(b"Author")
        if not metadata.get("title"):
            is_name = not _NO_TITLE.search(title) and self._is_of_text(title)
            metadata["title"] = title if is_name else ""
        if not metadata.get("owner"):
            metadata["owner"] = "" if _NO_TITLE.search(author) else author
        if changed := _date(self._meta(b"ModDate")):
            metadata["modified_at"] = changed
        metadata.setdefault("mime_type", "application/pdf")

    def _is_of_text(self, title: str) -> bool:
        """False for one word or a numbered name that the text doesn't have, as new files get."""
        if not re.fullmatch(r"\S+(?: \d+)?", title):
            return True
        text = " ".join(block.text for block in self._writer.blocks).lower()
        words = [word for word in WORD.findall(title.lower()) if len(word) > 3]
        return not text or not words or any(word[:4] in text for word in words)

    def _meta(self, key: bytes) -> str:
        return " ".join(_string(self._pdfium.FPDF_GetMetaText, self._document, key).split())


def _with_pages(problem: str, pages: list[int]) -> str:
    numbers = list(dict.fromkeys(pages))
    if len(numbers) == 1:
        return f"page {numbers[0]} {problem}"
    named = ", ".join(map(str, numbers[:_MAX_WARNED_PAGES]))
    more = len(numbers) - _MAX_WARNED_PAGES
    return f"pages {named}{f' and {more} more' if more > 0 else ''}: each {problem}"


def _string(read: Callable[..., int], *arguments: Any) -> str:
    """A UTF-16 string that PDFium writes into a buffer."""
    size = read(*arguments, None, 0)
    if not 2 < size < 1_000_000:
        return ""
    buffer = ctypes.create_string_buffer(size)
    read(*arguments, buffer, size)
    return clean(buffer.raw[: size - 2].decode("utf-16-le", "replace"))


def _date(text: str) -> datetime | None:
    """`D:20260228101500+01'00'` → UTC."""
    match = _DATE.match(text)
    if not match:
        return None
    year, *rest = (int(part) if part else None for part in match.groups()[:6])
    month, day, hour, minute, second = rest
    sign, hours, minutes = match.groups()[6:]
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    try:
        zone = timezone(-offset if sign == "-" else offset)
        moment = datetime(
            year or 1, month or 1, day or 1, hour or 0, minute or 0, second or 0, tzinfo=zone
        )
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
