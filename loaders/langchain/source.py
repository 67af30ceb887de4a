"""Classes of LangChain (`BaseLoader`) as a source of documents: docs/langchain-loaders.md."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from config.errors import LoadError
from loaders.document import Document, Permission
from loaders.langchain.pages import Shelf
from loaders.langchain.process import Limits, LoaderOrder, run_loader
from loaders.source import IndexedDocument, SourceChanges


@dataclass(frozen=True, kw_only=True)
class LoaderRun:
    """One entry of a domain file."""

    order: LoaderOrder | LoadError
    """Or why it can't run."""
    name: str
    digest: str
    """Of its name and arguments: its documents' versions begin with it."""
    permissions: tuple[Permission, ...]


class LangChainSource:
    """Every run reads all documents. Their versions show which ones changed.

    A document that is not listed any more is deleted; none is after a class failed, listed nothing
    or was refused something."""

    name = "loader"

    def __init__(self, runs: Sequence[LoaderRun], limits: Limits) -> None:
        self._runs = runs
        self._limits = limits

    def changes(
        self, *, cursor: str, indexed: Mapping[str, IndexedDocument], settled: Collection[str]
    ) -> SourceChanges:
        changed: dict[str, partial[Document]] = {}
        unchanged, notes, lost = set[str](), list[str](), dict[str, LoadError]()
        is_complete = True
        for place, run in enumerate(self._runs, start=1):
            try:
                if isinstance(run.order, LoadError):
                    raise run.order
                shelf, refusals = run_loader(run.order, self._limits)
            except LoadError as error:
                lost[f"{run.name} {place}" if len(self._runs) > 1 else run.name] = error
                continue
            # Documents of pages that can't be read, or that it was refused, may be there all the
            # same.
            is_complete = is_complete and not (refusals or shelf.notes)
            for name, pages in shelf.documents().items():
                document_id = f"{run.name}:{name}"
                if document_id in changed or document_id in unchanged:
                    shelf.leave_out(f"{name!r} is listed by an entry above")
                    continue
                version = f"{run.digest} {shelf.version(pages)}"
                before = indexed.get(document_id)
                if (
                    before is not None
                    and document_id in settled
                    and (before.version, before.permissions) == (version, run.permissions)
                ):
                    unchanged.add(document_id)
                else:
                    load = partial(shelf.load, document_id, version, pages, run.permissions)
                    changed[document_id] = load
            notes += [f"{run.name}: {one}" for one in (*refusals, *_left_out(shelf))]
        return SourceChanges(
            changed=changed,
            unchanged=frozenset(unchanged),
            failed=tuple(lost.values()),
            lost=lost,
            skipped=tuple(notes),
            complete=is_complete,
        )


def _left_out(shelf: Shelf) -> Iterator[str]:
    for why, count in shelf.notes.items():
        yield f"{'1 page' if count == 1 else f'{count:,} pages'} left out: {why}"
