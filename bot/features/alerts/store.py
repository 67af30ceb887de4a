"""Alerts that bots posted: the episodes of each kind, and each time that one fired or was resolved.

Each message counts once, whichever workers read the messages and in any order."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Engine,
    Index,
    Row,
    Select,
    String,
    Text,
    UniqueConstraint,
    select,
    text,
    update,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bot.features.alerts.episodes import (
    NOTICE_VALID_FOR,
    Episode,
    EpisodeUpdate,
    Occurrence,
    Tally,
    tally_of,
)
from bot.questions.personal import PersonalTable
from durable.database import insert_once, table_of
from durable.migration import expanding, migrate

_MAX_FIRING = 20
"""Episodes of one name that are looked through for the one that ended."""


class _Base(DeclarativeBase):
    pass


class EpisodeRow(_Base):
    __tablename__ = "bot_alert_episodes"
    __table_args__ = (
        UniqueConstraint("kind", "number", name="bot_alert_episode"),
        Index("bot_alert_episodes_question", "question_id"),
        Index("bot_alert_episodes_named", "named"),
        Index("bot_alert_episodes_last", "domain", "last_at"),
    )

    id: Mapped[str] = mapped_column(String(48), primary_key=True, comment="kind-number")
    kind: Mapped[str] = mapped_column(String(40), comment="of channel, name and row")
    number: Mapped[int] = mapped_column(comment="from 1, for each kind")
    domain: Mapped[str] = mapped_column(String(64))
    channel: Mapped[str] = mapped_column(String(40))
    named: Mapped[str] = mapped_column(String(40), comment="of channel and name alone")
    name: Mapped[str] = mapped_column(Text)
    outcome: Mapped[str] = mapped_column(String(16), comment="found | several | other_scope | none")
    elsewhere: Mapped[str] = mapped_column(String(40), default="", comment="a public channel")
    question_id: Mapped[str] = mapped_column(String(80), comment="the message that is answered")
    began_at: Mapped[datetime]
    last_at: Mapped[datetime]
    resolved_at: Mapped[datetime | None] = mapped_column(comment="empty while it fires")
    quiet: Mapped[int] = mapped_column(
        server_default=text("0"), comment="1: without an answer so far"
    )


class OccurrenceRow(_Base):
    __tablename__ = "bot_alert_occurrences"
    __table_args__ = (
        Index("bot_alert_occurrences_episode", "episode", "at"),
        Index("bot_alert_occurrences_domain", "domain", "at"),
    )

    id: Mapped[str] = mapped_column(
        String(120), primary_key=True, comment="message, kind and status"
    )
    episode: Mapped[str] = mapped_column(String(48))
    question_id: Mapped[str] = mapped_column(String(80))
    domain: Mapped[str] = mapped_column(String(64))
    status: Mapped[str] = mapped_column(String(10), comment="firing | resolved")
    places: Mapped[str] = mapped_column(Text, comment="what it fired on, as a JSON list")
    at: Mapped[datetime] = mapped_column(comment="when the bot's message was sent")
    severities: Mapped[str] = mapped_column(
        Text, server_default="[]", comment="as the message writes them, as a JSON list"
    )


PERSONAL_TABLES = (
    PersonalTable(
        table=table_of(EpisodeRow), at="last_at", question="question_id",
        plain="id kind channel named name outcome elsewhere",
    ),
    PersonalTable(
        table=table_of(OccurrenceRow), at="at", question="question_id",
        plain="id episode status places severities",
    ),
)  # fmt: skip
"""Names and places are of alerts, which programs write."""


_STEPS = (
    expanding(
        "ALTER TABLE bot_alert_episodes ADD COLUMN quiet INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE bot_alert_occurrences ADD COLUMN severities TEXT NOT NULL DEFAULT '[]'",
    ),
)


def create_tables(engine: Engine) -> None:
    """Create what is missing; safe when several workers start at once."""
    migrate(engine, _Base.metadata, "alerts", _STEPS)


class EpisodeStore:
    def __init__(
        self, engine: Engine, *, is_deleted: Callable[[str], bool] = lambda _: False
    ) -> None:
        """`is_deleted`: whether the question's message, and so its thread, was deleted."""
        self._engine = engine
        self._is_deleted = is_deleted
        create_tables(engine)

    def count(
        self, occurrence: Occurrence, elsewhere: Callable[[], str] = lambda: ""
    ) -> EpisodeUpdate:
        """Add an occurrence to its episode; a second time it changes nothing.

        `elsewhere`: another channel that has a runbook for it; called only for a new episode."""
        occurrence = self._with_return(occurrence)
        if existing := self._counted(occurrence.id):
            return EpisodeUpdate(episode=existing, is_new=False)
        if occurrence.status == "resolved":
            return self._resolve(occurrence)
        episode = self._episode_of(occurrence, elsewhere)
        began = episode.question_id == occurrence.message
        # Messages are read in any order: its end may be on record before its beginning.
        is_over = began and self._adopt(occurrence, episode)
        is_new = self._add(occurrence, episode.id, episode.question_id)
        self.settle(episode.id)
        is_change = is_over or not began or bool(occurrence.returned)
        return EpisodeUpdate(episode=episode, is_new=is_new, changes=is_change)

    def end(self, episode: Episode, message: str, at: datetime) -> None:
        """End an episode by an edited message that no longer names the alert."""
        occurrence = Occurrence(
            message=message, kind=episode.kind, named="", name=episode.name,
            domain=episode.domain, channel=episode.channel, outcome=episode.outcome,
            status="resolved", places=(), at=at, edited=True,
        )  # fmt: skip
        self._add(self._with_return(occurrence), episode.id, episode.question_id)
        self.settle(episode.id)

    def keep_quiet(self, episode: Episode) -> None:
        with self._engine.begin() as connection:
            change = update(EpisodeRow).where(EpisodeRow.id == episode.id)
            connection.execute(change.values(quiet=1))

    def wake(self, episode: Episode, message: str) -> Episode:
        """The episode; one without an answer is answered at this message, unless another message
        was first."""
        if not episode.quiet:
            return episode
        is_quiet = update(EpisodeRow).where(EpisodeRow.id == episode.id, EpisodeRow.quiet == 1)
        change = update(OccurrenceRow).where(OccurrenceRow.episode == episode.id)
        with self._engine.begin() as connection:
            if connection.execute(is_quiet.values(quiet=0, question_id=message)).rowcount:
                connection.execute(change.values(question_id=message))
        return self._all(select(EpisodeRow).where(EpisodeRow.id == episode.id))[0]

    def settle(self, episode: str) -> Tally | None:
        """Recompute when an episode fired last and ended; None without occurrences."""
        query = select(OccurrenceRow).where(OccurrenceRow.episode == episode)
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(OccurrenceRow.at)).all()
        tally = tally_of(rows)
        if tally:
            change = update(EpisodeRow).where(EpisodeRow.id == episode)
            change = change.values(last_at=tally.last_at, resolved_at=tally.resolved_at)
            with self._engine.begin() as connection:
                connection.execute(change)
        return tally

    def of_question(self, question: str) -> list[Episode]:
        """Episodes that this thread reports, by name."""
        query = select(EpisodeRow).where(EpisodeRow.question_id == question)
        return self._all(query.order_by(EpisodeRow.name, EpisodeRow.id))

    def occurrences(self, questions: Sequence[str]) -> Sequence[Row[Any]]:
        """What these threads report, in order of time, with its episode's name and end."""
        query = (
            select(OccurrenceRow.__table__, EpisodeRow.name, EpisodeRow.resolved_at)
            .join(EpisodeRow, OccurrenceRow.episode == EpisodeRow.id)
            .where(OccurrenceRow.question_id.in_(questions))
        )
        with self._engine.connect() as connection:
            return connection.execute(query.order_by(OccurrenceRow.at, OccurrenceRow.id)).all()

    def of_message(self, message: str) -> list[Episode]:
        """Episodes that fired in it."""
        query = select(EpisodeRow).join(OccurrenceRow, OccurrenceRow.episode == EpisodeRow.id)
        mine = OccurrenceRow.id.startswith(f"{message}:", autoescape=True)
        return self._all(query.where(mine, OccurrenceRow.status == "firing"))

    def _episode_of(self, occurrence: Occurrence, elsewhere: Callable[[], str]) -> Episode:
        """The running episode, or a new one."""
        while True:
            latest = self._latest(occurrence.kind)
            if latest and not (latest.is_past(occurrence) or self._is_deleted(latest.question_id)):
                return latest
            number = int(latest.id.rpartition("-")[2]) + 1 if latest else 1
            values = {
                "id": f"{occurrence.kind}-{number}", "kind": occurrence.kind, "number": number,
                "named": occurrence.named, "name": occurrence.name, "domain": occurrence.domain,
                "channel": occurrence.channel, "outcome": occurrence.outcome,
                "elsewhere": elsewhere(), "question_id": occurrence.message,
                "began_at": occurrence.at, "last_at": occurrence.at, "quiet": 0,
            }  # fmt: skip
            if insert_once(self._engine, EpisodeRow, **values):
                return Episode.of(values)
            # Another worker began it first: this occurrence is a repeat.

    def _resolve(self, occurrence: Occurrence) -> EpisodeUpdate:
        """Written before the episode is looked up again: when one worker reads the beginning and
        another the end, one of them sees both."""
        episode = self._episode_to_end(occurrence)
        if episode:
            is_new = self._add(occurrence, episode.id, episode.question_id)
        else:
            is_new = self._add(occurrence, occurrence.pending, occurrence.message)
            episode = self._episode_to_end(occurrence)
            if episode is None or not self._adopt(occurrence, episode):
                return EpisodeUpdate(episode=episode, is_new=is_new)
        self.settle(episode.id)
        return EpisodeUpdate(episode=episode, is_new=is_new)

    def _episode_to_end(self, occurrence: Occurrence) -> Episode | None:
        """The message that ends it may name fewer labels than the one that began it, or more. Where
        it leads to another row, the episode is another one too."""
        latest = self._latest(occurrence.kind)
        if latest and latest.is_past(occurrence):
            latest = None
        is_exact = occurrence.outcome == "found"
        if latest and (is_exact or latest.resolved_at is None):
            return latest
        query = select(EpisodeRow).where(
            EpisodeRow.named == occurrence.named,
            EpisodeRow.resolved_at.is_(None),
            EpisodeRow.last_at >= occurrence.at - NOTICE_VALID_FOR,
        )
        if is_exact:
            query = query.where(EpisodeRow.outcome != "found")
        firing = self._all(query.limit(_MAX_FIRING))
        if len(firing) > 1 and occurrence.places:
            firing = [one for one in firing if self._fires_on(one, occurrence.places)]
        return firing[0] if len(firing) == 1 else latest

    def _fires_on(self, episode: Episode, places: Sequence[str]) -> bool:
        tally = self.settle(episode.id)
        return bool(tally and set(places) & set(tally.firing))

    def _with_return(self, occurrence: Occurrence) -> Occurrence:
        """With its time where an edit brings back a status that the message had before another."""
        mine = f"{occurrence.message}:{occurrence.kind[:24]}:"
        query = select(OccurrenceRow.status, OccurrenceRow.at).order_by(OccurrenceRow.at)
        query = query.where(OccurrenceRow.id.startswith(mine, autoescape=True))
        if not occurrence.edited:
            return occurrence
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        statuses = {row.status for row in rows}
        latest = {row.status for row in rows if row.at == rows[-1].at}
        if occurrence.status not in statuses - latest or rows[-1].at >= occurrence.at:
            return occurrence
        return replace(occurrence, returned=f":{occurrence.at:%Y%m%d%H%M%S}")

    def _adopt(self, occurrence: Occurrence, episode: Episode) -> bool:
        """Attach an end that was read before the beginning; whether there was one."""
        change = update(OccurrenceRow).where(
            OccurrenceRow.episode.in_((f"?{occurrence.kind}", f"?{occurrence.named}")),
            OccurrenceRow.at >= episode.began_at,
        )
        values = {"episode": episode.id, "question_id": episode.question_id}
        with self._engine.begin() as connection:
            return connection.execute(change.values(**values)).rowcount > 0

    def _add(self, occurrence: Occurrence, episode: str, question: str) -> bool:
        """False where it is on record."""
        return insert_once(
            self._engine, OccurrenceRow, id=occurrence.id, episode=episode, question_id=question,
            domain=occurrence.domain, status=occurrence.status,
            places=json.dumps(occurrence.places), at=occurrence.at,
            severities=json.dumps(occurrence.severities),
        )  # fmt: skip

    def _latest(self, kind: str) -> Episode | None:
        query = select(EpisodeRow).where(EpisodeRow.kind == kind)
        return next(iter(self._all(query.order_by(EpisodeRow.number.desc()).limit(1))), None)

    def _counted(self, occurrence: str) -> Episode | None:
        query = select(EpisodeRow).join(OccurrenceRow, OccurrenceRow.episode == EpisodeRow.id)
        return next(iter(self._all(query.where(OccurrenceRow.id == occurrence))), None)

    def _all(self, query: Select[Any]) -> list[Episode]:
        with self._engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
        return [Episode.of(dict(row)) for row in rows]
