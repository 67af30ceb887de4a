"""The port of a source of documents, as the ingestion job calls it.

A new source takes three files: `loaders/NAME.py` with a `DocumentSource`, a line in
`loaders/registry.py`, and its key below `sources` in `config/domain.py`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from config.errors import LoadError
from loaders.document import Document, Permission

Load = Callable[[], Document]
"""Loads one document. Raises the LoadError that names it."""


class IndexedDocument(Protocol):
    """What the last generation stores of a document, of whichever source of the domain."""

    @property
    def id(self) -> str: ...

    @property
    def url(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def modified_at(self) -> datetime | None: ...

    @property
    def permissions(self) -> tuple[Permission, ...]: ...


@dataclass(frozen=True, kw_only=True)
class SourceChanges:
    """What a source holds now, compared with the index."""

    changed: Mapping[str, Load]
    """Document id or path → its `Load`. What turns out to be the same is not indexed again."""
    unchanged: frozenset[str] = frozenset()
    """Ids whose indexed version is current."""
    failed: tuple[LoadError, ...] = ()
    """Folders and documents that can't be read."""
    skipped: tuple[str, ...] = ()
    """Files that no loader reads, a line each."""
    cursor: str = ""
    """Stored with the generation and passed to the next run."""
    complete: bool = True
    """False when a part could not be listed: then no document counts as deleted."""


class DocumentSource(Protocol):
    @property
    def name(self) -> str:
        """Its key below `sources`; the cursor is stored under it."""
        ...

    def changes(
        self, *, cursor: str, indexed: Mapping[str, IndexedDocument], settled: Collection[str]
    ) -> SourceChanges:
        """What there is to load.

        `cursor`: of the last run, or empty. `indexed`: what the last generation holds, by id; those
        that are not in `settled` are loaded again even if they did not change."""
        ...
