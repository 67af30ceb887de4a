"""Episodes of alerts in the database: each message counted once, by any worker, in any order."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, Select, insert, select, update
from sqlalchemy.exc import IntegrityError

from bot.alerts.alert_episodes import SAID_ONCE_FOR, Episode, Occurrence, Taken, Tally, tally_of
from bot.memory.alert_tables import alert_episodes, alert_occurrences, create_alert_tables


class KeptEpisodes:
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
