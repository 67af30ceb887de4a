"""The port through which the ingestion job reads a source of documents.

A new source needs three changes: `loaders/NAME.py` with a `DocumentSource`, a line in
`loaders/registry.py`, and its key below `sources` in `config/domain.py`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from config.errors import LoadError
from loaders.document import Document, Permission

Load = Callable[[], Document]
"""Loads one document. Raises a LoadError that names it."""


class IndexedDocument(Protocol):
    """A document of the last generation."""

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
    """A source's current content, compared with the index."""

    changed: Mapping[str, Load]
    """Document id or path → its `Load`. Documents with unchanged content are not indexed again."""
    unchanged: frozenset[str] = frozenset()
    """Ids whose indexed version is current."""
    failed: tuple[LoadError, ...] = ()
    """Folders and documents that can't be read."""
    moved_away: frozenset[str] = frozenset()
    """Ids of documents that somebody took away, as the source shows: it can be read, though
    nothing may be left in it."""
    lost: Mapping[str, LoadError] = field(default_factory=dict)
    """Places of the domain file, such as a folder, that can't be read, though others can; the
    errors are in `failed`, too. Documents that are not listed may be of them."""
    skipped: tuple[str, ...] = ()
    """Files that are not read, one line each."""
    cursor: str = ""
    """The cursor for the next run, stored with the generation."""
    claims_ids: bool = False
    """Whether documents name their ids themselves, as files do; a source may issue them instead."""
    complete: bool = True
    """False when a part could not be listed. Then no document counts as deleted."""


class DocumentSource(Protocol):
    @property
    def name(self) -> str:
        """The source's key below `sources`. The cursor is stored under it."""
        ...

    def changes(
        self, *, cursor: str, indexed: Mapping[str, IndexedDocument], settled: Collection[str]
    ) -> SourceChanges:
        """Returns what to load.

        `cursor`: the last run's, or empty. `indexed`: the last generation's documents, by id,
        without those of the domain's other sources. Those that are not in `settled` are loaded
        again even if unchanged."""
        ...
