"""Where a domain's documents come from, as the ingestion job sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from config.domain import Domain
from enrichment.chunk import DocumentCard
from jobs.ingest.ports import Load, SourceChanges
from loaders.document import Document

if TYPE_CHECKING:
    from loaders.google.drive.source import DriveFile, GoogleDrive
    from loaders.pictures.document_pictures import Fetch, PictureCollector


class FileSource:
    """Files of the domain's `sources.files`: every run reads them, a hash finds what changed."""

    name = "files"

    def __init__(self, domain: Domain, look: PictureCollector | None = None) -> None:
        """`look`: at pictures; None: nobody does."""
        self._domain = domain
        self._look = look

    def look(
        self, *, cursor: str, indexed: Mapping[str, DocumentCard], settled: Collection[str]
    ) -> SourceChanges:
        """Raises ConfigError for an entry that matches nothing: a typo must not empty a domain."""
        from loaders.files.local import find_files

        ids = {card.url.partition("#")[0]: card.id for card in indexed.values()}
        folder = self._domain.path.absolute().parent
        paths, left_out = find_files(self._domain.sources.files, folder)
        return SourceChanges(
            changed={
                ids.get(path.as_uri(), str(path)): self._with_pictures(path, folder)
                for path in paths
            },
            skipped=tuple(left_out),
        )

    def _with_pictures(self, path: Path, folder: Path) -> Load:
        from loaders.files.local import load_file
        from loaders.files.patterns import root_of
        from loaders.pictures.document_pictures import beside

        look = self._look
        if look is None:
            return partial(load_file, path)
        root = root_of(path, self._domain.sources.files, folder)
        return lambda: look(load_file(path), beside(path, root))


class DriveSource:
    """Folders and documents of the domain's `sources.google_drive`."""

    name = "google_drive"

    def __init__(
        self,
        domain: Domain,
        drive: GoogleDrive,
        look: PictureCollector | None = None,
        fetch: Fetch | None = None,
    ) -> None:
        """`look`: at pictures, which `fetch` gets from Google; None: nobody does."""
        self._source = domain.sources.google_drive
        self._drive = drive
        self._look, self._fetch = look, fetch

    def look(
        self, *, cursor: str, indexed: Mapping[str, DocumentCard], settled: Collection[str]
    ) -> SourceChanges:
        plan = self._drive.sync(
            self._source, cursor=cursor, known=indexed, reload=indexed.keys() - set(settled)
        )
        return SourceChanges(
            changed={file.id: partial(self._load, file) for file in plan.changed},
            kept=frozenset(plan.unchanged),
            failed=plan.failed,
            skipped=plan.skipped,
            cursor=plan.cursor,
            complete=plan.complete,
        )

    def _load(self, file: DriveFile) -> Document:
        document = self._drive.load(file)
        if self._look is None or self._fetch is None:
            return document
        return self._look(document, self._fetch)
