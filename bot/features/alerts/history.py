"""What is on record of alerts: how many fire now, and the history that other features read; see
`bot.feature.AlertHistory`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Engine, Select, and_, func, select, tuple_

from bot.feature import AlertEpisode
from bot.features.alerts.episodes import WITHOUT_RUNBOOK, Episode
from bot.features.alerts.store import EpisodeRow, OccurrenceRow
from bot.questions.tables import QuestionRow

_MAX_EPISODES, _MAX_PAST = 100, 1_000
_FIRED = (OccurrenceRow.episode == EpisodeRow.id, OccurrenceRow.status == "firing")


@dataclass(frozen=True)
class AlertCounts:
    """Number of firing alerts: it sets the bot's pace, and a digest lists it."""

    engine: Engine

    def active(self, since: datetime) -> int:
        """Kinds that have fired since then."""
        query = select(func.count()).select_from(EpisodeRow)
        return self._count(query.where(EpisodeRow.last_at >= since))

    def waiting(self, channel: str, since: datetime) -> int:
        """Kinds of a channel with a runbook that have fired since then and are not answered."""
        query = (
            select(func.count())
            .select_from(EpisodeRow)
            .join(QuestionRow, QuestionRow.id == EpisodeRow.question_id)
            .where(EpisodeRow.channel == channel, EpisodeRow.last_at >= since)
            .where(EpisodeRow.outcome != "none")
            .where(QuestionRow.state.in_(("working", "answered")))
        )
        return self._count(query)

    def unknown_before(self, episode: Episode, since: datetime) -> int:
        """Kinds of its channel without a runbook that began since then and before it."""
        query = (
            select(func.count())
            .select_from(EpisodeRow)
            .where(EpisodeRow.channel == episode.channel, EpisodeRow.outcome == "none")
            .where(EpisodeRow.began_at >= since)
            .where(tuple_(EpisodeRow.began_at, EpisodeRow.id) < (episode.began_at, episode.id))
        )
        return self._count(query)

    def loudest(
        self, domain: str, since: datetime, *, without_runbook: bool = False, limit: int = 5
    ) -> list[tuple[str, str, int]]:
        """(name, channel, times it fired there since then), the most frequent first."""
        fired = func.count().label("fired")
        query = (
            select(EpisodeRow.name, EpisodeRow.channel, fired)
            .join(OccurrenceRow, OccurrenceRow.episode == EpisodeRow.id)
            .where(EpisodeRow.domain == domain, OccurrenceRow.at >= since)
            .where(OccurrenceRow.status == "firing")
            .group_by(EpisodeRow.name, EpisodeRow.channel)
            .order_by(fired.desc(), EpisodeRow.name, EpisodeRow.channel)
            .limit(limit)
        )
        if without_runbook:
            query = query.where(EpisodeRow.outcome.in_(WITHOUT_RUNBOOK))
        with self.engine.connect() as connection:
            return [(row.name, row.channel, int(row.fired)) for row in connection.execute(query)]

    def past(self, domain: str, since: datetime) -> list[tuple[str, str, str]]:
        """(name, channel, question id) of episodes with a runbook since then, the newest first."""
        query = select(EpisodeRow.name, EpisodeRow.channel, EpisodeRow.question_id)
        query = query.where(EpisodeRow.domain == domain, EpisodeRow.last_at >= since)
        query = query.where(EpisodeRow.outcome.in_(("found", "several")))
        with self.engine.connect() as connection:
            rows = connection.execute(query.order_by(EpisodeRow.last_at.desc()).limit(_MAX_PAST))
            return [(row.name, row.channel, row.question_id) for row in rows]

    def question_ids(self, domain: str) -> set[str]:
        """Ids of the questions that are alerts."""
        query = select(EpisodeRow.question_id).where(EpisodeRow.domain == domain)
        with self.engine.connect() as connection:
            return set(connection.scalars(query))

    def _count(self, query: Select[Any]) -> int:
        with self.engine.connect() as connection:
            return int(connection.scalar(query) or 0)


@dataclass(frozen=True)
class RecordedAlerts:
    engine: Engine

    def of_question(self, question_id: str) -> list[AlertEpisode]:
        episodes = self._episodes(EpisodeRow.question_id == question_id)
        return sorted(episodes, key=lambda one: (one.name, one.id))

    def of_kind(self, kind: str) -> list[AlertEpisode]:
        latest = select(EpisodeRow.id).where(EpisodeRow.kind == kind)
        latest = latest.order_by(EpisodeRow.number.desc()).limit(_MAX_EPISODES)
        return self._episodes(EpisodeRow.id.in_(latest.scalar_subquery()))[::-1]

    def since(self, domain: str, since: datetime) -> list[AlertEpisode]:
        recent = OccurrenceRow.at >= since
        return self._episodes(EpisodeRow.domain == domain, EpisodeRow.last_at >= since, recent)

    def days(self, domain: str, since: datetime) -> dict[str, int]:
        days = func.count(func.date(OccurrenceRow.at).distinct())
        query = select(EpisodeRow.kind, days).join(OccurrenceRow, and_(*_FIRED))
        query = query.where(EpisodeRow.domain == domain, OccurrenceRow.at >= since)
        with self.engine.connect() as connection:
            return {
                kind: int(count)
                for kind, count in connection.execute(query.group_by(EpisodeRow.kind))
            }

    def fired(self, kind: str, since: datetime, until: datetime | None = None) -> int:
        query = (
            select(func.count(OccurrenceRow.id))
            .join(EpisodeRow, _FIRED[0])
            .where(EpisodeRow.kind == kind, _FIRED[1], OccurrenceRow.at > since)
        )
        if until is not None:
            query = query.where(OccurrenceRow.at <= until)
        with self.engine.connect() as connection:
            return int(connection.scalar(query) or 0)

    def signs(self, episode: str, until: datetime) -> tuple[tuple[str, ...], tuple[str, ...]]:
        query = (
            select(OccurrenceRow.severities, OccurrenceRow.places)
            .where(OccurrenceRow.episode == episode, _FIRED[1], OccurrenceRow.at <= until)
            .order_by(OccurrenceRow.at, OccurrenceRow.id)
        )
        severities, places = dict[str, None](), dict[str, None]()
        with self.engine.connect() as connection:
            for row in connection.execute(query):
                severities |= dict.fromkeys(json.loads(row.severities))
                places |= dict.fromkeys(json.loads(row.places))
        return tuple(severities), tuple(places)

    def _episodes(self, *conditions: ColumnElement[bool]) -> list[AlertEpisode]:
        """The oldest first."""
        names = [one for one in AlertEpisode.__dataclass_fields__ if one != "fired"]
        columns = [getattr(EpisodeRow, one) for one in names]
        query = (
            select(*columns, func.count(OccurrenceRow.id).label("fired"))
            .join(OccurrenceRow, and_(*_FIRED))
            .where(*conditions)
            .group_by(*columns)
            .order_by(EpisodeRow.began_at, EpisodeRow.id)
        )
        with self.engine.connect() as connection:
            return [AlertEpisode(**row) for row in connection.execute(query).mappings()]
