"""When an alert fired and when it was over: each message counted once, by any worker."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, Row, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from bot.memory.alert_tables import alert_episodes, alert_occurrences, create_alert_tables

REOPENED_WITHIN = timedelta(minutes=30)
"""Fired again so soon after it was over, it is the same episode, in the same thread."""
OVER_AFTER = timedelta(hours=12)
"""Of silence: many tools never say that an alert is over. Alertmanager repeats every 4 hours."""
SAID_ONCE_FOR = timedelta(days=7)
"""That there is no runbook for a kind."""


@dataclass(frozen=True, kw_only=True)
class Occurrence:
    """One kind of alert in one message."""

    message: str
    """channel:ts"""
    kind: str
    named: str
    name: str
    domain: str
    channel: str
    outcome: str
    status: str
    """firing | resolved"""
    places: tuple[str, ...]
    at: datetime
    """UTC without a zone."""

    @property
    def id(self) -> str:
        return f"{self.message}:{self.kind[:24]}:{self.status}"


@dataclass(frozen=True, kw_only=True)
class Episode:
    id: str
    kind: str
    domain: str
    channel: str
    name: str
    outcome: str
    elsewhere: str
    question_id: str
    began_at: datetime
    last_at: datetime
    resolved_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Taken:
    episode: Episode | None
    """None: it is over, and nobody has heard of its beginning."""
    is_new: bool
    """This message was not counted before."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """All that is known of an episode's course."""

    fired: int
    last_at: datetime
    firing: tuple[str, ...]
    """What it still fires on, as far as the alerts name it."""
    over: tuple[str, ...]
    resolved_at: datetime | None
    """When the last of it was over; None while some of it fires."""


def key_of(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


class AlertEpisodes:
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
        episode = self._begun(seen, elsewhere) if seen.status == "firing" else self._to_end(seen)
        if episode is None:
            return Taken(episode=None, is_new=True)
        values = {
            "id": seen.id, "episode": episode.id, "question_id": episode.question_id,
            "domain": seen.domain, "status": seen.status, "places": json.dumps(seen.places),
            "at": seen.at,
        }  # fmt: skip
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(alert_occurrences).values(**values))
        except IntegrityError:
            return Taken(episode=self._counted(seen.id) or episode, is_new=False)
        self.settle(episode.id)
        return Taken(episode=episode, is_new=True)

    def settle(self, episode: str) -> Tally | None:
        """Its course, by which it is noted when it last fired and whether it is over."""
        tally = self.tally(episode)
        if tally:
            change = update(alert_episodes).where(alert_episodes.c.id == episode)
            noted = {"last_at": tally.last_at, "resolved_at": tally.resolved_at}
            with self._engine.begin() as connection:
                connection.execute(change.values(**noted))
        return tally

    def tally(self, episode: str) -> Tally | None:
        """None for one that is forgotten."""
        query = select(alert_occurrences).where(alert_occurrences.c.episode == episode)
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(alert_occurrences.c.at)).all()
        return _tally(rows)

    def get(self, episode: str) -> Episode | None:
        return self._one(select(alert_episodes).where(alert_episodes.c.id == episode))

    def of_question(self, question: str) -> list[Episode]:
        """Those that are told of in its thread, in order."""
        query = select(alert_episodes).where(alert_episodes.c.question_id == question)
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(alert_episodes.c.name, alert_episodes.c.id))
            return [_episode(row) for row in rows]

    def active(self, since: datetime) -> int:
        """How many kinds have fired since then."""
        query = select(func.count()).select_from(alert_episodes)
        with self._engine.connect() as connection:
            return int(connection.scalar(query.where(alert_episodes.c.last_at >= since)) or 0)

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
            query = query.where(alert_episodes.c.outcome.in_(("none", "other_scope")))
        with self._engine.connect() as connection:
            return [(row.name, row.channel, int(row.fired)) for row in connection.execute(query)]

    def _begun(self, seen: Occurrence, elsewhere: Callable[[], str]) -> Episode:
        while True:
            latest = self._latest(seen.kind)
            if latest and not (_is_past(latest, seen) or self._is_gone(latest.question_id)):
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
            return _episode_of(values)

    def _to_end(self, seen: Occurrence) -> Episode | None:
        """The message that ends it may name fewer labels than the one that began it."""
        latest = self._latest(seen.kind)
        if latest and not _is_past(latest, seen):
            return latest
        query = select(alert_episodes).where(
            alert_episodes.c.named == seen.named,
            alert_episodes.c.resolved_at.is_(None),
            alert_episodes.c.last_at >= seen.at - SAID_ONCE_FOR,
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query.limit(2)).all()
        return _episode(rows[0]) if len(rows) == 1 else None

    def _latest(self, kind: str) -> Episode | None:
        query = select(alert_episodes).where(alert_episodes.c.kind == kind)
        return self._one(query.order_by(alert_episodes.c.number.desc()).limit(1))

    def _counted(self, occurrence: str) -> Episode | None:
        query = select(alert_episodes).join(
            alert_occurrences, alert_occurrences.c.episode == alert_episodes.c.id
        )
        return self._one(query.where(alert_occurrences.c.id == occurrence))

    def _one(self, query: Any) -> Episode | None:
        with self._engine.connect() as connection:
            return _first(connection, query)


def _first(connection: Connection, query: Any) -> Episode | None:
    row = connection.execute(query).first()
    return _episode(row) if row else None


def _is_past(latest: Episode, seen: Occurrence) -> bool:
    """Whether what fires now is something new."""
    silent = seen.at - latest.last_at
    if latest.outcome in {"none", "other_scope"} and seen.status == "firing":
        return silent > SAID_ONCE_FOR
    if latest.resolved_at is not None and seen.status == "firing":
        return seen.at - latest.resolved_at > REOPENED_WITHIN
    return silent > (OVER_AFTER if seen.status == "firing" else SAID_ONCE_FOR)


def _tally(rows: Sequence[Row[Any]]) -> Tally | None:
    """Rows in the order of their time."""
    state: dict[str, str] = {}
    ended: datetime | None = None
    fired = [row for row in rows if row.status == "firing"]
    if not fired:
        return None
    for row in rows:
        places = json.loads(row.places) or [""]
        if row.status == "resolved" and not set(places) & set(state):
            places = list(state)  # it says that it is over, and not of what
        for place in places:
            state[place] = row.status
        if row.status == "resolved":
            ended = row.at
    firing = tuple(place for place, status in state.items() if status == "firing")
    return Tally(
        fired=len(fired),
        last_at=fired[-1].at,
        firing=tuple(filter(None, firing)),
        over=tuple(place for place, status in state.items() if place and status == "resolved"),
        resolved_at=None if firing else ended,
    )


def _episode(row: Row[Any]) -> Episode:
    return _episode_of(row._mapping)


def _episode_of(known: Any) -> Episode:
    fields = {name: known.get(name) for name in Episode.__dataclass_fields__}
    return Episode(**fields)


def utc(moment: datetime) -> datetime:
    """As the tables keep it."""
    return moment.astimezone(UTC).replace(tzinfo=None)
