"""The port of a source of documents: what a domain file says of it, and how a run reads it.

A new source is one module in `loaders/sources/`, whose `SOURCE` is a `SourceKind`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar, cast

from config.errors import LoadError
from loaders.document import Document, Permission

if TYPE_CHECKING:
    from config.settings import Settings
    from loaders.pictures.document_pictures import PictureCollector

Load = Callable[[], Document]
"""Loads one document. Raises a LoadError that names it."""
CheckReaders = Callable[[Collection[str]], Mapping[str, tuple[Permission, ...]]]
"""Document ids → the current permissions of each; empty for a deleted document.

The result omits documents that could not be checked. Raises PermissionsUnknown when none could."""
EVERYBODY = (Permission(kind="anyone"),)
Wrong = tuple[tuple[int | str, ...], str]
"""A place below the source's key, and what is wrong there."""


class IndexedDocument(Protocol):
    """A document of the last generation."""

    @property
    def id(self) -> str: ...

    @property
    def url(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def path(self) -> str: ...

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
    """Document id, or path of a file, → its `Load`. What didn't change is not indexed again."""
    published: Mapping[str, str] = field(default_factory=dict)
    """Path of a listed file → the id under which it is published."""
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


class AccessRules(Protocol):
    """The section `access` of a domain file."""

    @property
    def audience(self) -> Literal["channel", "asker"]: ...

    @property
    def files(self) -> Literal["nobody", "everyone"]: ...

    @property
    def groups(self) -> Mapping[str, Collection[str]]: ...

    @property
    def model_fields_set(self) -> Set[str]: ...


class DomainFile(Protocol):
    """What a source may know of the domain file that names it."""

    @property
    def path(self) -> Path: ...

    @property
    def access(self) -> AccessRules: ...

    @property
    def sources(self) -> Any: ...


Value = TypeVar("Value")


class SourceKind(ABC, Generic[Value]):
    """One key below `sources`: its schema, how it is opened and checked, and who may read.

    The JSON schema, `oncall config check`, `oncall init`, the reference and the readers' rules
    come from it."""

    key: ClassVar[str]
    section: ClassVar[Any]
    """Type of its value."""
    empty: ClassVar[Any]
    """The value that names no documents."""
    description: ClassVar[str]
    example: ClassVar[str]
    """A value, in YAML."""
    tells_changes: ClassVar[str]
    """By what a run knows which documents changed, for the reference."""
    told_readers: ClassVar[str]
    """What says who may read, for the reference."""
    stored_as: ClassVar[str] = ""
    """`Document.source` of its documents, where that is not the key."""
    asks_readers: ClassVar[bool] = False
    """Whether it is asked who may read, by `check_readers`."""
    proposal: ClassVar[str] = ""
    """What `oncall init` asks for; empty: it never proposes this source."""

    def of(self, domain: DomainFile) -> Value:
        """Its value in the domain file."""
        return cast("Value", getattr(domain.sources, self.key))

    @abstractmethod
    def open(
        self, domain: DomainFile, settings: Settings, pictures: PictureCollector | None
    ) -> DocumentSource:
        """Without a collector, pictures are not fetched. Raises ConfigError for a missing
        setting."""

    @abstractmethod
    def readers(
        self, domain: DomainFile, document: IndexedDocument
    ) -> tuple[Permission, ...] | None:
        """Who may read a published document, by the domain file as it is now; None when the source
        has to be asked."""

    def check_readers(self, settings: Settings) -> CheckReaders:
        """Asks the source who may read. Raises ConfigError for a missing setting."""
        raise NotImplementedError

    def recognize(self, text: str, settings: Settings) -> Any:
        """The value that an answer to the `proposal` names, as YAML has it: a list, or lists by
        key. None for an answer that means another source. Raises ConfigError with what lacks."""
        return None

    def contradictions(self, domain: DomainFile) -> Iterable[Wrong]:
        """What the domain file may not say: it isn't loaded."""
        return ()

    def problems(self, domain: DomainFile, settings: Settings | None) -> Iterable[Wrong]:
        """What a look at the settings and this machine finds wrong, for `oncall config check`."""
        return ()
