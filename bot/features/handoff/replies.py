"""Who is on call, who comes next, and whom a hand-off calls: told in the thread, calling nobody.

People are links to their profiles, because a mention would notify them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from agents.own_knowledge import is_named
from bot.blocks.kit import actions, link, section
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
    context: FeatureContext
    resolver: OnCallResolver

    def on_call(self, question: BotQuestion) -> SlackMessage | None:
        """None where no domain or level of the escalation has the name, or nobody is configured."""
        lines, subject = [], question.about.subject
        for domain in question.domains:
            if calls_someone(domain) and is_named(subject, domain.title, domain.domain):
                rota = "" if domain.escalation.rota else "there is no rota, *Ask a human* calls "
                lines.append(f"*{sanitize_mrkdwn(domain.title)}*: {rota}{self._now(domain)}")
                lines += [f"• {line}" for line in self._next(domain)]
                continue
            for level in domain.escalation.levels:
                if level.name and is_named(subject, level.name):
                    who = self._called(self.resolver.level(domain, level))
                    lines.append(f"*{sanitize_mrkdwn(level.name)}*: {who}")
        return _message(question, lines)

    def escalation(self, question: BotQuestion) -> SlackMessage | None:
        lines = []
        for domain in question.domains:
            if calls_someone(domain) and is_named(
                question.about.subject, domain.title, domain.domain
            ):
                title = sanitize_mrkdwn(domain.title)
                lines.append(f"*{title}*: *Ask a human* calls, until somebody takes it,")
                lines += self._steps(domain)
        return _message(question, lines)

    def _now(self, domain: Domain) -> str:
        first = self.resolver.first(domain)
        if not domain.escalation.rota:
            return self._called(first)
        shift = self.resolver.on_call(domain, within=FOR_A_CALL_SECONDS)
        if shift is None or not first.who or shift.who != first.who:
            return self._called(first)
        until = f" until {_local(shift.until, shift.zone)}" if shift.until else ""
        return f"{self._name(first.who)} is on call{until}"

    def _next(self, domain: Domain) -> Iterator[str]:
        turns = self.resolver.upcoming(domain, MAX_TURNS) if domain.escalation.rota else []
        for start, turn in turns:
            until = f" until {format_local(turn.until, turn.zone)}" if turn.until else ""
            name = self._name(turn.who) if turn.who else "somebody whom Slack doesn't know"
            yield f"{name} from {format_local(start, turn.zone)}{until}"

    def _steps(self, domain: Domain) -> Iterator[str]:
        for number, step in enumerate(escalation_steps(domain.escalation), start=1):
            minutes = round(step.wait.total_seconds() / 60)
            when = f"{minutes} minutes later " if number > 1 else ""
            if step.name == AGAIN:
                yield f"{number}. {when}the same once more"
            elif step.level is None:
                yield f"{number}. {self._now(domain)}"
            else:
                who = self._called(self.resolver.level(domain, step.level))
                name = sanitize_mrkdwn(step.level.name)
                yield f"{number}. {when}{f'*{name}*: {who}' if name else who}"

    def _called(self, target: CallTarget) -> str:
        """Who is called, and why not another."""
        why = sanitize_mrkdwn(target.why)
        if not target.who:
            return f"nobody: {why or 'nobody is configured'}"
        return f"{self._name(target.who)} ({why})" if why else self._name(target.who)

    def _name(self, who: str) -> str:
        if who.startswith("S"):
            return self._group(who)
        team_url = self.context.identity.team_url
        name = profile_name(self.context.web, who)
        return link(f"{team_url}/team/{who}" if team_url else "", name)

    def _group(self, group: str) -> str:
        """Its name, and its members while they are few."""
        web = self.context.web
        try:
            groups = web.call("usergroups.list", patience=PATIENCE).get("usergroups") or []
            reply = web.call("usergroups.users.list", patience=PATIENCE, usergroup=group)
        except (SlackRefused, SlackBusy, SlackUnsure):
            return "a group of people"
        name = next((str(one.get("name")) for one in groups if one.get("id") == group), "a group")
        members = [str(user) for user in reply.get("users") or []]
        listed = ", ".join(self._name(user) for user in members[:MAX_MEMBERS])
        more = f" and {len(members) - MAX_MEMBERS} more" if len(members) > MAX_MEMBERS else ""
        return f"*{sanitize_mrkdwn(name)}*: {listed}{more}" if listed else sanitize_mrkdwn(name)


def _local(moment: datetime, zone: str) -> str:
    return f"{format_local(moment, zone)} ({zone})"


def _message(question: BotQuestion, lines: list[str]) -> SlackMessage | None:
    """With *Ask a human* where it can call only those that are named."""
    if not lines:
        return None
    blocks = [section("\n".join(lines))]
    if len(question.domains) == 1:
        blocks.append(actions([ask_human(question.event.id)], block_id="oncall_human"))
    return SlackMessage(text="\n".join(lines), blocks=blocks)
