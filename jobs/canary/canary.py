"""The canary: blocks a new generation if golden questions lose their evidence.

It asks golden questions without a model before a new generation is published, and after an edit of
the domain file or an upgrade of the product. A question does not count when its evidence left the
documents; it counts as lost when the evidence is still there but retrieval misses it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from config.domain import Domain
from config.errors import ConfigError
from enrichment.references import names_of, paths_of
from index.search import Snapshot
from jobs.canary.outcome import CanaryOutcome, LostQuestion
from jobs.canary.store import (
    CanaryBaseline,
    CanaryStore,
    SeenEvidence,
    Sight,
    evidence_seen,
    marked,
)
from jobs.evaluation.asking import ANSWERING_KEYS
from jobs.golden.check import plain
from jobs.golden.questions import GoldenQuestion, load_golden
from loaders.document import Document
from loaders.output import document_to_markdown

TellAdmins = Callable[[Sequence[str]], object]


class Canary:
    """The canary of one domain for one run."""

    def __init__(
        self,
        domain: Domain,
        *,
        store: CanaryStore,
        version: str,
        tell_admins: TellAdmins,
        accept_drop: bool = False,
    ) -> None:
        """`version`: fingerprint of the product's code."""
        self._domain = domain
        self._store = store
        self._version = version
        self._tell_admins = tell_admins
        self._accept_drop = accept_drop
        self._golden, self.problem = _golden_of(domain.golden_files)
        self._documents = {one.document for each in self._golden.values() for one in each.evidence}
        self._sources: dict[str, str] = {}
        self._before: tuple[int, Sight] | None = None
        self._after: tuple[int, Sight] | None = None
        self._first = False
        self._outcomes: list[CanaryOutcome] = []

    @property
    def watches(self) -> bool:
        """Whether the domain has golden questions with evidence."""
        return bool(self._golden)

    def reads(self, document: Document) -> Document:
        """Record the source text of a document; returns the document.

        Call it for each document that the run reads: evidence that the source no longer contains
        does not count as lost."""
        if not self._documents.isdisjoint({document.id, *names_of(document.path)}):
            self._sources[document.id] = plain(document_to_markdown(document))
        return document

    def accepts(self, following: Snapshot, serving: Callable[[], Snapshot | None]) -> bool:
        """Whether the next generation may be published.

        Compares it with the generation that was serving at the first call. A run that publishes
        in steps calls this at each step."""
        if not self._golden or self._first:
            return True
        current = serving()
        if current is None and self._store.last() is None:
            # The first publication should not wait: the next run measures the baseline.
            self._first = True
            return True
        after = self._evidence(following)
        if self._before is None and current is not None:
            self._before = (current.generation, self._evidence(current))
        if self._before is not None:
            outcome = self._compared(
                self._before[1], after, following, f"generation {following.generation}"
            )
            refused = outcome.is_drop and not self._accept_drop
            self._outcomes = [replace(outcome, refused=refused)]
            if refused:
                return False
        self._after = (following.generation, after)
        return True

    def looks_back(self, serving: Snapshot, *, again: bool = False) -> tuple[CanaryOutcome, ...]:
        """Return the outcomes of the run, and a comparison with the stored baseline if the product,
        the domain file or the generation changed since.

        Notifies the admins of a drop once. After a drop the baseline stays until someone accepts
        the drop or the drop disappears. `again`: compare even when nothing changed."""
        if not self._golden or self._first:
            return ()
        last = self._store.last()
        changes = self._changes(last, serving) if last else []
        ran = self._before or self._after
        if last and not (changes or ran or again) and last.evidence.keys() == self._golden.keys():
            return ()
        generation, evidence = (
            self._after or self._before or (serving.generation, self._evidence(serving))
        )
        upgrade = None
        if changes or again:
            then = self._before[1] if self._before else evidence
            reason = " and ".join(changes) or "as it was"
            upgrade = self._compared(last.evidence if last else evidence, then, serving, reason)
            self._outcomes.append(upgrade)
        if not (upgrade and upgrade.alarms):
            self._store.keep(
                CanaryBaseline(
                    generation=generation,
                    version=self._version,
                    configuration=self._configuration,
                    evidence=evidence,
                    reported=last.reported if last else "",
                )
            )
        self._tell()
        return tuple(self._outcomes)

    @property
    def _configuration(self) -> str:
        values = self._domain.model_dump(mode="json", include={*ANSWERING_KEYS})
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]

    def _changes(self, last: CanaryBaseline, serving: Snapshot) -> list[str]:
        """Describe the changes since the baseline; generations of this run do not count."""
        base = self._before[0] if self._before else serving.generation
        changes = []
        if last.version != self._version:
            changes.append(f"product {last.version[:8]} → {self._version[:8]}")
        if last.configuration != self._configuration:
            changes.append("an edit of the domain file")
        if last.generation != base:
            changes.append(f"generation {last.generation} → {base}")
        return changes

    def _evidence(self, snapshot: Snapshot) -> Sight:
        return evidence_seen(snapshot, self._domain, _with_ids(self._golden, snapshot))

    def _compared(
        self, before: Sight, after: Sight, snapshot: Snapshot, change: str
    ) -> CanaryOutcome:
        lost: list[LostQuestion] = []
        stale: list[LostQuestion] = []
        gained: list[str] = []
        counted: list[tuple[bool, bool]] = []
        golden = _with_ids(self._golden, snapshot)
        for mark in before.keys() & after.keys() & golden.keys():
            question = golden[mark]
            pairs = list(zip(question.evidence, before[mark], after[mark], strict=True))
            then = all(old.shown for _, old, _ in pairs)
            now = all(new.shown for _, _, new in pairs)
            changed = [
                (old, reason)
                for one, old, new in pairs
                if not new.shown
                and (reason := self._how_lost(one.document, one.quote, new, snapshot))
            ]
            if changed:
                stale += [_lost(question, old, reason) for old, reason in changed[:1] if then]
                continue
            counted.append((then, now))
            if then and not now:
                old, new = next((old, new) for _, old, new in pairs if not new.shown)
                lost.append(_lost(question, old, _left(old, new)))
            elif now and not then:
                gained.append(question.id)
        limits, net = self._domain.evaluation.canary, len(lost) - len(gained)
        return CanaryOutcome(
            domain=self._domain.domain,
            change=change,
            before=fmean(then for then, _ in counted) if counted else 0.0,
            after=fmean(now for _, now in counted) if counted else 0.0,
            questions=len(counted),
            lost=tuple(sorted(lost, key=lambda one: one.id)),
            gained=tuple(sorted(gained)),
            stale=tuple(sorted(stale, key=lambda one: one.id)),
            is_drop=net >= limits.min_lost and net > limits.max_drop * len(counted),
            accepted=self._accept_drop,
            limit=limits.max_drop,
        )

    def _how_lost(self, document: str, quote: str, new: SeenEvidence, snapshot: Snapshot) -> str:
        """Why the evidence left its source. Empty while the source contains it or this run did not
        read the document."""
        if document not in snapshot.documents:
            return "and the document is gone"
        problem = self._sources.get(document)
        if new.place or problem is None or plain(quote) in problem:
            return ""
        return "and the document no longer says so"

    def _tell(self) -> None:
        alarms = [one for one in self._outcomes if one.alarms]
        if not alarms:
            return
        ids = sorted({f"{one.change} {lost.id}" for one in alarms for lost in one.lost})
        if self._store.is_news(hashlib.sha256("\n".join(ids).encode()).hexdigest()[:16]):
            by_asker = self._domain.access.audience == "asker"
            # Admins may lack access to some documents, so titles are left out.
            self._tell_admins([line for one in alarms for line in one.notice(titles=not by_asker)])


def _golden_of(files: Sequence[Path]) -> tuple[Mapping[str, GoldenQuestion], str]:
    """Questions by mark, and the problem of the files, if any.

    A broken golden file does not block publishing, but it is reported: nothing is compared."""
    if not files:
        return {}, ""
    try:
        return marked(load_golden(files)), ""
    except ConfigError as error:
        return {}, f"evaluation.golden: nothing is compared with before: {error}"


def _with_ids(
    golden: Mapping[str, GoldenQuestion], snapshot: Snapshot
) -> dict[str, GoldenQuestion]:
    """A question whose name for a document is that of several is left as it is."""
    paths = paths_of(snapshot.documents.values())
    named: dict[str, GoldenQuestion] = {}
    for mark, question in golden.items():
        try:
            named[mark] = question.with_ids(paths)
        except ConfigError:
            named[mark] = question
    return named


def _lost(question: GoldenQuestion, old: SeenEvidence, now: str) -> LostQuestion:
    return LostQuestion(id=question.id, question=question.question, was=old.place, now=now)


def _left(old: SeenEvidence, new: SeenEvidence) -> str:
    if not new.place:
        return "is nowhere now"
    where = "still is" if new.place == old.place else f"is in `{new.place}` now"
    return f"{where}, but not among the passages that are found"
