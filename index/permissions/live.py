"""Who may read a domain's documents now. Permissions are checked again when they are old."""

from __future__ import annotations

import heapq
import logging
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from threading import Lock

from config.domain import Domain
from config.errors import ConfigError, PermissionsUnknown
from enrichment.chunk import DocumentCard
from index.permissions.rules import Guarded, PermissionIndex
from index.search import Snapshot
from loaders.document import Permission
from loaders.registry import kind_of, stated_readers, used_kinds
from loaders.source import CheckReaders
from telemetry import metrics

FRESH_SECONDS = 300.0
"""A younger check is not repeated."""
SERVED_SECONDS = 900.0
"""While the source is unavailable, a check still counts until this age."""
REST_SECONDS = 15.0
"""Pause after a failed check, so that the next questions don't wait for another failure."""
AT_ONCE = 50
"""A check is filled up to this many stale documents, all in one call."""

logger = logging.getLogger(__name__)

StatedReaders = Callable[[DocumentCard], tuple[Permission, ...] | None]
"""Who may read a document, by the domain file; None when its source has to be asked."""


class LivePermissions:
    """The current permissions of one generation. Thread-safe.

    See `rules.CurrentPermissions`."""

    def __init__(
        self,
        cards: Mapping[str, DocumentCard],
        *,
        stated: StatedReaders,
        check: CheckReaders | None,
        before: LivePermissions | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`check`: None when the domain has no source to ask; documents of one are then closed.
        `before`: the previous generation's, whose checks are reused."""
        self._check = check
        self._clock = clock
        self._asking = Lock()
        self._rests_until = -REST_SECONDS
        earlier = before.checks() if before else {}
        by_file = {name: stated(card) for name, card in cards.items()}
        permissions = {name: those for name, those in by_file.items() if those is not None}
        self._remote = frozenset(cards.keys() - permissions.keys())
        self._checked_at = {name: at for name, (at, _) in earlier.items() if name in self._remote}
        for name in self._remote if check else ():
            permissions[name] = earlier[name][1] if name in earlier else cards[name].permissions
        self.index = PermissionIndex(permissions)

    @property
    def epoch(self) -> int:
        return self.index.epoch

    def open_to(self, readers: frozenset[str]) -> frozenset[str]:
        return self.index.open_to(readers)

    def checks(self) -> Mapping[str, tuple[float, tuple[Permission, ...]]]:
        """Document → (clock time of its last check, its permissions)."""
        return {name: (at, self.index.of(name)) for name, at in list(self._checked_at.items())}

    def check(self, documents: Collection[str]) -> None:
        """See `CurrentPermissions.check`. Without documents: the domain, if it fits one call."""
        if self._check is None:
            return
        if not documents and len(self._remote) <= AT_ONCE:
            documents = self._remote
        if not self._old(documents):
            return
        with self._asking:  # a thread that waited here finds fresh checks
            old = self._old(documents)
            if old:
                self._ask(old, self._check)

    def _ask(self, old: Collection[str], check: CheckReaders) -> None:
        began = self._clock()
        cause, outcome = "the source of the documents did not answer", "kept"
        if began >= self._rests_until:
            try:
                permissions = check([*old, *self._others(old)])
            except PermissionsUnknown as error:
                self._rests_until = began + REST_SECONDS
                cause = error.cause
                logger.warning("permissions could not be checked: %s", cause)
            else:
                self.index.update(permissions)
                self._checked_at.update(dict.fromkeys(permissions, began))
                outcome = "heard"
        unknown = any(began - self._at(name) >= SERVED_SECONDS for name in old)
        metrics.PERMISSION_CHECKS.labels("unknown" if unknown else outcome).inc()
        if unknown:
            raise PermissionsUnknown(cause)

    def _old(self, documents: Collection[str]) -> list[str]:
        oldest = self._clock() - FRESH_SECONDS
        return [one for one in documents if one in self._remote and self._at(one) <= oldest]

    def _others(self, exclude: Collection[str]) -> list[str]:
        """The stalest other documents, so that newly granted access takes effect, too."""
        rest = self._old(self._remote - set(exclude))
        return heapq.nsmallest(AT_ONCE - len(exclude), rest, key=self._at)

    def _at(self, document: str) -> float:
        # The age of a published permission is unknown.
        return self._checked_at.get(document, float("-inf"))


class DomainAccess:
    """Opens generations with permissions applied, for every entry point. Thread-safe."""

    def __init__(
        self,
        *,
        domains: Callable[[], Mapping[str, Domain]],
        snapshot: Callable[[str], Snapshot],
        checker: Callable[[str], CheckReaders],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`checker`: of a source, by its key. It may raise ConfigError; a domain that needs it then
        answers nobody."""
        self._domains = domains
        self._snapshot = snapshot
        self._checker = checker
        self._clock = clock
        self._lock = Lock()
        self._live: dict[str, tuple[object, LivePermissions]] = {}

    def snapshot(self, name: str) -> Snapshot:
        """The current generation, guarded where permissions differ between askers.

        Raises IndexUnavailable and ConfigError."""
        return self.guarded(name, self._snapshot(name))

    def guarded(self, name: str, whole: Snapshot) -> Snapshot:
        """The same for this generation of the domain. Raises ConfigError."""
        domain = self._domains()[name]
        if domain.access.audience == "channel":
            return whole
        return Guarded(whole, self._permissions(domain, whole))

    def groups(self, name: str) -> frozenset[str]:
        """Google groups that documents of the domain are shared with."""
        return self._permissions(self._domains()[name], self._snapshot(name)).index.groups()

    def require(self) -> None:
        """Raises ConfigError when a domain needs permission checks that can't be made."""
        for domain in self._domains().values():
            if domain.access.audience == "asker":
                try:
                    self._checkers(domain)
                except ConfigError as error:
                    raise ConfigError(
                        f"{domain.domain} answers each asker from what they may read, which can't "
                        f"be checked: {error.problem}",
                        remedy=error.remedy,
                    ) from error

    def _permissions(self, domain: Domain, whole: Snapshot) -> LivePermissions:
        checkers = self._checkers(domain)
        state = (whole.generation, domain.access, domain.sources)
        with self._lock:
            cached = self._live.get(domain.domain)
            if cached is None or cached[0] != state:
                live = LivePermissions(
                    whole.documents,
                    stated=partial(stated_readers, domain),
                    check=by_source(checkers, whole.documents) if checkers else None,
                    before=cached[1] if cached else None,
                    clock=self._clock,
                )
                cached = self._live[domain.domain] = (state, live)
            return cached[1]

    def _checkers(self, domain: Domain) -> dict[str, CheckReaders]:
        """By the keys of the sources that are asked. Raises ConfigError."""
        return {
            kind.key: self._checker(kind.key) for kind in used_kinds(domain) if kind.asks_readers
        }


def by_source(
    checkers: Mapping[str, CheckReaders], cards: Mapping[str, DocumentCard]
) -> CheckReaders:
    """Asks each source for its own documents. Those of other sources are closed."""

    def check(documents: Collection[str]) -> Mapping[str, tuple[Permission, ...]]:
        shares: dict[str, list[str]] = {}
        for one in documents:
            kind = kind_of(cards[one].source) if one in cards else None
            shares.setdefault(kind.key if kind else "", []).append(one)
        permissions: dict[str, tuple[Permission, ...]] = {}
        for key, share in shares.items():
            permissions |= checkers[key](share) if key in checkers else dict.fromkeys(share, ())
        return permissions

    return check
