"""Runs the drills of domains in short batches, and shows what they found.

A drill goes on where it stopped: after a crash, and when Slack limits the bot, after a pause."""

from __future__ import annotations

import hashlib
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import structlog

from agents.alerts.reader import alerts_in
from agents.drill.checks import Drill, all_renames
from agents.drill.rows import DrillRow, Rename, row_key
from agents.runbooks.matching import match_alerts
from bot.bus.events import Event, Suggestion
from bot.feature import AnswerExtras, DigestPart, FeatureContext, OutgoingAnswer
from bot.features.drills.outside import LinkChecker, NameChecker, rota_findings
from bot.features.drills.store import DrillResult, DrillState, DrillStore
from bot.features.drills.views import by_document, digest_part, note, reason, title
from bot.rotas.on_call import OnCallResolver
from bot.showing import Showing
from bot.slack.client import SlackBusy, SlackUnsure
from config.domain import Domain
from config.errors import CopilotError, DatabaseAway
from durable.database import now
from index.search import Snapshot

log = structlog.get_logger()

DRILL, AGAIN = "drill", "drill_again"
"""Kinds of timers: a drill is due; a batch goes on after a pause."""
BATCH_ROWS, BATCH_SECONDS = 100, 5.0
PAUSE = timedelta(minutes=1)
_WEEK = timedelta(days=7)
ROTA = "rota"
"""Key of the result that is about the domain's rota."""
MAX_SHAPES, MAX_LINES = 3, 5


@dataclass(frozen=True, kw_only=True)
class DrillStep(Event):
    """A batch of a drill."""

    kind: ClassVar[str] = "drill_step"
    domain: str
    due: str
    step: int


@dataclass
class DrillService:
    context: FeatureContext
    store: DrillStore
    resolver: OnCallResolver
    links: LinkChecker
    names: NameChecker
    _renames: dict[str, tuple[int, list[Rename]]] = field(default_factory=dict, init=False)
    """Domain → its generation, and what that says."""

    def begin(self, subject: str) -> None:
        """A drill is due. Safe to repeat."""
        name, _, due = subject.rpartition("@")
        self.store.begin(name, due)
        self.go_on(name)

    def go_on(self, name: str) -> None:
        """Enqueue the next batch; one worker does it."""
        state = self.store.state(name)
        if state and state.step >= 0:
            step = DrillStep(domain=name, due=state.due, step=state.step)
            self.context.put(f"drill-{name}-{state.due}-{state.step}", step)

    def run(self, event_id: str, event: DrillStep) -> None:
        """Do a batch. Safe to repeat."""
        state, domain = self.store.state(event.domain), self.context.domains().get(event.domain)
        if state is None or domain is None or domain.runbooks.drill is None:
            return
        if state.due != event.due or state.step < event.step:
            return
        if state.step > event.step:
            self.go_on(event.domain)  # this one is done; perhaps the worker died right after
            return
        try:
            drill = self._drill(domain)
        except DatabaseAway:
            raise  # the inbox tries again
        except CopilotError as error:
            log.warning("no drill: the documents can't be read", cause=str(error))
            return
        if self._batch(state, drill):
            self.go_on(event.domain)

    def additions(self, outgoing: OutgoingAnswer) -> AnswerExtras:
        """How the entries fared that an alert's answer is from; nothing of those that changed."""
        domain, answer = outgoing.domain, outgoing.answer
        cited = {one.chunk_id for one in answer.citations}
        if domain.runbooks.drill is None or not cited:
            return AnswerExtras()
        try:
            snapshot = self.context.channel_snapshot(domain)
            matches = match_alerts(alerts_in(outgoing.record.text, by_bot=True), snapshot, domain)
        except DatabaseAway:
            raise  # the answer waits for it
        except CopilotError:
            return AnswerExtras()
        entries = [one for match in matches if match.outcome != "none" for one in match.entries]
        keys = {row_key(one) for one in entries if one.chunk.id in cited}
        results = self.store.results(domain.domain, keys) if keys else {}
        # A document that a finding is from may be closed by now.
        are_open = all(
            len(snapshot.cards(one.documents)) == len(one.documents) for one in results.values()
        )
        if not results or results.keys() < keys or not are_open:
            return AnswerExtras()
        return AnswerExtras(notes=(note(list(results.values()), now()),))

    def digest(self, domain: Domain, since: datetime, showing: Showing) -> Sequence[DigestPart]:
        name = domain.domain
        wrong = self.store.to_mend(name) if domain.runbooks.drill else []
        if not wrong:
            return []
        open_ones = [one for one in by_document(wrong) if showing.names(name, one)]
        cards = self.context.channel_snapshot(domain).cards(open_ones[:MAX_LINES])
        return [digest_part(wrong, sum(self.store.counts(name).values()), cards)]

    def _batch(self, state: DrillState, drill: Drill) -> bool:
        """Whether the drill goes on at once."""
        results, started = list[DrillResult](), time.monotonic()
        for document, position, row in _rows(drill, state):
            if len(results) >= BATCH_ROWS or time.monotonic() - started > BATCH_SECONDS:
                self._save(state, results, document, position)
                return True
            try:
                results.append(self._result(row, drill))
            except (SlackBusy, SlackUnsure) as error:
                pause = timedelta(seconds=error.after) if isinstance(error, SlackBusy) else PAUSE
                self._save(state, results, document, position)
                due = datetime.now(UTC) + max(pause, PAUSE)
                self.context.timers.set(AGAIN, state.domain, due)
                return False
        self.store.save(state, results)
        self._end(state, drill)
        return False

    def _save(
        self, state: DrillState, results: Sequence[DrillResult], document: str, position: int
    ) -> None:
        self.store.save(state, results)
        self.store.advance(state, document, position)

    def _result(self, row: DrillRow, drill: Drill) -> DrillResult:
        """Raises SlackBusy or SlackUnsure."""
        policy, entry = drill.domain.runbooks.drill, row.entry
        hosts = policy.link_hosts if policy else ()
        outside = (
            () if entry.retired else (*self.links.findings(row, hosts), *self.names.findings(row))
        )
        return DrillResult(
            key=row.key, document=entry.chunk.document_id,
            title=title(row), generation=drill.snapshot.generation,
            findings=(*drill.findings(row), *outside), drilled_at=now(),
        )  # fmt: skip

    def _end(self, state: DrillState, drill: Drill) -> None:
        rota = DrillResult(
            key=ROTA, document="", title="The rota", generation=drill.snapshot.generation,
            findings=tuple(rota_findings(drill.domain, self.resolver)), drilled_at=now(),
        )  # fmt: skip
        self.store.save(state, [rota])
        for document, results in by_document(self.store.to_mend(state.domain)).items():
            self._suggest(drill, document, results)
        self.store.finish(state)

    def _suggest(self, drill: Drill, document: str, results: Sequence[DrillResult]) -> None:
        """One message a week to the owner, and none while nothing changed."""
        name = drill.domain.domain
        mark = _hash(*(part for one in results for part in (one.key, *_kinds(one))))
        before, at = self.store.notice(name, document)
        if mark == before or (at and now() - at < _WEEK):
            return
        suggestion = Suggestion(
            id=f"drill-{_hash(name, document, mark, before)}", kind="drill", domain=name,
            document=document, question=reason(results),
            drawn_from=tuple(dict.fromkeys(each for one in results for each in one.documents)),
        )  # fmt: skip
        self.context.suggest(suggestion)
        self.store.set_notice(name, document, mark, now())

    def _drill(self, domain: Domain) -> Drill:
        """Raises CopilotError."""
        snapshot, name = self.context.channel_snapshot(domain), domain.domain
        generation, renames = self._renames.get(name, (-1, []))
        if generation != snapshot.generation:
            renames = all_renames(snapshot)
            self._renames[name] = snapshot.generation, renames
        texts = self.store.recent_texts(name, domain.channels)
        shapes = list(_shapes(texts, snapshot, domain))[:MAX_SHAPES]
        return Drill(
            snapshot=snapshot, domain=domain, now=datetime.now(UTC), renames=renames, shapes=shapes
        )


def _rows(drill: Drill, state: DrillState) -> Iterator[tuple[str, int, DrillRow]]:
    """(document, position, entry) from where the drill goes on, by document id."""
    documents = sorted(drill.snapshot.documents)
    for document in documents[bisect_left(documents, state.document) :]:
        start = state.position if document == state.document else 0
        for position, row in enumerate(drill.rows(document)[start:], start):
            yield document, position, row


def _shapes(texts: Sequence[str], snapshot: Snapshot, domain: Domain) -> Iterator[str]:
    """The texts of real alerts that find an entry, each with `{name}` in place of its name."""
    for text in texts:
        alerts = alerts_in(text, by_bot=True)
        name = alerts[0].name if len(alerts) == 1 and alerts[0].certain else ""
        shape = text.replace("{name}", "").replace(name, "{name}") if name else ""
        if "{name}" in shape and match_alerts(alerts, snapshot, domain)[0].outcome == "found":
            yield shape


def _kinds(result: DrillResult) -> Iterator[str]:
    return (f"{one.kind}:{one.sentence}" for one in result.findings)


def _hash(*parts: str) -> str:
    text = "\x1f".join(parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
