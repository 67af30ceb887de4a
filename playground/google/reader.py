"""The pages that citations open: a document with its tabs, a folder, a plain file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from playground.google.drive_api import DriveApi, Params
from playground.google.file_comments import FileComments
from playground.google.file_content import Contents
from playground.google.google_faults import ApiError
from playground.google.memory_drive import DOCUMENT, FOLDER, ROOT, StoredFile
from playground.google.reader_html import TabHtml, comment_html, headings

PAGE_FOLDER = Path(__file__).parents[1] / "page" / "assets"
HTML = "text/html; charset=utf-8"
PATH = re.compile(r"/(?P<kind>\w+)/(?:u/\d+/)?(?:d|folders)/(?P<id>[^/]+).*")

PageAnswer = tuple[int, tuple[str, bytes]]


@dataclass
class Reader:
    api: DriveApi
    contents: Contents
    comments: FileComments

    @cached_property
    def _template(self) -> Template:
        """One self-contained page: styles and script stand in it."""
        page = (PAGE_FOLDER / "reader.html").read_text(encoding="utf-8")
        for name in ("reader.css", "reader.js"):
            asset = (PAGE_FOLDER / name).read_text(encoding="utf-8").replace("$", "$$")
            page = page.replace(f"/* {name} */", asset)
        return Template(page)

    def page(self, path: str, params: Params) -> PageAnswer:
        """Status, media type and content of a reader page."""
        match = PATH.fullmatch(path)
        file_id = match["id"] if match else ROOT
        try:
            file = self.api.find(file_id)
            if file.mime_type == FOLDER:
                return self._folder(file)
            if file.mime_type == DOCUMENT:
                return self._document(file, params)
            return 200, (file.mime_type, file.as_bytes())
        except ApiError as error:
            message = f"<h1>Nothing to see here</h1><p>{escape(error.message)}</p>"
            return error.status, self._fill("Not found", message)

    def _folder(self, folder: StoredFile) -> PageAnswer:
        inside = [each for each in self.api.drive.all_visible() if folder.id in each.parents]
        items = "".join(
            f'<li><a href="{escape(self.api.view_link(each))}">{escape(each.name)}</a></li>'
            for each in sorted(inside, key=lambda each: each.name)
            if not each.trashed
        )
        main = f"<h1>{escape(folder.name)}</h1><ul class='files'>{items}</ul>"
        return 200, self._fill(folder.name, main)

    def _document(self, file: StoredFile, params: Params) -> PageAnswer:
        document = self.contents.document(file.id, {"includeTabsContent": "true"})
        if "tabs" not in document:
            document = {**document, "tabs": [{"tabProperties": {}, "documentTab": document}]}
        tabs: list[Mapping[str, Any]] = document["tabs"]
        ids = [tab["tabProperties"].get("tabId", "t.0") for tab in tabs]
        shown = params.get("tab", ids[0])
        shown = shown if shown in ids else ids[0]
        comments = self.comments.of(file.id)
        main = "".join(
            f'<section data-tab="{escape(tab_id)}"{"" if tab_id == shown else " hidden"}>'
            f"{TabHtml(tab, comments).body()}</section>"
            for tab_id, tab in zip(ids, tabs, strict=True)
        )
        elsewhere = [each for each in comments if not _stands_in(each, tabs)]
        main = "".join(map(comment_html, elsewhere)) + main
        outline = "".join(
            _outline(tab_id, tab, len(tabs) > 1, tab_id == shown)
            for tab_id, tab in zip(ids, tabs, strict=True)
        )
        return 200, self._fill(file.name, main, outline=outline, about=_about(file))

    def _fill(
        self, title: str, main: str, *, outline: str = "", about: str = ""
    ) -> tuple[str, bytes]:
        page = self._template.substitute(
            title=escape(title),
            main=main,
            outline=outline,
            about=about,
            layout="with-outline" if outline else "plain",
        )
        return HTML, page.encode()


def _stands_in(comment: Mapping[str, Any], tabs: list[Mapping[str, Any]]) -> bool:
    """Whether it quotes one of the headings, beside which it is shown."""
    quoted = (comment.get("quotedFileContent") or {}).get("value")
    return any(text == quoted for tab in tabs for _, _, text in headings(tab))


def _outline(tab_id: str, tab: Mapping[str, Any], has_siblings: bool, shown: bool) -> str:
    lines = "".join(
        f'<a class="level-{level}" href="?tab={escape(tab_id)}#heading={escape(heading_id)}">'
        f"{escape(text)}</a>"
        for level, heading_id, text in headings(tab)
    )
    title = escape(tab["tabProperties"].get("title", ""))
    current = ' aria-current="page"' if shown else ""
    name = f'<a class="tab"{current} href="?tab={escape(tab_id)}">{title}</a>'
    hidden = "" if shown else " hidden"
    lines = f'<div class="lines" data-tab="{escape(tab_id)}"{hidden}>{lines}</div>'
    return (name if has_siblings else "") + lines


def _about(file: StoredFile) -> str:
    status = file.properties.get("status", "")
    pill = f'<span class="status {escape(status)}">{escape(status)}</span>' if status else ""
    owner = f"<span>{escape(file.owner)}</span>" if file.owner else ""
    edited = f"<span>Last edit {file.modified:%-d %B %Y}</span>"
    return pill + owner + edited
