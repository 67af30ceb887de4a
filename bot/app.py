"""Builds, runs and stops the bot: Slack on one side, the agents on the other, an inbox between."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from socket import gethostname

import structlog
from sqlalchemy import Engine

from agents.answer import Ask
from agents.routing.router import DomainRouter
from bot.access.gate import Gate
from bot.background import Warm, Warming
from bot.blocks.kit import Json
from bot.bus.events import Dispatcher, Event, SlackEvent
from bot.bus.inbox import Inbox
from bot.bus.timers import Clock, TimerStore
from bot.connection import bolt_app, connect, inbox_url, lease_for, notify_each, reach_slack
from bot.feature import DocumentOwners, Feature, FeatureContext, PublishedIndex
from bot.features.answering.abandoned import AbandonedQuestions
from bot.features.answering.ask import AskService, EveryoneMayRead
from bot.features.answering.intake import Intake
from bot.features.answering.screenshots import Screenshots
from bot.features.answering.service import AnsweringService
from bot.features.feedback.store import FeedbackStore
from bot.features.handoff.service import HandoffService
from bot.features.home.service import StatusOf
from bot.features.registry import FEATURE_TABLES, FeatureServices, build_extras, build_features
from bot.features.replay.service import PreviewWords
from bot.privacy.retention import Retention
from bot.questions.store import QuestionStore
from bot.rotas.rota import RotaCache, RotaPlaces
from bot.slack.manifest import ignore_the_rest, listen
from bot.slack.socket_mode import SocketMode
from config.chat_model import build_vision_model
from config.domain import Domain
from config.models import ChatModel
from config.settings import Settings
from durable.heartbeat import Heartbeat
from durable.stop_signal import StopSignal, end_at_once
from durable.watch import DatabaseWatch
from index.audit import AuditLog
from index.permissions.rules import IdentitiesOf
from telemetry.health import CombinedHealth, HealthSource, serve_health

log = structlog.get_logger()

WORKERS = 64
"""Questions answered at a time; they mostly wait for the model."""
DRAIN_SECONDS = 25.0
"""Less than the 30 s that container platforms give between SIGTERM and SIGKILL."""

SOURCES = {
    "slack_bot_token": "Slack app → OAuth & Permissions → Bot User OAuth Token",
    "slack_app_token": "Slack app → Basic Information → App-Level Tokens, connections:write",
    "slack_signing_secret": "Slack app → Basic Information → Signing Secret",
}
"""Setting → where its value is found."""

Domains = Callable[[], Mapping[str, Domain]]
"""The current domains by name."""


@dataclass(frozen=True, kw_only=True)
class Agents:
    ask: Callable[[str], Ask]
    """Domain name → its agents."""
    ask_unattended: Callable[[str], Ask] | None
    """The same without a waiting user: never from a cache. None: gaps are not rechecked."""
    router: DomainRouter
    """Chooses one of several domains."""
    model: ChatModel | None
    streaming: bool
    """Whether answers are streamed; without a chat model they arrive whole."""
    warm: Warm | None
    """Loads what answers need; runs during the start, and `/readyz` waits for it."""


@dataclass(frozen=True, kw_only=True)
class Documents:
    """The documents that answers come from, and access to them."""

    published: PublishedIndex | None
    """None: no questions are suggested from documents, and no link has a preview."""
    owners: DocumentOwners | None
    """None: no document has a known owner, and no comment is written."""
    identities: IdentitiesOf
    """What a permission may name an asker by."""
    everyone_may_read: EveryoneMayRead
    """Whether documents are open to all: with `audience: asker`, their answers may be public."""
    status: StatusOf
    """The index of a domain, for its admins' App Home."""
    preview_words: PreviewWords | None = None
    """None: no owner can try what a draft would change."""


class Bot:
    """`start` returns at once, `run` works until SIGTERM, `stop` finishes running work."""

    def __init__(
        self,
        settings: Settings,
        *,
        domains: Domains,
        engine: Engine,
        agents: Agents,
        documents: Documents,
        socket: bool = True,
    ) -> None:
        """`socket=False`: HTTP mode. Raises ConfigError that names what is missing or refused."""
        needed = ("slack_bot_token", "slack_app_token" if socket else "slack_signing_secret")
        settings.require(**{name: SOURCES[name] for name in needed})
        self._settings = settings
        self._warming = Warming(agents.warm)
        self._domains = domains
        self._socket = socket
        self._socket_mode: SocketMode | None = None
        self._stopped = StopSignal()
        self.web, self.identity = reach_slack(settings)
        self.gate = Gate(self.web, self.identity.workspace_ids)
        self.engine = engine
        self.records = QuestionStore(engine)
        self.feedback = FeedbackStore(engine)
        self.audit = AuditLog(engine)
        self.retention = Retention(
            engine=engine,
            features=FEATURE_TABLES,
            domains=domains,
            audit=self.audit,
            settings=settings,
            unfinished=self._unfinished,
        )
        self.timers = TimerStore(engine)
        context = FeatureContext(
            web=self.web,
            engine=engine,
            gate=self.gate,
            domains=domains,
            timers=self.timers,
            put=self.put,
            identity=self.identity,
            audit=self.audit,
            identities=documents.identities,
            published=documents.published,
            model=agents.model,
        )
        self.extras = build_extras(context)
        self.features: tuple[Feature, ...] = ()
        asking = AskService(
            context=context,
            records=self.records,
            ask=agents.ask,
            everyone_may_read=documents.everyone_may_read,
            router=agents.router,
        )
        self.attempts = AnsweringService(
            context=context,
            asking=asking,
            screenshots=self._screenshots(),
            streaming=agents.streaming,
            earlier=self.extras.earlier,
            features=lambda: self.features,
        )
        self.intake = Intake(context=context, records=self.records, attempts=self.attempts)
        abandoned = AbandonedQuestions(
            context=context, attempts=self.attempts, unfinished=self._unfinished
        )
        rotas = RotaCache(RotaPlaces.of(settings))
        self.handoffs = HandoffService(context, self.records, asking.is_private, rotas)
        services = FeatureServices(
            feedback=self.feedback,
            handoffs=self.handoffs,
            intake=self.intake,
            abandoned=abandoned,
            extras=self.extras,
            status=documents.status,
            owners=documents.owners,
            ask_unattended=agents.ask_unattended,
            preview_words=documents.preview_words,
        )
        self.features = build_features(context, services)
        self.inbox = Inbox(
            database_url=inbox_url(settings),
            lease=lease_for(settings, engine),
            handler=Dispatcher(
                bot_user=self.identity.user,
                handlers=[one.handlers for one in self.features],
                timers=[one.timers for one in self.features],
                hooks=[one.on_message for one in self.features if one.on_message],
            ),
            concurrency=WORKERS,
            upkeep=self.retention.daily,
        )
        self.inbox.on_abandoned = abandoned.abandon
        self.clock = Clock(
            self.timers,
            put=self.put,
            plans=[one.plan for one in self.features if one.plan],
            is_able=self.inbox.is_able,
        )
        self._heartbeat = Heartbeat(engine, "bot")
        self.database = DatabaseWatch(engine)
        self.database.on_refused = lambda refused: self.tell_admins(
            [f"I can't answer, and all questions wait: {refused}. I run on {gethostname()}."]
        )
        self.app = bolt_app(settings, self.identity)
        self._listen()

    def put(self, event_id: str, event: Event) -> None:
        """Store an event for its handlers; see `Enqueue`."""
        self.inbox.put(event_id, event.item())

    def start(self) -> None:
        """Begin to work and, with Socket Mode, to listen. Returns at once."""
        # Threads switch ten times as often as by default: the one that stores an event for its ack
        # waits for dozens that write answers (p99 300 ms before, 150 after).
        sys.setswitchinterval(0.0005)
        self.inbox.start()
        if self._socket:
            try:
                self._socket_mode = connect(self.app, self._settings)
            except BaseException:
                self.inbox.stop(0)
                raise
        self.clock.start()
        self._heartbeat.start()
        self._warming.start()
        self.database.start()
        if problems := self.extras.problems():
            log.warning("the slack app lacks scopes", lacks=problems)
        log.info("the bot is up", user=self.identity.user, team=self.identity.team)

    def run(self, *, health_port: int | None = None, others: Sequence[HealthSource] = ()) -> None:
        """Work until SIGTERM or Ctrl-C, then drain. `health_port` serves this bot and `others`."""
        self.stop_on_signals()
        if health_port is not None:
            with_metrics = self._settings.metrics != "off"
            serve_health(CombinedHealth(self, *others), health_port, figures=with_metrics)
        self.start()
        self.wait()

    def stop_on_signals(self) -> None:
        self._stopped.listen()

    def wait(self) -> None:
        """Block until a signal arrives, drain, and end the process."""
        self._stopped.wait()
        self.stop()
        # What still waits for Slack or a model is in the inbox, and the next start continues it.
        end_at_once()

    def stop(self, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Stop listening first, then finish running work."""
        if self._socket_mode:
            self._socket_mode.close()
            self._socket_mode = None
        self.database.stop()
        self.clock.stop()
        self.inbox.stop(drain_seconds)
        self._heartbeat.stop()

    def missing(self) -> dict[str, str]:
        """What keeps new questions waiting, e.g. a dead socket; as in `HealthSource`."""
        # Of the worker and of the watch, the watch knows better what is with the database.
        parts = (self.inbox, self.clock, self._warming, self.database)
        missing = {word: reason for part in parts for word, reason in part.missing().items()}
        if self._socket and not (self._socket_mode and self._socket_mode.is_connected()):
            missing["slack"] = "the bot is not connected to Slack"
        return missing

    def observe(self) -> None:
        """Set the gauges of the inbox, and of silent processes."""
        self.inbox.observe()
        self._heartbeat.observe()

    def tell_admins(self, problems: Sequence[str]) -> None:
        """Write to every domain's admins, e.g. that an edit of a domain file is broken."""
        admins = {user for domain in self._domains().values() for user in domain.admins}
        notify_each(self.web, admins, problems)

    def _unfinished(self) -> frozenset[str]:
        return self.inbox.stored().unfinished()

    def _screenshots(self) -> Screenshots:
        return Screenshots(
            web=self.web,
            records=self.records,
            token=self._settings.slack_bot_token,
            api_url=self._settings.slack_api_url,
            model=build_vision_model(self._settings, someone_waits=True),
            prices=self._settings.read_prices(self._settings.vision_model),
        )

    def _listen(self) -> None:
        def receive(event_id: str, event: Json, team: str, trace: str) -> None:
            self.put(event_id, SlackEvent(event=event, team=team, trace=trace))

        user, team = self.identity.user, self.identity.team
        listen(self.app, receive, bot_user=user, team=team, domains=self._domains)
        for feature in self.features:
            feature.listen(self.app, self.put)
        ignore_the_rest(self.app)
