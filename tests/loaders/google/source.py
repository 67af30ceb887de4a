"""A Drive on the local Google, and the index that it feeds, for tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from config.errors import LoadError
from config.settings import Settings
from loaders.document import Document
from loaders.google.drive.source import GoogleDrive, open_drive
from loaders.google.drive.sync import SyncPlan
from loaders.sources.google_drive import GoogleDriveSource
from playground.google.memory_drive import FOLDER
from playground.google_stand_in import GoogleStandIn, StoredFile

BEFORE = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
LATER = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)
TOP = GoogleDriveSource(folders=["top"])


@dataclass
class Clock:
    """Time that passes only while somebody sleeps."""

    now: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@dataclass
class Index:
    """What a job would keep: loaded documents, and the cursor once they are published."""

    drive: GoogleDrive
    source: GoogleDriveSource = TOP
    documents: dict[str, Document] = field(default_factory=dict)
    cursor: str = ""
    loads: list[str] = field(default_factory=list)

    def run(self, *, publish: bool = True, reload: Sequence[str] = ()) -> SyncPlan:
        plan = self.drive.sync(
            self.source, cursor=self.cursor, indexed=self.documents, reload=reload
        )
        failed: list[LoadError] = []
        for file in plan.changed:
            try:
                loaded = self.drive.load(file)
            except LoadError as error:
                failed.append(error)
            else:
                self.documents[file.id] = loaded
                self.loads.append(file.id)
        for document_id in plan.removed:
            del self.documents[document_id]
        if publish and plan.complete and not failed:
            self.cursor = plan.cursor
        return plan


def folder(file_id: str, *parents: str, **more: Any) -> StoredFile:
    name = file_id.capitalize()
    return StoredFile(id=file_id, name=name, mime_type=FOLDER, parents=parents, **more)


def document(file_id: str, *parents: str, **more: Any) -> StoredFile:
    text = f"# {file_id.upper()}\n\n## Part\n\nThe words of {file_id}.\n"
    return StoredFile(
        id=file_id,
        name=f"Document {file_id}",
        parents=parents or ("top",),
        **{"content": text, "modified": BEFORE, **more},
    )


@contextmanager
def opened(google: GoogleStandIn, folder: Path, **options: Any) -> Iterator[GoogleDrive]:
    """The real client; by default its pauses take no time."""
    clock = Clock()
    options = {"clock": clock, "sleep": clock.sleep, **options}
    settings = Settings(
        google_credentials=google.write_credentials(folder / "key.json"),
        google_api_url=google.url,
        google_delegate=options.pop("delegate", None),
        google_reads_per_minute=options.pop("reads_per_minute", 300),
    )
    with open_drive(settings, **options) as drive:
        yield drive
