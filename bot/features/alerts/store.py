"""Episodes of alerts in the database: each message counted once, by any worker, in any order.

Alerts that bots posted: each kind's episodes, and each time that one fired or was resolved.

How many alerts there are: by which the bot keeps its pace, and what a digest tells."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    DateTime,
    Engine,
    Index,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    Text,
    UniqueConstraint,
    func,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import IntegrityError

from bot.db import PersonalTable
from bot.features.alerts.episodes import (
    SAID_ONCE_FOR,
    WITHOUT_RUNBOOK,
    Episode,
    Occurrence,
    Taken,
    Tally,
    tally_of,
)
from bot.questions.tables import QuestionRow
from durable.migration import migrate

_METADATA = MetaData()

alert_episodes = Table(
    "bot_alert_episodes",
    _METADATA,
    Column("id", String(48), primary_key=True, comment="kind-number"),
    Column("kind", String(40), nullable=False, comment="of channel, name and row"),
    Column("number", Integer, nullable=False, comment="from 1, for each kind"),
    Column("domain", String(64), nullable=False),
    Column("channel", String(40), nullable=False),
    Column("named", String(40), nullable=False, comment="of channel and name alone"),
    Column("name", Text, nullable=False),
    Column("outcome", String(16), nullable=False, comment="found | several | other_scope | none"),
    Column("elsewhere", String(40), nullable=False, default="", comment="a public channel"),
    Column("question_id", String(80), nullable=False, comment="the message that is answered"),
    Column("began_at", DateTime, nullable=False),
    Column("last_at", DateTime, nullable=False),
    Column("resolved_at", DateTime, comment="empty while it fires"),
    UniqueConstraint("kind", "number", name="bot_alert_episode"),
    Index("bot_alert_episodes_question", "question_id"),
    Index("bot_alert_episodes_named", "named"),
    Index("bot_alert_episodes_last", "domain", "last_at"),
)

alert_occurrences = Table(
    "bot_alert_occurrences",
    _METADATA,
    Column("id", String(120), primary_key=True, comment="message, kind and status"),
    Column("episode", String(48), nullable=False),
    Column("question_id", String(80), nullable=False),
    Column("domain", String(64), nullable=False),
    Column("status", String(10), nullable=False, comment="firing | resolved"),
    Column("places", Text, nullable=False, comment="what it fired on, as a JSON list"),
    Column("at", DateTime, nullable=False, comment="when the bot's message was sent"),
    Index("bot_alert_occurrences_episode", "episode", "at"),
    Index("bot_alert_occurrences_domain", "domain", "at"),
)

KEPT_ALERTS = (
    PersonalTable(table=alert_episodes, at="last_at", question="question_id"),
    PersonalTable(table=alert_occurrences, at="at", question="question_id"),
)


def create_alert_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, _METADATA, "alerts")


@dataclass(frozen=True)
class AlertCounts:
    engine: Engine

    def active(self, since: datetime) -> int:
        """How many kinds have fired since then."""
        query = select(func.count()).select_from(alert_episodes)
        return self._count(query.where(alert_episodes.c.last_at >= since))

    def waiting(self, channel: str, since: datetime) -> int:
        """How many kinds of a channel have fired since then and wait for an answer that is worth
        waiting for."""
        query = (
            select(func.count())
            .select_from(alert_episodes)
            .join(QuestionRow, QuestionRow.id == alert_episodes.c.question_id)
            .where(alert_episodes.c.channel == channel, alert_episodes.c.last_at >= since)
            .where(alert_episodes.c.outcome != "none")
            .where(QuestionRow.state.in_(("working", "answered")))
        )
        return self._count(query)

    def unknown_before(self, one: Episode, since: datetime) -> int:
        """How many kinds of its channel that no document knows began since then and before it."""
        query = (
            select(func.count())
            .select_from(alert_episodes)
            .where(alert_episodes.c.channel == one.channel, alert_episodes.c.outcome == "none")
            .where(alert_episodes.c.began_at >= since)
            .where(tuple_(alert_episodes.c.began_at, alert_episodes.c.id) < (one.began_at, one.id))
        )
        return self._count(query)

    def loudest(
        self, domain: str, since: datetime, *, without_runbook: bool = False, limit: int = 5
    ) -> list[tuple[str, str, int]]:
        """Name, channel, and how often it fired there since then, the most often first."""
        fired = func.count().label("fired")
        query = (
            select(alert_episodes.c.name, alert_episodes.c.channel, fired)
            .join(alert_occurrences, alert_occurrences.c.episode == alert_episodes.c.id)
            .where(alert_episodes.c.domain == domain, alert_occurrences.c.at >= since)
            .where(alert_occurrences.c.status == "firing")
            .group_by(alert_episodes.c.name, alert_episodes.c.channel)
            .order_by(fired.desc(), alert_episodes.c.name, alert_episodes.c.channel)
            .limit(limit)
        )
        if without_runbook:
            query = query.where(alert_episodes.c.outcome.in_(WITHOUT_RUNBOOK))
        with self.engine.connect() as connection:
            return [(row.name, row.channel, int(row.fired)) for row in connection.execute(query)]

    def question_ids(self, domain: str) -> set[str]:
        """Of its alerts."""
        query = select(alert_episodes.c.question_id).where(alert_episodes.c.domain == domain)
        with self.engine.connect() as connection:
            return set(connection.scalars(query))

    def _count(self, query: Select[Any]) -> int:
        with self.engine.connect() as connection:
            return int(connection.scalar(query) or 0)


class EpisodeStore:
    def __init__(self, engine: Engine, *, is_gone: Callable[[str], bool] = lambda _: False) -> None:
        """`is_gone`: whether somebody has deleted the message of this id, and so its thread."""
        self._engine = engine
        self._is_gone = is_gone
        create_alert_tables(engine)

    def take(self, seen: Occurrence, elsewhere: Callable[[], str] = lambda: "") -> Taken:
        """Count it, in the episode that it belongs to; the same again changes nothing.

        `elsewhere`: another channel that has a runbook for it; asked only where one begins."""
        if known := self._counted(seen.id):
            return Taken(episode=known, is_new=False)
        if seen.status == "resolved":
            return self._ended(seen)
        episode = self._begun(seen, elsewhere)
        began = episode.question_id == seen.message
        # Messages are taken in any order: that it is over may have been heard before.
        is_over = began and self._adopt(seen.named, episode)
        is_new = self._note(seen, episode.id, episode.question_id)
        self.settle(episode.id)
        return Taken(episode=episode, is_new=is_new, changes=is_over or not began)

    def end(self, episode: Episode, message: str, at: datetime) -> None:
        """By a message that was rewritten, and no longer says of what."""
        self._insert(
            id=f"{message}:{episode.kind[:24]}:resolved", episode=episode.id,
            question_id=episode.question_id, domain=episode.domain, status="resolved",
            places="[]", at=at,
        )  # fmt: skip
        self.settle(episode.id)

    def settle(self, episode: str) -> Tally | None:
        """Its course, by which it is noted when it last fired and whether it is over; None for one
        that is forgotten."""
        query = select(alert_occurrences).where(alert_occurrences.c.episode == episode)
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(alert_occurrences.c.at)).all()
        tally = tally_of(rows)
        if tally:
            change = update(alert_episodes).where(alert_episodes.c.id == episode)
            noted = {"last_at": tally.last_at, "resolved_at": tally.resolved_at}
            with self._engine.begin() as connection:
                connection.execute(change.values(**noted))
        return tally

    def of_question(self, question: str) -> list[Episode]:
        """Those that are told of in its thread, in order."""
        query = select(alert_episodes).where(alert_episodes.c.question_id == question)
        return self._all(query.order_by(alert_episodes.c.name, alert_episodes.c.id))

    def of_message(self, message: str) -> list[Episode]:
        """Those that fired in it."""
        query = select(alert_episodes).join(
            alert_occurrences, alert_occurrences.c.episode == alert_episodes.c.id
        )
        mine = alert_occurrences.c.id.startswith(f"{message}:", autoescape=True)
        return self._all(query.where(mine, alert_occurrences.c.status == "firing"))

    def _begun(self, seen: Occurrence, elsewhere: Callable[[], str]) -> Episode:
        while True:
            latest = self._latest(seen.kind)
            if latest and not (latest.is_past(seen) or self._is_gone(latest.question_id)):
                return latest
            number = int(latest.id.rpartition("-")[2]) + 1 if latest else 1
            values = {
                "id": f"{seen.kind}-{number}", "kind": seen.kind, "number": number,
                "named": seen.named, "name": seen.name, "domain": seen.domain,
                "channel": seen.channel, "outcome": seen.outcome, "elsewhere": elsewhere(),
                "question_id": seen.message, "began_at": seen.at, "last_at": seen.at,
            }  # fmt: skip
            try:
                with self._engine.begin() as connection:
                    connection.execute(insert(alert_episodes).values(**values))
            except IntegrityError:
                continue  # another worker was quicker: this one is a repeat
            return Episode.of(values)

    def _ended(self, seen: Occurrence) -> Taken:
        """Noted before it is looked once more whether it has begun: of two workers, one of which
        takes its beginning and one its end, one sees both."""
        episode = self._to_end(seen)
        if episode:
            is_new = self._note(seen, episode.id, episode.question_id)
        else:
            is_new = self._note(seen, _waits_for(seen.named), seen.message)
            episode = self._to_end(seen)
            if episode is None or not self._adopt(seen.named, episode):
                return Taken(episode=episode, is_new=is_new)
        self.settle(episode.id)
        return Taken(episode=episode, is_new=is_new)

    def _to_end(self, seen: Occurrence) -> Episode | None:
        """The message that ends it may name fewer labels than the one that began it."""
        latest = self._latest(seen.kind)
        if latest and not latest.is_past(seen):
            return latest
        query = select(alert_episodes).where(
            alert_episodes.c.named == seen.named,
            alert_episodes.c.resolved_at.is_(None),
            alert_episodes.c.last_at >= seen.at - SAID_ONCE_FOR,
        )
        found = self._all(query.limit(2))
        return found[0] if len(found) == 1 else None

    def _adopt(self, named: str, episode: Episode) -> bool:
        """Whether it was heard of before it began that it is over."""
        change = update(alert_occurrences).where(
            alert_occurrences.c.episode == _waits_for(named),
            alert_occurrences.c.at >= episode.began_at,
        )
        values = {"episode": episode.id, "question_id": episode.question_id}
        with self._engine.begin() as connection:
            return connection.execute(change.values(**values)).rowcount > 0

    def _note(self, seen: Occurrence, episode: str, question: str) -> bool:
        """Whether it was not noted before."""
        return self._insert(
            id=seen.id, episode=episode, question_id=question, domain=seen.domain,
            status=seen.status, places=json.dumps(seen.places), at=seen.at,
        )  # fmt: skip

    def _insert(self, **values: Any) -> bool:
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(alert_occurrences).values(**values))
        except IntegrityError:
            return False
        return True

    def _latest(self, kind: str) -> Episode | None:
        query = select(alert_episodes).where(alert_episodes.c.kind == kind)
        return next(iter(self._all(query.order_by(alert_episodes.c.number.desc()).limit(1))), None)

    def _counted(self, occurrence: str) -> Episode | None:
        query = select(alert_episodes).join(
            alert_occurrences, alert_occurrences.c.episode == alert_episodes.c.id
        )
        return next(iter(self._all(query.where(alert_occurrences.c.id == occurrence))), None)

    def _all(self, query: Select[Any]) -> list[Episode]:
        with self._engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
        return [Episode.of(dict(row)) for row in rows]


def _waits_for(named: str) -> str:
    """In an episode's place, until one begins."""
    return f"?{named}"
