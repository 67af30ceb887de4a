"""Google Drive: folders with all that is below them, and single documents."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from config.errors import ConfigError
from config.parsing.fields import invalid, not_blank
from config.sections import Section
from loaders.source import CheckReaders, DomainFile, IndexedDocument, SourceKind

if TYPE_CHECKING:
    from config.settings import Settings
    from loaders.google.drive.source import DriveSource
    from loaders.pictures.document_pictures import PictureCollector

_DRIVE_ID = "[A-Za-z0-9_-]+"
_LINK = re.compile(r"https?://(drive|docs)\.google\.com/")
_ONE_DOCUMENT = re.compile(r"/(document|spreadsheets|presentation|file)/d/")
_LIKELY_ID = re.compile(r"(?=.*[0-9_-])[A-Za-z0-9_-]{10,}")


def drive_id_of(text: str) -> str:
    """The id of a folder or document of Drive, given alone or in its address; empty for neither."""
    if re.fullmatch(_DRIVE_ID, text):
        return text
    address = re.search(rf"(?:/folders/|/d/|[?&]id=)({_DRIVE_ID})", text)
    return address[1] if address else ""


def _drive_id(value: str) -> str:
    not_blank(value)
    if not re.fullmatch(_DRIVE_ID, value):
        drive_id = drive_id_of(value)
        remedy = (
            f"write the id alone: {drive_id}"
            if drive_id
            else "in Drive: the part of its address after /folders/ or /d/"
        )
        raise invalid(f"{value!r} is no id of Google Drive; {remedy}")
    return value


DriveId = Annotated[
    str, AfterValidator(_drive_id), Field(json_schema_extra={"pattern": f"^{_DRIVE_ID}$"})
]


class GoogleDriveSource(Section):
    folders: list[DriveId] = Field([])
    """Folder ids, read with all their subfolders"""
    documents: list[DriveId] = Field([])
    """Single file ids"""


class GoogleDriveKind(SourceKind[GoogleDriveSource]):
    key = "google_drive"
    section = GoogleDriveSource
    empty = GoogleDriveSource()
    description = "Folders and documents of Google Drive, shared with the service account"
    example = "{folders: [1AbC…]}"
    tells_changes = "Drive's change feed, and versions"
    told_readers = "the permissions in Drive, asked again when they are five minutes old"
    asks_readers = True
    proposal = "a Google Drive folder (its link)"

    def open(
        self, domain: DomainFile, settings: Settings, pictures: PictureCollector | None
    ) -> DriveSource:
        # Google's client takes a second to import.
        from loaders.google.drive.source import DriveSource, open_drive
        from loaders.pictures.document_pictures import google_pictures

        fetch = google_pictures(settings.google_api_url or "") if pictures else None
        return DriveSource(self.of(domain), open_drive(settings), pictures, fetch)

    def readers(self, domain: DomainFile, document: IndexedDocument) -> None:
        return None

    def recognize(self, text: str, settings: Settings) -> dict[str, list[str]] | None:
        """A link, or an id that is no path on this machine."""
        is_link = _LINK.match(text) is not None
        if not is_link and (not _LIKELY_ID.fullmatch(text) or Path(text).expanduser().exists()):
            return None
        if not (drive_id := drive_id_of(text)):
            raise ConfigError(
                "no folder's id is in that", remedy="copy the folder's link from Drive"
            )
        return {"documents" if _ONE_DOCUMENT.search(text) else "folders": [drive_id]}

    def check_readers(self, settings: Settings) -> CheckReaders:
        from loaders.google.permissions import open_readers

        return open_readers(settings)


SOURCE = GoogleDriveKind()
