"""Sources of documents by their keys below `sources` in a domain file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import loaders.sources
from config.errors import ConfigError
from loaders.document import Permission
from loaders.source import (
    DocumentSource,
    DomainFile,
    IndexedDocument,
    SourceChanges,
    SourceKind,
)

if TYPE_CHECKING:
    from config.settings import Settings
    from loaders.pictures.document_pictures import PictureCollector


def _all_kinds() -> dict[str, SourceKind[Any]]:
    package = loaders.sources
    modules = (
        import_module(f"{package.__name__}.{one.name}") for one in iter_modules(package.__path__)
    )
    return {module.SOURCE.key: module.SOURCE for module in modules}


KINDS = _all_kinds()
"""Key → what it means. A run reads the sources in this order."""
_BY_DOCUMENT = {kind.stored_as or key: kind for key, kind in KINDS.items()}
_BY_DOCUMENT[""] = KINDS["google_drive"]  # documents of older releases have no source


@dataclass(frozen=True)
class UnopenedSource:
    """A source that a setting or a key keeps closed: reading it raises the reason."""

    name: str
    reason: ConfigError

    def changes(
        self, *, cursor: str, indexed: Mapping[str, IndexedDocument], settled: Collection[str]
    ) -> SourceChanges:
        raise self.reason


def used_kinds(domain: DomainFile) -> list[SourceKind[Any]]:
    """Those under whose keys the domain file names documents."""
    return [kind for kind in KINDS.values() if kind.of(domain) != kind.empty]


def open_sources(
    domain: DomainFile, settings: Settings, pictures: PictureCollector | None = None
) -> list[DocumentSource]:
    """Opens the sources that the domain configures."""
    opened: list[DocumentSource] = []
    for kind in used_kinds(domain):
        try:
            opened.append(kind.open(domain, settings, pictures))
        except ConfigError as error:
            opened.append(UnopenedSource(kind.key, error))
    return opened


def kind_of(source: str) -> SourceKind[Any] | None:
    """By `Document.source`; None for a source that this release doesn't have."""
    return _BY_DOCUMENT.get(source)


def stated_readers(domain: DomainFile, document: IndexedDocument) -> tuple[Permission, ...] | None:
    """Who may read a published document, by the domain file; None when its source has to be
    asked."""
    kind = kind_of(document.source)
    return kind.readers(domain, document) if kind else ()
