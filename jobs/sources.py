"""Where a domain's documents come from, as the ingestion job sees it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from config.domain import Domain
from config.errors import ConfigError
from enrichment.chunk import DocumentCard
from jobs.ingest import Found, Load
from loaders.files import SUFFIXES, load_file


class FileSource:
    """Files of the domain's `sources.files`: every run reads them, a hash finds what changed."""

    name = "files"

    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def look(
        self, *, cursor: str, indexed: Mapping[str, DocumentCard], settled: Collection[str]
    ) -> Found:
        """Raises ConfigError for an entry that matches nothing: a typo must not empty a domain."""
        ids = {card.url.partition("#")[0]: card.id for card in indexed.values()}
        changed: dict[str, Load] = {}
        for path in self._paths():
            changed[ids.get(path.as_uri(), str(path))] = partial(load_file, path)
        return Found(changed=changed)

    def _paths(self) -> Iterator[Path]:
        seen: set[Path] = set()
        for pattern in self._domain.sources.files:
            for path in expand(pattern, folders=[self._domain.path.parent, Path.cwd()]):
                if path not in seen:
                    seen.add(path)
                    yield path


def expand(pattern: str, *, folders: Sequence[Path]) -> list[Path]:
    """The readable files that `pattern` (a file, folder or glob) names in the first of `folders`
    where it names any; absolute paths, sorted.

    Raises ConfigError when it names none."""
    for folder in folders:
        where = folder / Path(pattern).expanduser()
        if where.is_file():
            return [where.resolve()]
        if where.is_dir():
            found = [path for path in where.rglob("*") if path.suffix.lower() in SUFFIXES]
        else:
            found = [*Path(where.anchor).glob(str(where.relative_to(where.anchor)))]
        if files := sorted(path.resolve() for path in found if path.is_file()):
            return files
    looked = " and ".join(str(folder.resolve()) for folder in folders)
    raise ConfigError(
        f"sources.files: nothing readable at {pattern!r} (looked in {looked})",
        remedy=f"name a file, a folder or a glob of {', '.join(sorted(SUFFIXES))}",
    )
