"""Where a domain's documents come from, as the ingestion job sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from config.domain import Domain
from enrichment.chunk import DocumentCard
from jobs.ingest_ports import Found

if TYPE_CHECKING:
    from loaders.google.drive.google_drive import GoogleDrive


class FileSource:
    """Files of the domain's `sources.files`: every run reads them, a hash finds what changed."""

    name = "files"

    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def look(
        self, *, cursor: str, indexed: Mapping[str, DocumentCard], settled: Collection[str]
    ) -> Found:
        """Raises ConfigError for an entry that matches nothing: a typo must not empty a domain."""
        from loaders.files.local_files import find_files, load_file

        ids = {card.url.partition("#")[0]: card.id for card in indexed.values()}
        folder = self._domain.path.absolute().parent
        paths, left_out = find_files(self._domain.sources.files, folder)
        return Found(
            changed={ids.get(path.as_uri(), str(path)): partial(load_file, path) for path in paths},
            skipped=tuple(left_out),
        )


class DriveSource:
    """Folders and documents of the domain's `sources.google_drive`."""

    name = "google_drive"

    def __init__(self, domain: Domain, drive: GoogleDrive) -> None:
        self._source = domain.sources.google_drive
        self._drive = drive

    def look(
        self, *, cursor: str, indexed: Mapping[str, DocumentCard], settled: Collection[str]
    ) -> Found:
        plan = self._drive.sync(
            self._source, cursor=cursor, known=indexed, reload=indexed.keys() - set(settled)
        )
        return Found(
            changed={file.id: partial(self._drive.load, file) for file in plan.changed},
            kept=frozenset(plan.unchanged),
            failed=plan.failed,
            skipped=plan.skipped,
            cursor=plan.cursor,
            complete=plan.complete,
        )
