"""What is inside the files: documents.get, exports and downloads."""

from __future__ import annotations

import csv
import io
import threading
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from playground.google.doc_pictures import DocPictures
from playground.google.docs_writer.demo_source import DemoSource, read_source
from playground.google.docs_writer.docs_json import VIEWS, render_document
from playground.google.drive_api import GOOGLE, DriveApi, Params
from playground.google.google_faults import ApiError
from playground.google.memory_drive import DOCUMENT, SHEET, SLIDES, StoredFile

EXPORT_LIMIT = 10 * 1024 * 1024
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
EXPORTS: Mapping[str, tuple[str, ...]] = {
    DOCUMENT: ("text/html", "text/plain", "text/markdown"),
    SHEET: (XLSX, "text/csv"),
    SLIDES: (PPTX, "application/pdf"),
}


@dataclass
class Contents:
    """Renders documents, and keeps the last rendering of each."""

    api: DriveApi
    pictures: DocPictures
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _rendered: dict[tuple[str, str, bool], tuple[int, dict[str, Any]]] = field(default_factory=dict)

    def document(self, file_id: str, params: Params) -> dict[str, Any]:
        """`documents.get`. Raises ApiError: 404 unseen, 400 not a Google Doc or a bad view."""
        view = params.get("suggestionsViewMode", "DEFAULT_FOR_CURRENT_ACCESS")
        view = "SUGGESTIONS_INLINE" if view == "DEFAULT_FOR_CURRENT_ACCESS" else view
        if view not in VIEWS:
            raise ApiError(400, "badRequest", f"Invalid value at 'suggestions_view_mode': {view}")
        with_tabs = params.get("includeTabsContent", "false").lower() == "true"
        file = self.api.drive.visible(file_id)
        if file is None:
            raise ApiError(404, "notFound", "Requested entity was not found.")
        if file.mime_type != DOCUMENT:
            message = "This operation is not supported for this document"
            raise ApiError(400, "failedPrecondition", message)
        if isinstance(file.content, Mapping):
            return dict(self.pictures.addressed(file.content))
        key = (file_id, view, with_tabs)
        with self._lock:
            version, document = self._rendered.get(key, (0, {}))
        if version != file.version:
            document = self._render(file, view, with_tabs)
            with self._lock:
                self._rendered[key] = (file.version, document)
        return dict(self.pictures.addressed(document))

    def export(self, file_id: str, params: Params) -> tuple[str, bytes]:
        """Media type and bytes of `files.export`, at most 10 MB."""
        file, wanted = self.api.find(file_id), params.get("mimeType", "")
        if file.mime_type not in EXPORTS:
            raise ApiError(403, "fileNotExportable")
        if wanted not in EXPORTS[file.mime_type]:
            raise ApiError(400, "badRequest", "The requested conversion is not supported.")
        content = _exported(file, wanted)
        if len(content) > EXPORT_LIMIT:
            raise ApiError(403, "exportSizeLimitExceeded")
        return wanted, content

    def media(self, file_id: str, params: Params) -> tuple[str, bytes]:
        """Media type and bytes of `files.get` with `alt=media`."""
        file = self.api.find(file_id, params)
        if file.mime_type.startswith(GOOGLE):
            raise ApiError(403, "fileNotDownloadable")
        return file.mime_type, file.as_bytes()

    def _render(self, file: StoredFile, view: str, with_tabs: bool) -> dict[str, Any]:
        return render_document(
            file.id,
            file.name,
            file.as_bytes().decode(),
            base_url=self.api.base_url,
            view=view,
            with_tabs=with_tabs,
        )


def _exported(file: StoredFile, media_type: str) -> bytes:
    if file.mime_type == SHEET and not isinstance(file.content, bytes):
        sheets = file.content if isinstance(file.content, Mapping) else {file.name: file.content}
        return _workbook(sheets) if media_type == XLSX else next(iter(sheets.values())).encode()
    if file.mime_type != DOCUMENT or media_type == "text/markdown":
        return file.as_bytes()
    source: DemoSource = read_source(file.as_bytes().decode())
    if media_type == "text/plain":
        return "\n".join(tab.body.get_text() for tab in source.tabs).encode()
    bodies = "".join(tab.body.decode_contents() for tab in source.tabs)
    return f"<html><head><meta charset='utf-8'></head><body>{bodies}</body></html>".encode()


_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def _workbook(sheets: Mapping[str, str]) -> bytes:
    """Title → CSV of each sheet, as a workbook of texts. Not compressed, so that a big one is
    over the limit."""
    listed = "".join(
        f'<sheet name="{escape(title)}" sheetId="{i + 1}" r:id="r{i}"/>'
        for i, title in enumerate(sheets)
    )
    files = {
        "_rels/.rels": _relations({"r": "officeDocument xl/workbook.xml"}),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_KINDS}">'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations(
            {f"r{i}": f"worksheet worksheets/sheet{i}.xml" for i in range(len(sheets))}
        ),
    }
    for i, text in enumerate(sheets.values()):
        rows = "".join(
            "<row>" + "".join(f'<c t="str"><v>{escape(cell)}</v></c>' for cell in row) + "</row>"
            for row in csv.reader(io.StringIO(text, newline=""))
        )
        files[f"xl/worksheets/sheet{i}.xml"] = (
            f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
        )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return packed.getvalue()


def _relations(targets: Mapping[str, str]) -> str:
    """Id → kind and target."""
    links = "".join(
        f'<Relationship Id="{key}" Type="{_KINDS}/{kind}" Target="{target}"/>'
        for key, (kind, target) in ((key, one.split(" ")) for key, one in targets.items())
    )
    return f'<Relationships xmlns="{_PACKAGE}">{links}</Relationships>'
