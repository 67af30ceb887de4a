"""Local files as a source of documents. The suffix selects the loader."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Unpack

from config.errors import ConfigError, LoadError
from loaders.assemble import Metadata, own_address
from loaders.docs.response import parse_document
from loaders.document import MAX_BYTES, Document, check_size
from loaders.files.decoding import check_words, decode, is_html, page_of
from loaders.files.delimited import parse_csv
from loaders.files.html import parse_html
from loaders.files.markdown import parse_markdown
from loaders.files.names import (
    MAX_NAME_CHARS,
    FilePlace,
    file_name,
    name_files,
    places_of,
    web_address,
)
from loaders.files.patterns import Expanded, expand_paths
from loaders.files.text import parse_text
from loaders.files.word import parse_docx
from loaders.pdf.document import parse_pdf
from loaders.pictures.document_pictures import PictureCollector, local_pictures
from loaders.sheets.workbook import parse_xlsx
from loaders.slides.presentation import parse_pptx
from loaders.source import DomainFile, IndexedDocument, Load, SourceChanges
from loaders.time_limit import outside_time_limit
from loaders.untrusted import ReadRefused, confined, read_file

Parse = Callable[..., Document]


class FileSource:
    """Loads the files of `sources.files`.

    Every run reads all files. Content hashes show which ones changed."""

    name = "files"

    def __init__(
        self,
        domain: DomainFile,
        pictures: PictureCollector | None = None,
        allowed: Sequence[Path] | None = None,
    ) -> None:
        """`allowed`: folders that contain all of its files; None for no limit."""
        self._allowed = allowed
        self._entries = domain.sources.files
        self._folder = domain.path.absolute().parent
        self._pictures = pictures

    def changes(
        self, *, cursor: str, indexed: Mapping[str, IndexedDocument], settled: Collection[str]
    ) -> SourceChanges:
        """An entry without matches is lost: a typo must not empty a domain. Raises ConfigError for
        one while nothing is published."""
        skipped, lost = dict[str, None](), dict[str, LoadError]()
        places: list[FilePlace] = []
        for entry in self._entries:
            try:
                expanded = expand_paths([entry.path], self._folder, _PARSERS, self._allowed)
                places += places_of(expanded, entry.base_url)
            except ConfigError as error:
                if not indexed:
                    raise
                refused = LoadError(entry.path, error.problem, remedy=error.remedy, refused=True)
                lost[entry.path] = refused
                continue
            skipped |= dict.fromkeys(expanded.notes)
            for folder, reason in expanded.unread.items():
                lost[folder] = LoadError(folder, reason, refused=True)
        named = name_files(places)
        return SourceChanges(
            changed={name: self._load(name, place) for name, place in named.items()},
            published=_published(named, indexed),
            failed=tuple(lost.values()),
            lost=lost,
            skipped=tuple(skipped),
            claims_ids=True,
        )

    def _load(self, name: str, place: FilePlace) -> Load:
        def load() -> Document:
            document = _load(name, place)
            if not pictures:
                return document
            return pictures(document, local_pictures(place.path, place.root))

        pictures = self._pictures
        return load


def _published(
    named: Mapping[str, FilePlace], indexed: Mapping[str, IndexedDocument]
) -> dict[str, str]:
    """Name of a file → the id under which it is published."""
    # Cards of older releases have no path; their URL is the file's.
    ids = {one.path or one.url.partition("#")[0]: one.id for one in indexed.values()}
    published = {name: ids.get(name) or ids.get(at.path.as_uri()) for name, at in named.items()}
    return {name: document for name, document in published.items() if document}


def load_file(path: Path, *, base_url: str = "") -> Document:
    """The document's URL is `base_url` + file name, or `file:` + file name.

    Raises LoadError, which names the file, when it can't be read."""
    folder = path.resolve().parent
    url = web_address(folder / path.name, folder, base_url)
    return _load(file_name(Path(path.name)), FilePlace(path=path, root=folder, url=url))


def _load(name: str, place: FilePlace) -> Document:
    """`name`: the document's id if the file states none."""
    data, changed = _read(place.path, place.root)
    document = load_bytes(
        data,
        suffix=place.path.suffix,
        url=place.url or own_address(name),
        id=name,
        modified_at=changed,
    )
    if len(document.id) > MAX_NAME_CHARS or not document.id.isprintable():
        problem = f"the id that it states is no line of at most {MAX_NAME_CHARS} characters"
        document = replace(document, id=name, warnings=(*document.warnings, problem))
    return replace(document, path=name)


@outside_time_limit
def _read(path: Path, root: Path) -> tuple[bytes, datetime]:
    """A file's content and modification time. No time limit interrupts it while the file is open.

    `root`: checked again, because a file may have become a link since it was listed.

    Raises LoadError."""
    try:
        data, changed = read_file(confined(path, [root]), max_bytes=MAX_BYTES)
    except ReadRefused as refused:
        cause = refused.__cause__
        reason = cause.strerror if isinstance(cause, OSError) else f"it {refused.reason}"
        is_refused = isinstance(cause, OSError)
        raise LoadError(str(path), reason or "an error", refused=is_refused) from None
    return data, datetime.fromtimestamp(changed, UTC)


def load_bytes(
    data: bytes, *, suffix: str, url: str = "", **metadata: Unpack[Metadata]
) -> Document:
    """Parses the content of a file with this suffix. Raises LoadError.

    Downloads and exports from Drive use it too."""
    name = metadata.get("id") or url or "file"
    parse = _PARSERS.get(suffix.lower())
    if parse is None:
        raise LoadError(
            name,
            f"there is no loader for `{suffix}` files",
            remedy=_SAVE_AS.get(suffix.lower()) or "supported: " + ", ".join(sorted(_PARSERS)),
        )
    check_size(name, len(data))
    try:
        return parse(data, url=url, **metadata)
    except RecursionError as error:
        raise LoadError(name, "its content is nested too deep") from error


def _text(parse: Callable[..., Document], *, markup: bool = False) -> Parse:
    def from_bytes(data: bytes, *, url: str, **metadata: Unpack[Metadata]) -> Document:
        name = metadata.get("id") or url or "file"
        is_page = markup or (parse is not _google_json and is_html(data))
        text, warning = decode(page_of(data) if markup else data, name, markup=is_page)
        document = (parse_html if is_page else parse)(text, url=url, **metadata)
        check_words(document.blocks, text, name)
        empty = "" if document.blocks or not text.strip() else "no text is left of the file"
        warnings = (*document.warnings, *filter(None, (warning, empty)))
        return replace(document, warnings=warnings)

    return from_bytes


def _google_json(text: str, *, url: str, **metadata: Unpack[Metadata]) -> Document:
    """Parses a saved `documents.get` response. Its `documentId` is a claim, as front matter's `id`
    is: the file has its own source and address, and so its own readers."""
    name = metadata.get("id") or "JSON file"
    try:
        response = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise LoadError(name, f"not JSON: {error.msg}", place=place) from error
    except (RecursionError, ValueError) as error:
        raise LoadError(name, f"not JSON that can be read: {error}") from error
    if not isinstance(response, dict) or not {"body", "tabs"} & response.keys():
        raise LoadError(
            name,
            "not a Google Docs document: it has neither `tabs` nor a `body`",
            remedy="save the response of documents.get",
        )
    if isinstance(response.get("documentId"), str) and response["documentId"]:
        metadata["id"] = response["documentId"]
    metadata.setdefault("source", "file")
    return parse_document(response, url=url, **metadata)


def find_files(
    patterns: Iterable[str], base: Path, allowed: Sequence[Path] | None = None
) -> Expanded:
    """Files with a suffix in `_PARSERS`. Raises ConfigError as `expand_paths` does."""
    return expand_paths(patterns, base, _PARSERS, allowed)


_SAVE_AS = dict.fromkeys((".xls", ".xlsb", ".ods"), "save it as .xlsx") | dict.fromkeys(
    (".ppt", ".odp"), "save it as .pptx"
)
"""Suffix of what a program reads that also writes a supported format → remedy."""
_PARSERS: dict[str, Parse] = {
    ".csv": _text(parse_csv),
    ".docm": parse_docx,
    ".docx": parse_docx,
    ".dotm": parse_docx,
    ".dotx": parse_docx,
    ".htm": _text(parse_html, markup=True),
    ".html": _text(parse_html, markup=True),
    ".json": _text(_google_json),
    ".markdown": _text(parse_markdown),
    ".md": _text(parse_markdown),
    ".mdx": _text(parse_markdown),
    ".mht": _text(parse_html, markup=True),
    ".mhtml": _text(parse_html, markup=True),
    ".pdf": parse_pdf,
    ".potm": parse_pptx,
    ".potx": parse_pptx,
    ".ppsm": parse_pptx,
    ".ppsx": parse_pptx,
    ".pptm": parse_pptx,
    ".pptx": parse_pptx,
    ".tsv": _text(parse_csv),
    ".txt": _text(parse_text),
    ".xlsm": parse_xlsx,
    ".xhtml": _text(parse_html, markup=True),
    ".xlsx": parse_xlsx,
    ".xltm": parse_xlsx,
    ".xltx": parse_xlsx,
}
