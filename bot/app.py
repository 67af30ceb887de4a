"""The bot, put together: Slack on one side, the agents on the other, the inbox between."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import structlog
from sqlalchemy import Engine

from agents.answer import Ask
from agents.routing.router import DomainRouter
from bot.access.gate import Gate
from bot.background import Warm, Warming
from bot.bus.dispatch import Worker
from bot.bus.inbox import Inbox
from bot.bus.timers import Clock, TimerStore
from bot.connection import (
    INBOX_FILE,
    bolt_app,
    connect,
    inbox_url,
    lease_for,
    reach_slack,
    tell_each,
)
from bot.feature import DocumentOwners, Feature, FeatureContext, PublishedIndex, additions_of
from bot.features.answering.ask import AskService, EveryoneMayRead
from bot.features.answering.feature import listen_for_questions
from bot.features.answering.intake import Intake
from bot.features.answering.rules import Limiter
from bot.features.answering.screenshots import Screenshots
from bot.features.answering.service import AnsweringService
from bot.features.feedback.store import FeedbackStore
from bot.features.handoff.service import HandoffService
from bot.features.handoff.steps import HandoffSteps
from bot.features.home.feature import Home, StatusOf
from bot.features.home.service import ExampleAsked, greet
from bot.features.registry import FEATURE_TABLES, FeatureServices, beside_answers, build_features
from bot.privacy.retention import Retention, scrub_all
from bot.questions.store import QuestionStore, forget_cached
from bot.slack.events import (
    AppHomeOpened,
    AssistantOpened,
    IncomingMessage,
    LinksShared,
    MessageDeleted,
    ReactionAdded,
)
from bot.slack.manifest import ignore_the_rest, listen
from bot.slack.socket_mode import SocketMode
from config.chat_model import build_vision_model
from config.domain import Domain
from config.models import ChatModel
from config.settings import Settings
from index.audit import AuditLog
from index.permissions.rules import IdentitiesOf, by_email
from telemetry.health import CombinedHealth, HealthSource, serve_health
from telemetry.tracing import flush_traces

log = structlog.get_logger()

WORKERS = 64
"""Questions worked on at a time; they mostly wait for the model."""
DRAIN_SECONDS = 25.0
"""Less than the 30 s that container platforms give between SIGTERM and SIGKILL."""


def build_bot(
    settings: Settings,
    *,
    domains: Mapping[str, Domain] | Callable[[], Mapping[str, Domain]],
    ask: Callable[[str], Ask],
    answering: DomainRouter,
    engine: Engine,
    streaming: bool | None = None,
    socket: bool = True,
    workers: int = WORKERS,
    status: StatusOf = lambda domain: None,
    everyone_may_read: EveryoneMayRead = lambda domain, documents: False,
    identities: IdentitiesOf = by_email,
    warm: Warm | None = None,
    published: PublishedIndex | None = None,
    model: ChatModel | None = None,
    ask_anew: Callable[[str], Ask] | None = None,
    document_desk: DocumentOwners | None = None,
) -> Bot:
    """`domains`: by name, or a callable that returns the current ones. `ask`: name → agents.
    `answering`: how one of several domains is chosen, and what the log is told.

    `status`: what a domain answers from, for its admins' App Home. `everyone_may_read`: whether
    documents are open to all, so that with `audience: asker` they may be answered from in public.
    `identities`: what a permission may name an asker by.
    `warm`: loads what answers need; runs beside the start, and `/readyz` waits for it.
    `published`: what suggested questions and previews of links are made from.
    `model`, `ask_anew`, `document_desk`: see `bot.feature_tools`.
    `streaming` defaults to whether a chat model is configured; without one, answers come whole.
    `socket=False` is for HTTP mode. Raises ConfigError that names what is missing or refused."""
    needed = {"slack_bot_token": "Slack app → OAuth & Permissions → Bot User OAuth Token"}
    if socket:
        needed["slack_app_token"] = (
            "Slack app → Basic Information → App-Level Tokens, connections:write"  # noqa: S105 - where to find it, not what it is
        )
    else:
        needed["slack_signing_secret"] = "Slack app → Basic Information → Signing Secret"  # noqa: S105 - likewise
    settings.require(**needed)
    current = domains if callable(domains) else lambda: domains
    return Bot(
        settings,
        domains=current,
        ask=ask,
        engine=engine,
        streaming=settings.has_chat_model() if streaming is None else streaming,
        socket=socket,
        workers=workers,
        status=status,
        everyone_may_read=everyone_may_read,
        identities=identities,
        warm=warm,
        answering=answering,
        published=published,
        model=model,
        ask_anew=ask_anew,
        document_desk=document_desk,
    )


class Bot:
    """`start` and return, or `run` until SIGTERM; `stop` finishes what was begun."""

    def __init__(
        self,
        settings: Settings,
        *,
        domains: Callable[[], Mapping[str, Domain]],
        ask: Callable[[str], Ask],
        engine: Engine,
        streaming: bool,
        socket: bool,
        workers: int,
        status: StatusOf,
        everyone_may_read: EveryoneMayRead,
        identities: IdentitiesOf,
        warm: Warm | None,
        answering: DomainRouter,
        published: PublishedIndex | None,
        model: ChatModel | None,
        ask_anew: Callable[[str], Ask] | None,
        document_desk: DocumentOwners | None,
    ) -> None:
        self._settings = settings
        self._warming = Warming(warm)
        self._domains = domains
        self._socket = socket
        self._socket_mode: SocketMode | None = None
        self._stopped = threading.Event()
        self.web, self.identity = reach_slack(settings)
        self.gate = Gate(self.web, self.identity.ours)
        self.engine = engine
        self.records = QuestionStore(engine)
        self.feedback = FeedbackStore(engine)
        self.audit = AuditLog(engine)
        self.retention = self._retention()
        asking = self._asking(ask, everyone_may_read, identities, answering)
        self.beside = beside_answers(
            self.web,
            engine,
            gate=self.gate,
            domains=domains,
            identities=identities,
            audit=self.audit,
            team_url=self.identity.team_url,
            published=published,
        )
        self.timers = TimerStore(engine)
        self.features: tuple[Feature, ...] = ()
        self.attempts = self._attempts(asking, streaming)
        self.intake, self.handoffs = self._intake(), self._handoffs(asking)
        self.features = build_features(
            FeatureContext(
                web=self.web,
                engine=engine,
                gate=self.gate,
                domains=domains,
                timers=self.timers,
                put=lambda event_id, item: self.inbox.put(event_id, item),
                identity=self.identity,
                audit=self.audit,
                published=published,
                model=model,
                ask_anew=ask_anew,
                document_desk=document_desk,
            ),
            FeatureServices(
                records=self.records,
                feedback=self.feedback,
                handoffs=self.handoffs,
                asking=asking,
                intake=self.intake,
                previews=self.beside.previews,
            ),
        )
        worker = self._worker(self._home(status))
        self.inbox = Inbox(
            database_url=inbox_url(settings),
            lease=lease_for(settings),
            handler=worker,
            concurrency=workers,
            upkeep=self.retention.daily,
        )
        self.clock = Clock(
            self.timers,
            put=self.inbox.put,
            plans=[one.plan for one in self.features if one.plan],
            is_able=self.inbox.is_able,
        )
        self.app = bolt_app(settings, self.identity)
        self._listen()

    def start(self) -> None:
        """Begin to work and, with Socket Mode, to listen. Returns at once."""
        # Threads take turns ten times as often as by default: the one that stores an event for
        # its ack waits for the turns of dozens that write answers (p99 300 ms before, 150 after).
        sys.setswitchinterval(0.0005)
        self.inbox.start()
        if self._socket:
            try:
                self._socket_mode = connect(self.app, self._settings)
            except BaseException:
                self.inbox.stop(0)
                raise
        self.clock.start()
        self._warming.start()
        if lacks := self.beside.troubles():
            log.warning("the slack app was installed with fewer scopes", lacks=lacks)
        log.info("the bot is up", user=self.identity.user, team=self.identity.team)

    def run(self, *, health_port: int | None = None, beside: Sequence[HealthSource] = ()) -> None:
        """Work until SIGTERM or Ctrl-C, then drain; health and metrics on `health_port`, of this
        bot and of what is watched `beside` it."""
        self.stop_on_signals()
        if health_port is not None:
            figures = self._settings.metrics != "off"
            serve_health(CombinedHealth(self, *beside), health_port, figures=figures)
        self.start()
        self.wait()

    def stop_on_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stopped.set())

    def wait(self) -> None:
        """Block until a signal came, drain, and end the process."""
        self._stopped.wait()
        self.stop()
        # Threads that still wait for Slack or a model would hold the process; their questions
        # are in the inbox, and the next start goes on with them.
        logging.shutdown()
        flush_traces()
        os._exit(0)

    def stop(self, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Stop listening first, then finish what was begun."""
        if self._socket_mode:
            self._socket_mode.close()
            self._socket_mode = None
        self.clock.stop()
        self.inbox.stop(drain_seconds)

    def missing(self) -> dict[str, str]:
        """What a question asked now would wait for, e.g. a socket that is dead."""
        missing = {**self.inbox.missing(), **self.clock.missing(), **self._warming.missing()}
        if self._socket and not (self._socket_mode and self._socket_mode.is_connected()):
            missing["slack"] = "the bot is not connected to Slack"
        return missing

    def observe(self) -> None:
        """Sets the gauges of its inbox."""
        self.inbox.observe()

    def tell_admins(self, problems: Sequence[str]) -> None:
        """Write to every domain's admins, e.g. that an edit of a domain file is broken."""
        admins = {user for domain in self._domains().values() for user in domain.admins}
        tell_each(self.web, admins, problems)

    def _retention(self) -> Retention:
        return Retention(
            engine=self.engine,
            features=FEATURE_TABLES,
            domains=self._domains,
            audit=self.audit,
            audit_days=self._settings.audit_days,
            unfinished=lambda: self.inbox.stored().unfinished(),
            scrub=lambda: scrub_all(self.engine, self._settings.data_dir / INBOX_FILE),
        )

    def _asking(
        self,
        ask: Callable[[str], Ask],
        everyone_may_read: EveryoneMayRead,
        identities: IdentitiesOf,
        answering: DomainRouter,
    ) -> AskService:
        return AskService(
            records=self.records,
            domains=self._domains,
            ask=ask,
            people=self.gate.people,
            identities=identities,
            everyone_may_read=everyone_may_read,
            answering=answering,
        )

    def _attempts(self, asking: AskService, streaming: bool) -> AnsweringService:
        return AnsweringService(
            web=self.web,
            records=self.records,
            asking=asking,
            limiter=Limiter(self.records),
            audit=self.audit,
            bot_user=self.identity.user,
            screenshots=Screenshots(
                web=self.web,
                engine=self.engine,
                token=self._settings.slack_bot_token,
                api_url=self._settings.slack_api_url,
                model=build_vision_model(self._settings, someone_waits=True),
            ),
            streaming=streaming,
            earlier=self.beside.earlier,
            additions=lambda shown: additions_of(self.features)(shown),
        )

    def _intake(self) -> Intake:
        return Intake(
            web=self.web,
            records=self.records,
            domains=self._domains,
            attempts=self.attempts,
            gate=self.gate,
            bot_user=self.identity.user,
            forget_cached=partial(forget_cached, self.engine),
        )

    def _handoffs(self, asking: AskService) -> HandoffService:
        return HandoffService(
            self.web,
            self.engine,
            self.records,
            domains=self._domains,
            bot_user=self.identity.user,
            is_private=asking.is_private,
        )

    def _home(self, status: StatusOf) -> Home:
        return Home(
            self.web,
            self.records,
            self.feedback.verdicts,
            domains=self._domains,
            gate=self.gate,
            status=status,
            team_url=self.identity.team_url,
            suggest=self.beside.suggest,
            troubles=self.beside.troubles,
            more=[one.home for one in self.features if one.home],
        )

    def _worker(self, home: Home) -> Worker:
        intake, handoffs = self.intake, self.handoffs
        suggest, current = self.beside.suggest, self._domains
        steps = HandoffSteps(
            web=self.web,
            records=self.records,
            handoffs=handoffs,
            gate=self.gate,
            bot_user=self.identity.user,
            say_why_not=intake.say_why_not,
        )
        example_asked = ExampleAsked(
            web=self.web,
            records=self.records,
            ask=intake.asked,
            gate=self.gate,
            home=home,
            domains=self._domains,
            team_url=self.identity.team_url,
        )

        def deleted(event_id: str, event: MessageDeleted) -> None:
            intake.deleted(event_id, event)
            handoffs.withdrawn(event.id)

        def pane_opened(_: str, event: AssistantOpened) -> None:
            greet(self.web, event, current().values(), self.gate, suggest)

        return Worker(
            bot_user=self.identity.user,
            events={
                IncomingMessage: intake.asked,
                MessageDeleted: deleted,
                AssistantOpened: pane_opened,
                AppHomeOpened: lambda _, event: home.publish(event.user),
                ReactionAdded: lambda _, event: steps.reacted(event),
                LinksShared: self.beside.previews.unfurl,
            },
            takers=[one.on_event for one in self.features if one.on_event],
            items={
                "asked": lambda event_id, item: intake.asked(
                    event_id, IncomingMessage.stored(item["asked"])
                ),
                "example": lambda event_id, item: example_asked(event_id, **item["example"]),
                "human": steps.request,
                "take": steps.take,
                "resolve": steps.resolve,
            },
            features=[one.items for one in self.features],
            timers=[one.timers for one in self.features],
        )

    def _listen(self) -> None:
        user, store = self.identity.user, self.inbox.put
        listen(self.app, store, bot_user=user, team=self.identity.team, domains=self._domains)
        listen_for_questions(self.app, store, bot_user=user)
        for feature in self.features:
            feature.listen(self.app, store)
        ignore_the_rest(self.app)
