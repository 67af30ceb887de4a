"""Who is on call, who comes next, and whom a hand-off calls: told in the thread, calling nobody.

People are links to their profiles, because a mention would notify them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from agents.own_knowledge import is_named
from bot.blocks.kit import Json, actions, link, section
from bot.blocks.render import SlackMessage, ask_human
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.feature import BotQuestion, FeatureContext
from bot.features.handoff.escalation import escalation_steps
from bot.features.handoff.store import AGAIN
from bot.rotas.on_call import CallTarget, OnCallResolver, calls_someone
from bot.rotas.rota import FOR_A_CALL_SECONDS, format_local
from bot.slack.client import SlackBusy, SlackRefused, SlackUnsure
from bot.slack.messages import profile_name
from config.domain import Domain

MAX_TURNS = 3
"""Turns after the present one."""
MAX_MEMBERS = 5
PATIENCE = 10.0
"""Seconds that a person waits for a name."""


@dataclass(frozen=True)
class OnCallReplies:
    """The replies to one question, for which Slack is asked for each name once. Both are None where
    no domain has the name in the question, or calls anybody."""

    context: FeatureContext
    resolver: OnCallResolver
    people: dict[str, str] = field(default_factory=dict, init=False)
    """Id → name."""

    def on_call(self, question: BotQuestion) -> SlackMessage | None:
        lines = []
        for domain in _named(question):
            by_hand = "" if domain.escalation.rota else "there is no rota, *Ask a human* calls "
            lines.append(f"{_bold(domain.title)}: {by_hand}{self._now(domain)}")
            lines += [f"• {line}" for line in self._next(domain)]
        return _message(question, lines)

    def escalation(self, question: BotQuestion) -> SlackMessage | None:
        lines = []
        for domain in _named(question):
            lines.append(f"{_bold(domain.title)}: *Ask a human* calls, until somebody takes it,")
            lines += [f"{at}. {step}" for at, step in enumerate(self._steps(domain), start=1)]
        return _message(question, lines)

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
            if who not in self.people:
                self.people[who] = profile_name(self.context.web, who)
            return link(f"{team_url}/team/{who}" if who and team_url else "", self.people[who])
        if self._groups is None:
            return "a group of people"
        group = self._groups.get(who, {})
        members = [str(user) for user in group.get("users") or []]
        names = ", ".join(self._name(user) for user in members[:MAX_MEMBERS])
        more = " and others" if len(members) > MAX_MEMBERS else ""
        return f"{_bold(str(group.get('name') or 'a group'))} ({names}{more})"

    @cached_property
    def _groups(self) -> Mapping[str, Json] | None:
        """By id; None where Slack doesn't say."""
        try:
            reply = self.context.web.call("usergroups.list", patience=PATIENCE, include_users=True)
        except (SlackRefused, SlackBusy, SlackUnsure):
            return None
        return {str(one.get("id")): one for one in reply["usergroups"]}


def _named(question: BotQuestion) -> list[Domain]:
    """Domains that call somebody and have the name in the question; all without one."""
    subject = question.about.subject
    return [
        domain
        for domain in question.domains
        if calls_someone(domain) and is_named(subject, domain.title, domain.domain)
    ]


def _bold(text: str) -> str:
    return f"*{sanitize_mrkdwn(text)}*"


def _message(question: BotQuestion, lines: list[str]) -> SlackMessage | None:
    """With *Ask a human* where it can call only those that are named."""
    text, blocks = "\n".join(lines), [section("\n".join(lines))]
    if len(question.domains) == 1:
        blocks.append(actions([ask_human(question.event.id)], block_id="oncall_human"))
    return SlackMessage(text=text, blocks=blocks) if lines else None
