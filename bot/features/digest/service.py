"""Digests of a shift: planned ahead, and sent once each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import structlog

from agents.own_knowledge import is_named
from bot.blocks.render import SlackMessage
from bot.feature import BotQuestion, DigestPart, FeatureContext
from bot.features.digest.open_questions import OpenQuestions
from bot.features.digest.store import EMPTY, DigestStore, Period
from bot.features.digest.views import digest, open_parts, part_of, visible_part
from bot.posting.posts import metadata_of, post_once
from bot.rotas.on_call import OnCall, OnCallResolver
from bot.rotas.rota import FOR_A_CALL_SECONDS, FRESH_SECONDS, CachedRota, zone_of
from bot.rotas.shifts import begins_after
from bot.showing import Showing
from bot.slack.client import SlackRefused
from bot.slack.messages import ERASED, is_own, question_id
from config.domain import SHIFT_CHANGE, Domain, domain_of
from config.errors import ConfigError
from config.parsing.schedules import next_time
from durable.failures import passing_failure
from index.permissions.acts import Act

log = structlog.get_logger()

PartsOf = Callable[[Domain, datetime, Showing], Sequence[DigestPart]]
DIGEST = "digest"
"""Kind of its timers."""
DIGEST_EVENT = "oncall_digest"
FIRST_LOOKS_BACK = timedelta(days=7)
MAX_MESSAGES = 100
"""Messages of a conversation, from when the digest was due, that may be its own."""


@dataclass(frozen=True)
class DigestService:
    context: FeatureContext
    store: DigestStore
    resolver: OnCallResolver
    open_questions: OpenQuestions
    parts: Sequence[PartsOf]
    """Of other features."""
    _planning: threading.Lock = field(default_factory=threading.Lock)

    def plan(self) -> None:
        """Set the timer of each domain's next digest. Returns at once: a rota's server may be
        slow, and other timers must not wait for it."""
        if any(domain.digest for domain in self.context.domains().values()):
            threading.Thread(target=self._plan_each, name="digests", daemon=True).start()

    def _plan_each(self) -> None:
        if not self._planning.acquire(blocking=False):
            return  # the run before still waits for a rota
        try:
            for domain in self.context.domains().values():
                due = next_due(domain, self._rota(domain, FRESH_SECONDS), datetime.now(UTC))
                if due:
                    subject = Period(domain.domain, due).subject
                    self.context.timers.set(DIGEST, subject, due, keep=True)
        except Exception as error:  # the next minute tries again
            log.warning("digests could not be planned", cause=type(error).__name__)
        finally:
            self._planning.release()

    def send(self, subject: str) -> None:
        """Send the digest of a timer, if the schedule still has it. Safe to repeat."""
        period = Period.of(subject)
        domain = self.context.domains().get(period.domain)
        if domain is None or domain.digest is None:
            return
        if not is_due(domain, self._rota(domain, FOR_A_CALL_SECONDS), period):
            log.info("a digest is no longer due", domain=period.domain, at=period.key)
            return
        recipient, ts = self.store.begin(period)
        if ts:
            return
        on_call = None
        if domain.escalation.rota:
            on_call = self.resolver.on_call(domain, within=FOR_A_CALL_SECONDS)
        to = "" if recipient == ERASED else recipient
        to = to or self._recipient(domain, on_call)
        if not self._sent(domain, period, on_call, to) and to != domain.channels[0]:
            self._sent(domain, period, on_call, domain.channels[0])

    def open_here(self, question: BotQuestion) -> SlackMessage | None:
        """What is open in a domain's channel, and of no other; None elsewhere."""
        channel = question.event.channel
        domain = domain_of(question.domains, channel)
        if domain is None or not is_named(question.about.subject):
            return None
        showing = self.context.readers.showing(
            self.context.readers.channel(domain, channel), DIGEST, channel
        )
        since = datetime.now(UTC) - FIRST_LOOKS_BACK
        parts = [part_of(one, channel) for one in self._parts(domain, since, showing)]
        showing.record(f"{DIGEST}/{question.event.id}")
        return open_parts([one for one in parts if one.lines])

    def _sent(self, domain: Domain, period: Period, on_call: OnCall | None, to: str) -> bool:
        """False when Slack refuses the message there."""
        since = self.store.previous_due(period) or period.at - FIRST_LOOKS_BACK
        showing = self._showing(domain, to)
        may_see = showing.reader.sees
        parts = [visible_part(one, may_see) for one in self._parts(domain, since, showing)]
        if not parts:
            self.store.set(period, ts=EMPTY)
            return True
        self.store.set(period, recipient=to)
        showing.record(f"digest/{period.subject}/{to}")
        try:
            ts = self._post(period, digest(domain, parts, on_call, to=to), to)
        except SlackRefused as refused:
            log.error("slack refused the digest", domain=domain.domain, reason=refused.code)
            return False
        self.store.set(period, ts=ts)
        return True

    def _post(self, period: Period, message: SlackMessage, to: str) -> str:
        return self._find(period, to) or post_once(
            self.context.web,
            message,
            channel=to,
            metadata=metadata_of(DIGEST_EVENT, period.subject),
            find=lambda: self._find(period, to),
            on_placed=lambda channel: self.store.set(period, channel=channel),
        )

    def _find(self, period: Period, to: str) -> str | None:
        """The digest that was posted before a crash. A person's first one can't be found, as their
        conversation's id is unknown yet: better twice than none."""
        where = self.store.conversation_with(to) if to.startswith(("U", "W")) else to
        if not where:
            return None
        web = self.context.web
        history = web.call(
            "conversations.history",
            channel=where,
            oldest=f"{period.at.timestamp():.6f}",
            limit=MAX_MESSAGES,
            include_all_metadata=True,
        )
        for message in history.get("messages") or []:
            by_bot = message.get("bot_id") == web.bot_id
            own = by_bot or is_own(message, self.context.identity.user)
            if own and question_id(message, DIGEST_EVENT) == period.subject:
                return str(message["ts"])
        return None

    def _recipient(self, domain: Domain, on_call: OnCall | None) -> str:
        """The person on call, if the digest is for them and they may ask; else a channel."""
        who = on_call.who if on_call else ("" if domain.escalation.rota else domain.escalation.user)
        to_person = domain.digest is not None and domain.digest.to == "on_call"
        is_person = to_person and who.startswith(("U", "W"))
        if is_person and self.context.gate.open_to(Act.DIRECT_MESSAGE, who, [domain]):
            return who
        return domain.channels[0]

    def _showing(self, domain: Domain, to: str) -> Showing:
        """To one person, or to everyone in a channel."""
        readers, is_person = self.context.readers, to.startswith(("U", "W"))
        reader = readers.person(to) if is_person else readers.channel(domain, to)
        return readers.showing(reader, DIGEST, to)

    def _parts(self, domain: Domain, since: datetime, showing: Showing) -> Iterator[DigestPart]:
        """With the channel of each line."""
        yield from self.open_questions.parts(domain, since, showing.reader.sees)
        for of in self.parts:
            try:
                yield from (one for one in of(domain, since, showing) if one.lines)
            except Exception as error:  # a part that fails must not hold up the others
                if passing_failure(error):
                    raise  # all of them wait for the database
                log.exception("a part of a digest failed", cause=type(error).__name__)

    def _rota(self, domain: Domain, within: float) -> CachedRota | None:
        if not (domain.digest and domain.escalation.rota):
            return None
        try:
            return self.resolver.rotas.of(domain, domain.escalation.rota, within=within)
        except ConfigError:
            return None  # logged once, and visible to admins


def next_due(domain: Domain, rota: CachedRota | None, after: datetime) -> datetime | None:
    """When a domain's next digest is due after `after`, in UTC; None while unknown."""
    if domain.digest is None:
        return None
    if domain.digest.at == SHIFT_CHANGE:
        return begins_after(rota.shifts, after) if rota else None
    zone = domain.digest.time_zone or zone_of(domain, rota)
    return next_time(domain.digest.at, zone, after)


def is_due(domain: Domain, rota: CachedRota | None, period: Period) -> bool:
    """Whether the schedule still has this digest; True while its rota can't be read."""
    if domain.digest and domain.digest.at == SHIFT_CHANGE and rota is None:
        return True
    return next_due(domain, rota, period.at - timedelta(seconds=1)) == period.at
