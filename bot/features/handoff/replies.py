"""Who is, was and will be on call, when somebody is, and whom a hand-off calls: told in the
thread, calling nobody.

People are links to their profiles, because a mention would notify them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property

from agents.own_knowledge import is_named
from bot.blocks.kit import MAX_TEXT_CHARS, Json, actions, context, link, section
from bot.blocks.render import SlackMessage, ask_human
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.feature import BotQuestion, FeatureContext
from bot.features.handoff.escalation import escalation_steps
from bot.features.handoff.store import AGAIN
from bot.rotas.moments import Period, period_in
from bot.rotas.on_call import CallTarget, OnCall, OnCallResolver, calls_someone
from bot.rotas.rota import FOR_A_CALL_SECONDS, format_local
from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure
from bot.slack.messages import profile_name
from config.domain import Domain
from config.errors import ConfigError
from config.parsing.schedules import time_zone_problem

_WORD = re.compile(r"[^\W_]+")
MAX_TURNS = 3
"""Turns after the present one."""
MAX_IN_PERIOD = 10
AHEAD = timedelta(days=90)
"""In which somebody's next turns are looked for."""
MAX_DOMAINS = 40
MAX_MEMBERS = 5
REACHED = "Names lead to profiles. *Ask a human* calls whoever is on call now."
UNSURE = "so I can't tell"
PATIENCE = 10.0
"""Seconds that a person waits for a name."""


@dataclass(frozen=True)
class _RotaQuery:
    """A question, of one domain that it is for."""

    question: BotQuestion
    domain: Domain
    zone: str
    now: datetime
    period: Period | None = None
    """That the question names."""

    @property
    def within(self) -> Period:
        return self.period or Period(self.now, self.now + AHEAD)


@dataclass(frozen=True)
class OnCallReplies:
    """The replies to one question, for which Slack is asked for each name once. Each is None where
    no domain has the name in the question, or calls anybody."""

    context: FeatureContext
    resolver: OnCallResolver
    people: dict[str, str] = field(default_factory=dict, init=False)
    """Id → name."""

    def on_call(self, question: BotQuestion) -> SlackMessage | None:
        parts = []
        for query in self._named(question):
            domain = query.domain
            by_hand = "" if domain.escalation.rota else "there is no rota, *Ask a human* calls "
            if query.period and (domain.escalation.rota or question.about.is_past):
                parts.append(self._in_period(query, query.period))
            else:
                first = f"{_bold(domain.title)}: {by_hand}{self._now(domain)}"
                parts.append([first, *(f"• {line}" for line in self._next(domain))])
        return _message(question, parts, REACHED if not question.about.is_past else "")

    def turns(self, question: BotQuestion) -> SlackMessage | None:
        """When the asker is on call, or somebody whom the rota names."""
        named = (one for one in self._named(question) if one.domain.escalation.rota)
        return _message(question, [lines for query in named if (lines := self._turns_of(query))])

    def escalation(self, question: BotQuestion) -> SlackMessage | None:
        parts = []
        for query in self._named(question):
            if query.period is None:
                title = _bold(query.domain.title)
                first = f"{title}: *Ask a human* calls, until somebody takes it,"
                steps = enumerate(self._steps(query.domain), start=1)
                parts.append([first, *(f"{at}. {step}" for at, step in steps)])
        return _message(question, parts)

    def _named(self, question: BotQuestion) -> Iterator[_RotaQuery]:
        """Domains that call somebody and have the name in the question; all without one."""
        about, now = question.about, datetime.now(UTC)
        for domain in filter(calls_someone, question.domains):
            names, zone = (domain.title, domain.domain), self.resolver.zone(domain)
            query = _RotaQuery(question, domain, zone, now)
            if is_named(about.subject, *names):
                if not about.is_past:
                    yield query
            elif split := period_in(about.subject, now, zone, is_past=about.is_past):
                period, rest = split
                if is_named(rest, *names):
                    yield replace(query, period=period)

    def _in_period(self, query: _RotaQuery, period: Period) -> list[str]:
        if not query.domain.escalation.rota:
            return [f"{_bold(query.domain.title)}: there is no rota that says who it was"]
        try:
            turns = self.resolver.turns(query.domain, period)
        except ConfigError:
            return [_unreadable(query.domain)]
        first = f"{self._heading(query)}:"
        lines = [self._turn(start, turn, period) for start, turn in turns]
        if len(lines) == 1:
            return [f"{first} {lines[0]}"]
        more = len(lines) - MAX_IN_PERIOD
        listed = [f"• {line}" for line in lines[:MAX_IN_PERIOD]]
        return [first, *listed, *([f"… and {more} more"] if more > 0 else [])]

    def _turns_of(self, query: _RotaQuery) -> list[str]:
        """Empty where the rota doesn't name the person whom the question names."""
        person, within = query.question.about.person, query.within
        around = Period(min(query.now, within.start), max(query.now + AHEAD, within.end))
        try:
            turns = self.resolver.turns(query.domain, within)
            wider = self.resolver.turns(query.domain, around) if person else turns
        except ConfigError:
            return [] if person else [_unreadable(query.domain)]
        ids = dict.fromkeys(turn.who for _, turn in wider if turn.who)
        if not person:
            mine = {who for who in ids if self._is_or_has(who, query.question.event.user)}
            return self._turns_for(query, turns, "you", mine)
        named = [who for who in ids if self._is_called(who, person)]
        return [
            line for who in named for line in self._turns_for(query, turns, self._name(who), {who})
        ]

    def _turns_for(
        self,
        query: _RotaQuery,
        turns: Sequence[tuple[datetime, OnCall]],
        subject: str,
        whose: Collection[str],
    ) -> list[str]:
        """`whose`: ids by which the rota names the subject."""
        theirs = [(start, turn) for start, turn in turns if turn.who in whose]
        is_past = query.question.about.is_past
        be = ("were" if is_past else "are") if subject == "you" else ("was" if is_past else "is")
        heading = self._heading(query)
        if theirs:
            spans = [self._span(start, turn, query.within) for start, turn in theirs[:MAX_TURNS]]
            lines = [f"• {span.strip() or 'all the time'}" for span in spans]
            later = "next " if query.period is None and theirs[0][0] > query.now else ""
            return [f"{heading}: {subject} {be} {later}on call", *lines]
        if any(self._is_unknown(turn) for _, turn in turns):
            return [f"{heading}: the rota names somebody whom I can't find in Slack now, {UNSURE}"]
        return [f"{heading}: {subject} {be} not on call, says the rota"]

    def _heading(self, query: _RotaQuery) -> str:
        """The domain and what was understood, also by the asker's clock."""
        title = _bold(query.domain.title)
        if query.period is None:
            return f"{title}, the next {AHEAD.days} days ({query.zone})"
        own = self.context.gate.people.time_zone(query.question.event.user)
        when = query.period.label(query.zone, query.now)
        # UTC where Slack doesn't say.
        is_known = own != "UTC" and not time_zone_problem(own)
        theirs = query.period.label(own, query.now) if is_known else when
        also = f"; {theirs} in {own}" if theirs != when else ""
        says = "; as the rota says now" if query.question.about.is_past else ""
        return f"{title}, {when} ({query.zone}{also}{says})"

    def _turn(self, start: datetime, turn: OnCall, period: Period) -> str:
        unknown = "somebody whom Slack doesn't know" if turn.named else "nobody"
        name = self._name(turn.who) if turn.who else unknown
        return f"{name}{self._left(turn.who)}{self._span(start, turn, period)}"

    def _span(self, start: datetime, turn: OnCall, period: Period) -> str:
        """Where a turn begins or ends within the period, or ends after a moment."""
        begins = f" from {format_local(start, turn.zone)}" if start > period.start else ""
        is_shown = turn.until and (turn.until < period.end or period.start == period.end)
        until = f" until {format_local(turn.until, turn.zone)}" if is_shown and turn.until else ""
        return begins + until

    def _left(self, who: str) -> str:
        if not who.startswith("U"):
            return ""
        try:
            is_former = self.context.gate.people.member(who).kind == "former"
        except (SlackBusy, SlackUnsure):
            return ""
        return " (has left Slack)" if is_former else ""

    def _is_called(self, who: str, words: str) -> bool:
        """Whether a person has a name of these words."""
        names = _WORD.findall(self._profile(who).lower())
        return not who.startswith("S") and set(words.split()) <= set(names)

    def _is_or_has(self, who: str, user: str) -> bool:
        """Whether it is this person, or a group with them."""
        return who == user or (who.startswith("S") and user in self._members(who))

    def _now(self, domain: Domain) -> str:
        first = self.resolver.first(domain)
        within = FOR_A_CALL_SECONDS
        shift = self.resolver.on_call(domain, within=within) if domain.escalation.rota else None
        if shift is None or not first.who or shift.who != first.who:
            return self._called(first)
        until = f" until {format_local(shift.until, shift.zone)}" if shift.until else ""
        return f"{self._name(first.who)} is on call{until} ({shift.zone})"

    def _next(self, domain: Domain) -> Iterator[str]:
        turns = self.resolver.upcoming(domain, MAX_TURNS) if domain.escalation.rota else []
        for start, turn in turns:
            until = f" until {format_local(turn.until, turn.zone)}" if turn.until else ""
            yield f"{self._name(turn.who)} from {format_local(start, turn.zone)}{until}"

    def _steps(self, domain: Domain) -> Iterator[str]:
        yield self._now(domain)
        for step in escalation_steps(domain.escalation)[1:]:
            when = f"{round(step.wait.total_seconds() / 60)} minutes later"
            if step.name == AGAIN or step.level is None:
                yield f"{when} the same once more"
            else:
                name = f"{_bold(step.level.name)}: " if step.level.name else ""
                yield f"{when} {name}{self._called(self.resolver.level(domain, step.level))}"

    def _called(self, target: CallTarget) -> str:
        """Who is called, and why not another."""
        why = sanitize_mrkdwn(target.why)
        if not target.who:
            return f"nobody: {why or 'nobody is configured'}"
        return f"{self._name(target.who)} ({why})" if why else self._name(target.who)

    def _name(self, who: str) -> str:
        """Of a person, linked; of a group with its members, while they are few."""
        team_url = self.context.identity.team_url
        if not who.startswith("S"):
            return link(f"{team_url}/team/{who}" if who and team_url else "", self._profile(who))
        if self._groups is None:
            return "a group of people"
        group = self._groups.get(who, {})
        members = self._members(who)
        names = ", ".join(self._name(user) for user in members[:MAX_MEMBERS])
        more = " and others" if len(members) > MAX_MEMBERS else ""
        return f"{_bold(str(group.get('name') or 'a group'))} ({names}{more})"

    def _profile(self, who: str) -> str:
        if who not in self.people:
            self.people[who] = profile_name(self.context.web, who)
        return self.people[who]

    def _is_unknown(self, turn: OnCall) -> bool:
        """Whether somebody has it of whom Slack doesn't say who it is."""
        return (turn.named and not turn.who) or (turn.who.startswith("S") and self._groups is None)

    def _members(self, group: str) -> list[str]:
        return [str(user) for user in (self._groups or {}).get(group, {}).get("users") or []]

    @cached_property
    def _groups(self) -> Mapping[str, Json] | None:
        """By id; None where Slack doesn't say."""
        try:
            reply = self.context.web.call("usergroups.list", patience=PATIENCE, include_users=True)
        except (SlackRefused, SlackBusy, SlackUnsure):
            return None
        return {str(one.get("id")): one for one in reply["usergroups"]}


def _bold(text: str) -> str:
    return f"*{sanitize_mrkdwn(text)}*"


def _unreadable(domain: Domain) -> str:
    return f"{_bold(domain.title)}: the rota can't be read, so I can't tell"


def _message(
    question: BotQuestion, parts: Sequence[Sequence[str]], hint: str = ""
) -> SlackMessage | None:
    """A section for each domain; with *Ask a human* where it can call only those that are named."""
    if not parts:
        return None
    texts = [_within_limit(lines) for lines in parts[:MAX_DOMAINS]]
    blocks = [section(text) for text in texts]
    if hint:
        blocks.append(context([hint]))
    if len(question.domains) == 1:
        blocks.append(actions([ask_human(question.event.id)], block_id="oncall_human"))
    return SlackMessage(text="\n".join(texts), blocks=blocks)


def _within_limit(lines: Sequence[str]) -> str:
    """As many whole lines as a section holds."""
    while len(text := "\n".join(lines)) > MAX_TEXT_CHARS and len(lines) > 1:
        lines = lines[:-1]
    return text
