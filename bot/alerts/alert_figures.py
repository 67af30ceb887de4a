"""How many alerts there are: by which the bot keeps its pace, and what a digest tells."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, Select, func, select, tuple_

from bot.alerts.alert_episodes import WITHOUT_RUNBOOK, Episode
from bot.memory.alert_tables import alert_episodes, alert_occurrences
from bot.memory.state_tables import questions


@dataclass(frozen=True)
class AlertFigures:
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
            .join(questions, questions.c.id == alert_episodes.c.question_id)
            .where(alert_episodes.c.channel == channel, alert_episodes.c.last_at >= since)
            .where(alert_episodes.c.outcome != "none")
            .where(questions.c.state.in_(("working", "answered")))
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
