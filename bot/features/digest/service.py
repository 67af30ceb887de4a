"""Digests, planned ahead and sent once each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import structlog

from bot.access.gate import EntryPoint, Gate
from bot.blocks.render import SlackMessage
from bot.bus.timers import TimerStore
from bot.feature import DigestPart
from bot.features.digest.schedule import Period, is_due, next_due
from bot.features.digest.store import EMPTY, DigestStore
from bot.features.digest.views import MaySee, OpenQuestions, as_read_by, digest
from bot.posting.posts import metadata_of, post_once
from bot.rotas.on_call import OnCall, OnCallResolver
from bot.rotas.rota import FOR_A_CALL_SECONDS, FRESH_SECONDS, CachedRota
from bot.slack.client import SlackClient, SlackRefused
from bot.slack.messages import ERASED, is_own, question_id
from config.domain import Domain
from config.errors import ConfigError

log = structlog.get_logger()

PartsOf = Callable[[Domain, datetime], Sequence[DigestPart]]
DIGEST = "digest"
DIGEST_EVENT = "oncall_digest"
FIRST_LOOKS_BACK = timedelta(days=7)
LOOKED_AT = 100
"""Messages of a conversation, from when the digest was due on."""


@dataclass(frozen=True, kw_only=True)
class ShiftDigest:
    web: SlackClient
    domains: Callable[[], Mapping[str, Domain]]
    timers: TimerStore
    gate: Gate
    whom: OnCallResolver
    kept: DigestStore
    open_questions: OpenQuestions
    parts: Sequence[PartsOf]
    """Of other features."""
    bot_user: str
    _planning: threading.Lock = field(default_factory=threading.Lock)

    def plan(self) -> None:
        """Set the timer of each domain's next digest. Returns at once: a rota's server may be
        slow, and other timers must not wait for it."""
        if any(domain.digest for domain in self.domains().values()):
            threading.Thread(target=self._plan_each, name="digests", daemon=True).start()

    def _plan_each(self) -> None:
        if not self._planning.acquire(blocking=False):
            return  # the one before still waits for a rota
        try:
            for domain in self.domains().values():
                due = next_due(domain, self._rota(domain, FRESH_SECONDS), datetime.now(UTC))
                if due:
                    self.timers.set(DIGEST, Period(domain.domain, due).subject, due, keep=True)
        except Exception as error:  # the next minute tries again
            log.warning("digests could not be planned", cause=type(error).__name__)
        finally:
            self._planning.release()

    def send(self, subject: str) -> None:
        """The digest of a timer, if the schedule still has it. Safe to repeat."""
        period = Period.of(subject)
        domain = self.domains().get(period.domain)
        if domain is None or domain.digest is None:
            return
        if not is_due(domain, self._rota(domain, FOR_A_CALL_SECONDS), period):
            log.info("a digest is no longer due", domain=period.domain, at=period.key)
            return
        known = self.kept.begin(period)
        if known.ts:
            return
        on_call = self._on_call(domain)
        decided = known.recipient if known.recipient != ERASED else ""
        to = decided or self._recipient(domain, on_call)
        if not self._sent(domain, period, on_call, to) and to != domain.channels[0]:
            self._sent(domain, period, on_call, domain.channels[0])

    def _sent(self, domain: Domain, period: Period, on_call: OnCall | None, to: str) -> bool:
        """False when Slack takes nothing there."""
        parts = list(self._parts(domain, self._since(period), self._reader(domain, to)))
        if not parts:
            self.kept.done(period, EMPTY)
            return True
        self.kept.goes_to(period, to)
        try:
            ts = self._posted(period, digest(domain, parts, on_call, to=to), to)
        except SlackRefused as refused:
            log.error("slack takes no digest", domain=domain.domain, reason=refused.code)
            return False
        self.kept.done(period, ts)
        return True

    def _posted(self, period: Period, message: SlackMessage, to: str) -> str:
        return self._find(period, to) or post_once(
            self.web,
            message,
            channel=to,
            thread_ts=None,
            metadata=metadata_of(DIGEST_EVENT, period.subject),
            find=lambda: self._find(period, to),
            placed=lambda channel: self.kept.placed(period, channel),
        )

    def _find(self, period: Period, to: str) -> str | None:
        """One that was posted before a crash. The first that a person ever gets can't be found,
        as nobody knows their conversation's id yet: better twice than none."""
        where = self.kept.conversation_with(to) if to.startswith(("U", "W")) else to
        if not where:
            return None
        told = self.web.call(
            "conversations.history",
            channel=where,
            oldest=f"{period.at.timestamp():.6f}",
            limit=LOOKED_AT,
            include_all_metadata=True,
        )
        for message in told.get("messages") or []:
            own = is_own(message, self.bot_user) or message.get("bot_id") == self.web.bot_id
            if own and question_id(message, DIGEST_EVENT) == period.subject:
                return str(message["ts"])
        return None

    def _recipient(self, domain: Domain, on_call: OnCall | None) -> str:
        """A person, where one is on call who may ask this domain; else the channel."""
        who = on_call.who if on_call else ("" if domain.escalation.rota else domain.escalation.user)
        wanted = domain.digest is not None and domain.digest.to == "on_call"
        if wanted and who.startswith(("U", "W")):
            may_ask = self.gate.open_to(EntryPoint.DIRECT_MESSAGE, who, [domain])
            return who if may_ask else domain.channels[0]
        return domain.channels[0]

    def _reader(self, domain: Domain, to: str) -> MaySee:
        """Of a channel's digest: everybody in it. Where guests and other organisations are, they
        may read no other."""
        if to.startswith(("U", "W")):
            return lambda channel: self.gate.may_see(to, channel)
        channels = self.gate.channels
        colleagues = not (domain.access.external or channels.is_shared_outside(to))
        return lambda channel: channel == to or (colleagues and channels.is_public(channel))

    def _parts(self, domain: Domain, since: datetime, may_see: MaySee) -> Iterator[DigestPart]:
        yield from self.open_questions.parts(domain, since, may_see)
        for of in self.parts:
            try:
                yield from (as_read_by(one, may_see) for one in of(domain, since) if one.lines)
            except Exception as error:  # one part that is wrong must not keep the others back
                log.exception("a part of a digest failed", cause=type(error).__name__)

    def _since(self, period: Period) -> datetime:
        return self.kept.before(period) or period.at - FIRST_LOOKS_BACK

    def _rota(self, domain: Domain, within: float) -> CachedRota | None:
        if not (domain.digest and domain.escalation.rota):
            return None
        try:
            return self.whom.rotas.of(domain, domain.escalation.rota, within=within)
        except ConfigError:
            return None  # logged once, and shown to admins

    def _on_call(self, domain: Domain) -> OnCall | None:
        if not domain.escalation.rota:
            return None
        return self.whom.on_call(domain, within=FOR_A_CALL_SECONDS)
