"""Document sources by their keys below `sources` in a domain file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from config.domain import Domain
from config.errors import ConfigError
from config.settings import Settings
from loaders.source import DocumentSource, IndexedDocument, SourceChanges

if TYPE_CHECKING:
    from loaders.pictures.document_pictures import PictureCollector

OpenSource = Callable[[Domain, Settings, "PictureCollector | None"], DocumentSource]
"""Without a collector, pictures are not fetched. Raises ConfigError for a missing setting."""


@dataclass(frozen=True)
class UnopenedSource:
    """A source that a setting or a key keeps closed: reading it raises the reason."""

    name: str
    reason: ConfigError

    def changes(
        self, *, cursor: str, indexed: Mapping[str, IndexedDocument], settled: Collection[str]
    ) -> SourceChanges:
        raise self.reason


def open_sources(
    domain: Domain, settings: Settings, pictures: PictureCollector | None = None
) -> list[DocumentSource]:
    """Opens the sources that the domain configures."""
    configured = domain.sources.used_keys()
    opened: list[DocumentSource] = []
    for key, open_ in SOURCES.items():
        if key in configured:
            try:
                opened.append(open_(domain, settings, pictures))
            except ConfigError as error:
                opened.append(UnopenedSource(key, error))
    return opened


# Google's client takes a second to import, so each source is imported only when a domain uses it.
def _google_drive(
    domain: Domain, settings: Settings, pictures: PictureCollector | None
) -> DocumentSource:
    from loaders.google.drive.source import DriveSource, open_drive
    from loaders.pictures.document_pictures import google_pictures

    fetch = google_pictures(settings.google_api_url or "") if pictures else None
    return DriveSource(domain.sources.google_drive, open_drive(settings), pictures, fetch)


def _files(domain: Domain, settings: Settings, pictures: PictureCollector | None) -> DocumentSource:
    from loaders.files.local import FileSource

    return FileSource(domain, pictures, settings.document_folders())


SOURCES: dict[str, OpenSource] = {"google_drive": _google_drive, "files": _files}
"""A run reads the sources in this order."""
