"""The room of gaps with everything real but Slack: a database, MiniLM, the agents without a model,
documents in memory that a test edits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from sqlalchemy import Engine, create_engine, insert
from sqlalchemy.pool import StaticPool

from agents.answer import Answer, Ask, Question
from agents.graph import build_ask
from agents.ledger.ledger import RunLedger
from agents.runbooks.answer import with_runbook_lookup
from bot.bus.events import SuggestionDecided
from bot.bus.timers import TimerStore
from bot.feature import DigestPart, Feature, FeatureContext, PublishedIndex
from bot.features.feedback.store import FeedbackStore
from bot.features.gaps.feature import build_gaps
from bot.features.gaps.gap import Gap, gaps_of
from bot.features.gaps.questions import STATE_LABELS
from bot.features.gaps.store import GapStore
from bot.questions.store import QuestionStore, encode_answer
from bot.questions.tables import HandoffRow
from config.domain import Domain
from config.errors import ModelUnavailable
from config.minilm import MiniLM
from config.models import ChatModel, Vectors
from enrichment.chunking.chunker import split
from enrichment.pipeline import enrich
from index.audit import AuditLog
from index.permissions.rules import by_email
from loaders.files.markdown import parse_markdown
from tests.agents.memory import MemorySnapshot
from tests.bot.fakes import CHANNEL, claim, domain

OPEN, CLOSED, DIRECT = CHANNEL, "G0SECRET", "D0YOU"
"""A public channel, a private one, a direct message."""
LAPTOPS = """---
id: laptops
title: Laptop Guide
---
# Laptop Guide

## Lost or stolen

Call the service desk within 1 hour. The service desk locks the laptop and wipes it after 4 hours.

## Screen lock

The screen locks after 5 minutes without use. Nobody may switch the lock off.
"""
TRAVEL = "Loaner laptops for travel are picked up at the service desk 3 days before departure."
WITH_TRAVEL = f"{LAPTOPS}\n## Loaner laptops for travel\n\n{TRAVEL}\n"


@cache
def minilm() -> MiniLM:
    return MiniLM()


def published(*texts: str, generation: int) -> MemorySnapshot:
    enriched = []
    for text in texts:
        document = parse_markdown(text, url="https://docs.example/d/")
        chunks = split(document, count_tokens=lambda words: len(words.split()))
        one = enrich(document, chunks)
        enriched.append(replace(one, card=replace(one.card, content_hash=str(hash(text)))))
    found = MemorySnapshot(
        [chunk for one in enriched for chunk in one.chunks],
        [one.card for one in enriched],
        embed=minilm(),
    )
    found.generation = generation
    return found


@dataclass(frozen=True)
class Rewired:
    """MiniLM under another name, its figures in another order."""

    name: str
    dimensions: int = 384

    def __call__(self, texts: Sequence[str]) -> Vectors:
        told = np.asarray(minilm()(texts))
        if self.name == "minilm":
            return told
        wider = np.zeros((len(told), self.dimensions), np.float32)
        wider[:, :384] = told
        order = np.random.default_rng(len(self.name)).permutation(self.dimensions)
        return wider[:, order]


@dataclass
class GapRoom:
    """`put`: what was stored for others, by its id."""

    engine: Engine
    domain: Domain
    model: ChatModel | None = None
    answers: Callable[[Question], Answer] | None = None
    """What a question asked anew is answered; the agents without a model, where it isn't told."""
    put: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """What was asked anew."""
    embedder: Rewired = field(default_factory=lambda: Rewired("minilm"))
    embedder_down: bool = False
    public: frozenset[str] = frozenset({OPEN})
    shared: frozenset[str] = frozenset()
    """By Slack Connect."""
    members: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Private channel → who is in it."""

    def __post_init__(self) -> None:
        self.records = QuestionStore(self.engine)
        self.timers = TimerStore(self.engine)
        self.snapshot = published(LAPTOPS, generation=1)
        self.store = GapStore(self.engine)
        self.feature = self.worker()
        self._count = 0

    def worker(self) -> Feature:
        """One more, on the same database."""
        gate = SimpleNamespace(
            open_to=lambda act, user, domains: list(domains),
            may_see=lambda user, channel: (
                channel in self.public or user in self.members.get(channel, ())
            ),
            channels=SimpleNamespace(
                is_public=lambda channel: channel in self.public,
                is_shared_outside=lambda channel: channel in self.shared,
            ),
            people=SimpleNamespace(
                member=lambda user: SimpleNamespace(kind="bot" if user == "U0BEACON" else "member")
            ),
        )
        self.context = FeatureContext(
            web=cast("Any", None),
            engine=self.engine,
            gate=cast("Any", gate),
            domains=lambda: {"security": self.domain},
            timers=self.timers,
            put=lambda event_id, event: self.put.setdefault(event_id, event.item()),
            identity=cast("Any", SimpleNamespace(team_url="https://x.slack.com")),
            audit=AuditLog(self.engine),
            published=PublishedIndex(
                snapshot=lambda name: self.snapshot,
                embed=self._embed,
                embedder=self.embedder.name,
            ),
            identities=by_email,
            model=self.model,
        )
        ledger = RunLedger(self.engine)
        return build_gaps(self.context, self.records, self._ask_anew, ledger)

    def publish(self, *texts: str) -> None:
        self.snapshot = published(*texts, generation=self.snapshot.generation + 1)

    def ask(
        self,
        text: str,
        *,
        user: str = "U0YOU",
        channel: str = OPEN,
        reply: Answer | None = None,
        days_ago: float = 0,
        **values: Any,
    ) -> str:
        """On record as the bot keeps it; its id."""
        self._count += 1
        name = f"{channel}:{1000 + self._count}.0"
        claim(
            self.records,
            question_id=name, event_id=f"Ev{name}", channel=channel, thread_ts=f"{name[-6:]}",
            asker=user, text=text,
        )  # fmt: skip
        given = reply or refused(text)
        at = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=days_ago)
        kept = {"domain": "security", "state": "posted", "answer": encode_answer(given)}
        known = {**kept, "path": given.path, "asked_at": at, **values}
        self.records.mark(name, **known)
        return name

    def resolve(self, question_id: str, words: str, by: str = "U0INES") -> None:
        """Somebody asked a human, who said this."""
        values = {
            "question_id": question_id, "channel": OPEN, "requested_by": "U0YOU",
            "requested_at": datetime.now(UTC).replace(tzinfo=None), "resolved_by": by,
            "resolution": words,
        }  # fmt: skip
        with self.engine.begin() as connection:
            connection.execute(insert(HandoffRow).values(**values))

    def dislike(self, question_id: str, reason: str = "", correction: str = "") -> None:
        feedback = FeedbackStore(self.engine)
        feedback.give(question_id, "U0YOU", "unhelpful")
        if reason:
            feedback.explain(question_id, "U0YOU", reason=reason, correction=correction, source="")

    def look(self, feature: Feature | None = None) -> list[Gap]:
        """As a worker does each minute; what is known then."""
        (feature or self.feature).timers["gaps_look"]("security")
        return self.gaps()

    def ask_again(self) -> list[Gap]:
        """What the clock does once documents were published."""
        self.feature.timers["gaps_ask"]("security")
        for timer in self.timers.due(datetime.now(UTC) + timedelta(minutes=2)):
            self.timers.delete_stored(timer)
            if timer.kind == "gap_ask":
                self.feature.timers["gap_ask"](timer.subject)
        return self.gaps()

    def decide(
        self,
        outcome: str,
        words: str = TRAVEL,
        document: str = "laptops",
        words_by: str = "U0INES",
    ) -> None:
        """An owner's decision about the last suggestion."""
        suggestion = list(self.suggestions())[-1]
        decided = {
            "id": suggestion["id"], "outcome": outcome, "by": "U0DANA", "document": document,
            "heading": "", "words": words, "words_by": words_by,
        }  # fmt: skip
        self.feature.handlers[SuggestionDecided]("Ev", SuggestionDecided(**decided))

    def suggestions(self) -> list[dict[str, Any]]:
        return [one["suggestion"] for one in self.put.values() if "suggestion" in one]

    def gaps(self) -> list[Gap]:
        return gaps_of(self.store, "security", STATE_LABELS, history=True)

    def states(self) -> list[str]:
        return [gap.state for gap in self.gaps()]

    def home(self, viewer: str = "U0INES") -> str:
        assert self.feature.home
        readers = self.context.readers
        showing = readers.showing(readers.person(viewer), "home")
        return str(list(self.feature.home(showing, [self.domain])))

    def digest(self, since: datetime) -> Sequence[DigestPart]:
        """As the domain's channel gets it."""
        assert self.feature.digest
        readers = self.context.readers
        reader = readers.channel(self.domain, self.domain.channels[0])
        return self.feature.digest(self.domain, since, readers.showing(reader, "digest"))

    def _embed(self, texts: Sequence[str]) -> Vectors:
        if self.embedder_down:
            raise ModelUnavailable("the embedder is away", kind="connection")
        return self.embedder(texts)

    def _ask_anew(self, name: str) -> Ask:
        agents = build_ask(snapshot=lambda: self.snapshot, domain=self.domain, model=None)
        ask = with_runbook_lookup(self.domain, lambda: self.snapshot)(agents)

        def run(question: Question, progress: Any) -> Answer:
            self.asked.append(question.text)
            return self.answers(question) if self.answers else ask(question, progress)

        return run


def refused(text: str, **more: Any) -> Answer:
    values: dict[str, Any] = {
        "text": "I searched and found nothing.", "path": "no_answer_found", "confidence": 0.5,
        "refusal": "too_little", "standalone_question": text,
    }  # fmt: skip
    return Answer(**(values | more))


@contextmanager
def gap_room(engine: Engine | None = None, **more: Any) -> Iterator[GapRoom]:
    """`engine`: of a database that several workers share; else one in memory, for one at a time."""
    engine = engine or create_engine(
        "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
    )
    room = GapRoom(engine=engine, domain=domain(admins=["U0INES"]), **more)
    yield room
    engine.dispose()
