"""Finds the person or group that a level of the escalation calls now, as Slack knows them; or the
reason why it calls nobody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

import structlog

from bot.rotas.moments import Period
from bot.rotas.rota import (
    FOR_A_CALL_SECONDS,
    FRESH_SECONDS,
    CachedRota,
    RotaCache,
    format_local,
    zone_of,
)
from bot.rotas.shifts import RotaTurn, named_at, turn_at, turns_between
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from config.domain import Domain, EscalationLevel
from config.errors import ConfigError

log = structlog.get_logger()

PATIENCE = 30.0
"""Seconds that a call waits for Slack to say who someone is."""
MAX_MEMBERS = 15
"""Members of a group that are checked until one is still in Slack."""
_NO_SUCH_PERSON = {"user_not_found", "user_not_visible"}
_NO_SUCH_GROUP = {"no_such_subteam", "subteam_not_found"}


@dataclass(frozen=True, kw_only=True)
class CallTarget:
    who: str = ""
    """Slack id of a person or group; empty: nobody."""
    why: str = ""
    """Why another person or nobody is called, visible to everyone; without a full stop."""


@dataclass(frozen=True, kw_only=True)
class OnCall:
    """The current shift by the domain's rota."""

    who: str
    """Slack id; empty in a gap, or when Slack doesn't know them."""
    named: bool
    """Whether the shift has a person, in Slack or not."""
    until: datetime | None
    """UTC; None where the rota was not read that far ahead."""
    zone: str


class OnCallResolver:
    def __init__(self, web: SlackClient, rotas: RotaCache, user_at: Callable[[str], str]) -> None:
        """`user_at`: e-mail address → Slack id of the account that our workspace gave it; empty for
        none. Raises SlackBusy or SlackUnsure."""
        self._web = web
        self._user_at = user_at
        self.rotas = rotas

    def first(self, domain: Domain) -> CallTarget:
        """The person on shift, else the configured person or group."""
        escalation, why = domain.escalation, ""
        if escalation.rota:
            target = self._on_shift(domain, escalation.rota)
            if target.who:
                return target
            why = target.why
        for who in filter(None, (escalation.user, escalation.usergroup)):
            fallback = self._present(who)
            why = why or fallback.why
            if fallback.who:
                return CallTarget(who=fallback.who, why=why)
        return CallTarget(why=why)

    def level(self, domain: Domain, level: EscalationLevel) -> CallTarget:
        if level.rota:
            return self._on_shift(domain, level.rota)
        return self._present(level.user or level.usergroup)

    def on_call(self, domain: Domain, *, within: float = FRESH_SECONDS) -> OnCall | None:
        """None for a domain whose rota isn't there or can't be read."""
        cached = self._rota(domain, within)
        if cached is None:
            return None
        return self._on_call(domain, cached, turn_at(cached.shifts, datetime.now(UTC)))

    def upcoming(self, domain: Domain, count: int) -> list[tuple[datetime, OnCall]]:
        """The next turns with their starts, UTC; none where the rota can't be read."""
        cached = self._rota(domain, FOR_A_CALL_SECONDS)
        if cached is None:
            return []
        now = datetime.now(UTC)
        later = (
            (start, turn) for start, turn in turns_between(cached.shifts, now)
            if start > now and turn.who
        )  # fmt: skip
        return [(at, self._on_call(domain, cached, turn)) for at, turn in islice(later, count)]

    def turns(self, domain: Domain, period: Period) -> list[tuple[datetime, OnCall]]:
        """Who is on call in a period, gaps too, each with its start in it, UTC; the successive
        shifts of one person as one. Raises ConfigError where the rota can't be read."""
        cached = self.rotas.of(domain, domain.escalation.rota, within=FOR_A_CALL_SECONDS)
        shifts = cached.covering(period.start, period.end)
        turns: list[tuple[datetime, RotaTurn]] = []
        for start, turn in turns_between(shifts, period.start, period.end):
            if turns and turns[-1][1].who == turn.who:
                start, _ = turns.pop()
            turns.append((start, turn))
        zone, ids = zone_of(domain, cached), {turn.who: "" for _, turn in turns}
        ids = {who: self._slack_id(who) for who in ids}
        return [
            (start, OnCall(who=ids[one.who], named=bool(one.who), until=one.until, zone=zone))
            for start, one in turns
        ]

    def zone(self, domain: Domain) -> str:
        """The zone of its times."""
        own = domain.escalation.time_zone or not domain.escalation.rota
        return zone_of(domain, None if own else self._rota(domain, FOR_A_CALL_SECONDS))

    def _rota(self, domain: Domain, within: float) -> CachedRota | None:
        try:
            return self.rotas.of(domain, domain.escalation.rota, within=within)
        except ConfigError:
            return None

    def _on_call(self, domain: Domain, cached: CachedRota, turn: RotaTurn) -> OnCall:
        return OnCall(
            who=self._slack_id(turn.who),
            named=bool(turn.who),
            until=turn.until,
            zone=zone_of(domain, cached),
        )

    def _on_shift(self, domain: Domain, rota: str) -> CallTarget:
        now = datetime.now(UTC)
        try:
            cached = self.rotas.of(domain, rota, within=FOR_A_CALL_SECONDS)
            turn = turn_at(cached.shifts, now)
            if not turn.who:
                named_at(cached.shifts, now, rota=cached.label)
                return CallTarget(why=_gap(domain, cached, turn))
        except ConfigError:
            return CallTarget(why="the rota can't be read")
        if "@" in turn.who and not (slack_id := self._slack_id(turn.who)):
            return CallTarget(why="the rota names somebody whom Slack doesn't know")
        return self._present(slack_id if "@" in turn.who else turn.who)

    def _present(self, who: str) -> CallTarget:
        """Whom to call; nobody only where Slack confirms that they can't be reached."""
        if who.startswith("S"):
            why = self._empty(who)
            return CallTarget(why=why) if why else CallTarget(who=who)
        try:
            reply = self._web.call("users.info", patience=PATIENCE, user=who)
        except (SlackRefused, SlackBusy, SlackUnsure) as error:
            if isinstance(error, SlackRefused) and error.code in _NO_SUCH_PERSON:
                return CallTarget(why="Slack doesn't know whoever it should be")
            log.warning("slack user lookup failed, calling them anyway", reason=str(error))
            return CallTarget(who=who)
        if (reply.get("user") or {}).get("deleted"):
            return CallTarget(why="whoever it should be has left Slack")
        return CallTarget(who=who)

    def _empty(self, group: str) -> str:
        """Why a mention of the group reaches nobody; empty where it may reach someone."""
        try:
            reply = self._web.call("usergroups.users.list", patience=PATIENCE, usergroup=group)
        except (SlackRefused, SlackBusy, SlackUnsure) as error:
            if isinstance(error, SlackRefused) and error.code in _NO_SUCH_GROUP:
                return "Slack doesn't know the group"
            log.warning(
                "slack group lookup failed, calling it anyway", group=group, reason=str(error)
            )
            return ""
        members = [str(user) for user in reply.get("users") or []]
        if not members:
            return "the group has nobody in it"
        checked = members[:MAX_MEMBERS]
        if len(members) == len(checked) and not any(self._present(one).who for one in checked):
            return "everybody in the group has left Slack"
        return ""

    def _slack_id(self, who: str) -> str:
        if "@" not in who:
            return who
        try:
            user = self._user_at(who)
        except (SlackBusy, SlackUnsure) as error:
            # Until Slack responds, call another person rather than nobody.
            log.warning("slack lookup of a rota e-mail failed", reason=str(error))
            return ""
        if not user:
            log.warning("the rota names an e-mail that Slack doesn't know")
        return user


def calls_someone(domain: Domain) -> bool:
    """Whether its file says who is called first."""
    return bool(domain.escalation.rota or domain.escalation.user or domain.escalation.usergroup)


def _gap(domain: Domain, cached: CachedRota, turn: RotaTurn) -> str:
    if turn.until is None:
        return "nobody is on call for weeks, says the rota"
    zone = zone_of(domain, cached)
    return f"nobody is on call until {format_local(turn.until, zone)} ({zone})"
