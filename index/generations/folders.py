"""Generation folders on disk: paths, building, and repair of damaged ones."""

from __future__ import annotations

import fcntl
import logging
import shutil
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from config.errors import GenerationReplaced, IndexUnavailable, PublishError
from config.models import Embedder, Vectors
from config.settings import Settings
from enrichment.chunk import DocumentCard
from index.generations.build import Lookup, VectorSource, build_folder
from index.generations.engines import complete_folder
from index.generations.folder import MANIFEST, Damaged, Folder, Manifest, put_in_place, seal
from index.generations.recovery import KINDS, ServerLookup, drop_unused, recovered_vectors, send
from index.generations.shared import SharedGenerations
from index.keywords.bm25 import KeywordEngine
from index.store.documents import GenerationInfo, Revision, Store, digest_of
from index.vectors.chroma import ChromaServer

FETCHING = ".fetching-"
"""Prefix of a folder that is being fetched. One that broke off serves the next attempt."""
WORTH_OPENING = 32
"""Minimum of new texts for which other generations are searched for vectors."""

logger = logging.getLogger(__name__)


class GenerationFolders:
    """The generation folders of all domains on this machine."""

    def __init__(
        self, settings: Settings, store: Store, embedder: Embedder, server: ChromaServer | None
    ) -> None:
        self._root = settings.data_dir / "index"
        self._store = store
        self._embedder = embedder
        self._server = server
        self._keyword_engine: KeywordEngine = settings.keyword_engine
        self._chroma_folders = settings.vector_engine == "chroma" and server is None
        """Whether a new generation's folder gets an embedded Chroma."""
        self._shared = SharedGenerations(settings.index_store) if settings.index_store else None
        self._unclean: set[str] = set()
        """Domains whose unused parts are still in the index store."""
        self._verified: set[tuple[str, int, int]] = set()
        """Folders whose checksums this process has verified, which takes a second per gigabyte."""

    def of(self, domain: str) -> Path:
        return self._root / domain

    def path(self, domain: str, number: int) -> Path:
        return self.of(domain) / f"{number:06d}"

    def open(self, info: GenerationInfo) -> Folder:
        """The generation's folder. Fetches a missing or damaged one from the index store, or
        rebuilds it from the database if it isn't there.

        Raises IndexUnavailable when it can't be had."""
        try:
            return self._intact(info)
        except Damaged as damage:
            reason = damage
        with _alone(self.of(info.domain)):
            try:
                return self._intact(info)
            except Damaged:
                if not self._fetched(info):
                    logger.warning(
                        "rebuilding generation %s of %s: %s", info.number, info.domain, reason
                    )
                    self._rebuild_or_say_why(info)
        try:
            return self._intact(info)
        except Damaged as damage:
            if self._store.generation(info.domain, info.number) is None:
                raise GenerationReplaced(info.domain, info.number) from damage
            raise IndexUnavailable(
                f"generation {info.number} of {info.domain!r} can't be rebuilt: {damage}",
                remedy=f"run `oncall ingest {info.domain} --full`",
            ) from damage

    def if_there(self, info: GenerationInfo) -> Folder | None:
        """The generation's folder; None when it is missing or damaged on this machine."""
        try:
            return self._intact(info)
        except Damaged:
            return None

    def build(
        self,
        domain: str,
        number: int,
        revisions: Sequence[Revision],
        *,
        base: Folder | None,
        cards: Callable[[Revision], DocumentCard],
        vectors: VectorSource,
        is_new: bool = True,
    ) -> None:
        """Makes the folder of a generation atomically.

        `is_new`: not published yet; its vectors are then sent to the Chroma server, if any."""
        target = self.of(domain) / f".building-{uuid.uuid4().hex}"
        try:
            build_folder(
                target, revisions, base=base, store=self._store, cards=cards, vectors=vectors
            )
            digest, made_by = digest_of(revisions), self._embedder
            seal(target, Manifest(digest, made_by.name, made_by.dimensions))
            if self._server and is_new:
                send(self._server, domain, Folder(target, digest, verified=True), base)
            if self._chroma_folders and is_new:
                complete_folder(domain, Folder(target, digest, verified=True))
            put_in_place(target, self.path(domain, number))
            self._verified.add(_mark(self.path(domain, number)))
        finally:
            shutil.rmtree(target, ignore_errors=True)

    def share(self, info: GenerationInfo) -> str | None:
        """Uploads a built generation. Returns its address; None without an index store.

        Raises PublishError."""
        if not self._shared:
            return None
        generations = self._store.generations(info.domain)
        earlier = next((one.manifest for one in generations if one.manifest), None)
        return self._shared.upload(info.domain, self.path(info.domain, info.number), earlier)

    def share_again(self, info: GenerationInfo) -> str | None:
        """Repairs the store's copy of a published generation. Returns its address if it changed."""
        if not self._shared or not (folder := self.if_there(info)):
            return None
        try:
            if info.manifest and self._shared.is_whole(info.manifest, folder.path):
                return None
            return self.share(info)
        except PublishError as error:
            logger.warning(
                "generation %s of %s not shared yet: %s", info.number, info.domain, error
            )
            return None

    def lookups(self, domain: str, base: Folder | None) -> list[Lookup]:
        """Lookups of existing vectors of this domain: in the base and on the server."""
        lookups: list[Lookup] = [base.lookup] if base else []
        if self._server:
            name = self._embedder.name
            lookups += [self._server.collection(domain, name, kind).get for kind in KINDS]
        return lookups

    def elsewhere(self, domain: str) -> Lookup:
        """Looks up vectors in other domains' current generations and this domain's earlier ones.

        Opens their folders only when many texts are new: verifying a folder takes as long as
        embedding a few texts."""
        opened = cache(lambda: list(self._kept_elsewhere(domain)))

        def lookup(keys: Sequence[str]) -> dict[str, Vectors]:
            vectors: dict[str, Vectors] = {}
            for folder in opened() if len(keys) >= WORTH_OPENING else ():
                vectors.update(folder.lookup([key for key in keys if key not in vectors]))
            return vectors

        return lookup

    def _kept_elsewhere(self, domain: str) -> Iterator[Folder]:
        names = [one.name for one in self._root.iterdir()] if self._root.is_dir() else []
        for info in (one for name in sorted(names) for one in self._store.generations(name)):
            # The domain's own current generation is already the base.
            if info.embedder == self._embedder.name and info.is_current != (info.domain == domain):
                try:
                    yield Folder(self.path(info.domain, info.number), info.digest)
                except (Damaged, OSError):  # or the folder is just being removed
                    continue

    def has_others(self, domain: str, retained: Collection[int]) -> bool:
        """Whether this machine holds other generations, in whole or in part, or the index store
        still has parts that couldn't be deleted."""
        names = {self.path(domain, number).name for number in retained}
        return domain in self._unclean or any(
            one.name not in names for one in self._sources(domain)
        )

    def remove_except(self, domain: str, retained: Collection[int]) -> None:
        """Deletes the folders of other generations and leftovers of dead processes.

        The caller holds the domain's lock, so no other process is publishing."""
        names = {self.path(domain, number).name for number in retained}
        self._remove(domain, lambda folder: folder.name not in names)

    def remove_before(self, domain: str, current: int, spared: Collection[int]) -> None:
        """Deletes folders older than the current generation. Others may be publishing."""
        names = {self.path(domain, number).name for number in spared}
        older = range(current)

        def unneeded(folder: Path) -> bool:
            name = folder.name
            return name.isdecimal() and int(name) in older and name not in names

        self._remove(domain, unneeded)

    def _remove(self, domain: str, unneeded: Callable[[Path], bool]) -> None:
        """Deletes folders. One that is still needed is rebuilt later; open ones stay readable."""
        if self.of(domain).is_dir():
            with _alone(self.of(domain)):
                for folder in self.of(domain).iterdir():
                    if folder.is_dir() and unneeded(folder):
                        shutil.rmtree(folder, ignore_errors=True)

    def remove_vectors_except(self, domain: str, retained: Sequence[GenerationInfo]) -> None:
        """Deletes the server's vectors that none of these generations uses.

        Does nothing while one of their folders is missing or damaged here."""
        if not self._server:
            return
        mine = [one for one in retained if one.embedder == self._embedder.name]
        try:
            folders = [
                Folder(self.path(domain, one.number), one.digest, verified=True) for one in mine
            ]
        except Damaged:
            return  # that generation's vectors are unknown here, so none is safe to delete
        try:
            drop_unused(self._server, domain, self._embedder.name, folders)
        except IndexUnavailable as error:
            logger.warning("unused vectors of %s not deleted yet: %s", domain, error)

    def remove_shared_except(
        self, domain: str, retained: Sequence[GenerationInfo], *, is_reader: bool
    ) -> None:
        """Deletes the parts in the index store that none of these generations uses.

        `is_reader`: where it has no right to, the next run does."""
        if not self._shared:
            return
        try:
            used = [one.manifest for one in retained if one.manifest]
            self._shared.remove_unused(used, self._sources(domain), is_reader=is_reader)
            self._unclean.discard(domain)
        except PublishError as error:
            self._unclean.add(domain)
            logger.warning("unused parts of %s not deleted yet: %s", domain, error)

    def _fetched(self, info: GenerationInfo) -> bool:
        """Whether the folder was fetched from the index store. Raises IndexUnavailable."""
        if not self._shared or not info.manifest:
            return False
        target = self.of(info.domain) / f"{FETCHING}{info.manifest[-16:]}"
        try:
            self._shared.fetch(info.manifest, target, self._sources(info.domain))
        except Damaged as damage:
            stored = self._store.generation(info.domain, info.number)
            if stored is None or stored.manifest != info.manifest:
                raise GenerationReplaced(info.domain, info.number) from damage
            logger.warning("generation %s of %s not fetched: %s", info.number, info.domain, damage)
            return False
        put_in_place(target, self.path(info.domain, info.number))
        self._verified.add(_mark(self.path(info.domain, info.number)))
        for other in self.of(info.domain).glob(f"{FETCHING}*"):
            shutil.rmtree(other, ignore_errors=True)
        return True

    def _sources(self, domain: str) -> list[Path]:
        """Folders of the domain on this machine, newest first, then partly fetched ones."""
        folders = list(self.of(domain).iterdir()) if self.of(domain).is_dir() else []
        whole = sorted((one for one in folders if one.name.isdecimal()), reverse=True)
        return [*whole, *(one for one in folders if one.name.startswith(FETCHING))]

    def _intact(self, info: GenerationInfo) -> Folder:
        path = self.path(info.domain, info.number)
        mark = _mark(path)
        verified = mark in self._verified
        folder = Folder(path, info.digest, keyword_engine=self._keyword_engine, verified=verified)
        self._verified.add(mark)
        return folder

    def _rebuild_or_say_why(self, info: GenerationInfo) -> None:
        try:
            self._rebuild(info)
        except (OSError, ValueError) as error:
            if self._store.generation(info.domain, info.number) is None:  # while it was being read
                raise GenerationReplaced(info.domain, info.number) from error
            raise IndexUnavailable(
                f"generation {info.number} of {info.domain!r} can't be rebuilt: {error}",
                remedy="see whether ONCALL_DATA_DIR has room and may be written",
            ) from error

    def _rebuild(self, info: GenerationInfo) -> None:
        if info.embedder != self._embedder.name:
            raise IndexUnavailable(
                f"generation {info.number} of {info.domain!r} is damaged, and was made by "
                f"{info.embedder!r}, not {self._embedder.name!r}",
                remedy=f"run `oncall ingest {info.domain} --full`",
            )
        cards = self._store.cards(info.domain, info.number)
        base = self._any_intact(info)
        lookups = [*([base.lookup] if base else []), *self._salvaged(info.domain)]
        if self._server:
            lookups.append(ServerLookup(self._server, info.domain, info.embedder))
        self.build(
            info.domain,
            info.number,
            self._store.revisions(info.domain, info.number),
            base=base,
            is_new=False,
            cards=lambda one: cards[one.document_id],
            vectors=VectorSource(self._embedder, lookups),
        )

    def _salvaged(self, domain: str) -> list[Lookup]:
        """Lookups over the domain's existing folders, newest first."""
        name = self._embedder.name
        return [recovered_vectors(folder, name) for folder in self._sources(domain)]

    def _any_intact(self, info: GenerationInfo) -> Folder | None:
        """The newest intact folder of another generation with the same embedder."""
        for one in self._store.generations(info.domain):
            if one.number != info.number and one.embedder == info.embedder:
                try:
                    return Folder(self.path(one.domain, one.number), one.digest)
                except Damaged:
                    continue
        return None


def _mark(folder: Path) -> tuple[str, int, int]:
    """Identifies a sealed folder; a replacement at the same path has another mark."""
    try:
        stat = (folder / MANIFEST).stat()
    except OSError:
        return str(folder), 0, 0
    return str(folder), stat.st_ino, stat.st_mtime_ns


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time rebuilds or deletes a domain's folders."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "rebuild.lock").open("a") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
