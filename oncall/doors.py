"""The entry points: Slack's bot, the HTTP API, MCP over stdio, privacy commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from threading import Thread
from typing import TYPE_CHECKING

from config.errors import UsageError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from api.auth.tokens import LiveTokens
    from bot.app import Bot
    from bot.privacy.personal_data import PrivacyCommands
    from config.settings import Settings
    from index.permissions.acts import Directory
    from oncall.answers import Answers
    from oncall.documents import Documents
    from oncall.ingestion import Ingestion
    from oncall.models import Models
    from oncall.previews import Previews


class Doors:
    def __init__(
        self,
        settings: Settings,
        models: Models,
        documents: Documents,
        answers: Answers,
        ingestion: Ingestion,
        previews: Previews,
    ) -> None:
        self._settings = settings
        self._models = models
        self._documents = documents
        self._answers = answers
        self._ingestion = ingestion
        self._previews = previews

    @cached_property
    def tokens(self) -> LiveTokens:
        """Tokens of the HTTP API."""
        from api.auth.tokens import LiveTokens

        return LiveTokens(self._settings.config_dir, self._settings.api_token)

    @property
    def privacy(self) -> PrivacyCommands:
        from bot.features.registry import FEATURE_TABLES
        from bot.privacy.personal_data import PrivacyCommands

        return PrivacyCommands(
            settings=self._settings,
            engine=self._documents.index.engine,
            features=FEATURE_TABLES,
            domains=self._documents.live_domains,
            audit=self._documents.audit,
        )

    def bot(self, *, socket: bool = True) -> Bot:
        """`socket=False`: Slack's events arrive over HTTP."""
        from durable.connection_limits import warn_of_connections

        self._documents.access.require()
        _ = self._models.chat  # a wrong setup fails at the start, not at each question
        bot = self._build_bot(socket)
        warn_of_connections(bot.engine)
        self._documents.live_domains.on_problems = bot.tell_admins
        return bot

    def _build_bot(self, socket: bool) -> Bot:
        from bot import app
        from bot.feature import PublishedIndex
        from index.permissions.rules import all_may_read

        documents, answers, embedder = self._documents, self._answers, self._models.embedder
        snapshot = documents.access.snapshot
        return app.Bot(
            self._settings,
            domains=documents.live_domains,
            engine=documents.index.engine,
            agents=app.Agents(
                ask=answers.ask,
                ask_unattended=lambda name: answers.ask(name, unattended=True),
                router=answers.router,
                model=self._models.chat,
                streaming=self._settings.has_chat_model(),
                warm=answers.warm,
            ),
            documents=app.Documents(
                published=PublishedIndex(snapshot=snapshot, embed=embedder, embedder=embedder.name),
                owners=documents.owners,
                identities=documents.groups,
                everyone_may_read=lambda name, ids: all_may_read(snapshot(name), ids),
                status=self._ingestion.index_status,
                preview_words=self._previews.of_words,
            ),
            socket=socket,
        )

    def api(self, *, slack: bool) -> FastAPI:
        """The HTTP API, and Slack's events on the same server when `slack`."""
        from api.app import build_api
        from api.auth.middleware import RequestLimits
        from api.auth.sign_in import open_sign_in
        from bot.background import DailyPurge, Warming
        from bot.slack.http_events import add_slack, lifespan_of
        from durable.connection_limits import warn_of_connections
        from durable.heartbeat import Heartbeat
        from durable.watch import DatabaseWatch
        from telemetry.health import CombinedHealth, add_health

        settings, documents, answers = self._settings, self._documents, self._answers
        documents.access.require()
        bot = self.bot(socket=False) if slack else None
        engine = documents.index.engine
        if bot is None:
            warn_of_connections(engine)
        alone = Warming(answers.warm), DatabaseWatch(engine), Heartbeat(engine, "api")
        parts = (bot,) if bot else alone
        # A bot runs its own purge.
        upkeep = () if bot else (DailyPurge(self.privacy.daily),)
        api = build_api(
            domains=documents.live_domains,
            ask=answers.ask,
            retrieve=documents.retrieve,
            snapshot=documents.access.snapshot,
            identities=documents.groups,
            directory=self._directory(bot),
            tokens=self.tokens,
            audit=documents.audit,
            lifespan=lifespan_of(*parts, *upkeep),
            bounds=RequestLimits(per_minute=settings.api_requests_per_minute),
            docs=settings.api_docs,
            open_metrics=settings.metrics == "open",
            sign_in=open_sign_in(settings),
            answering=answers.router,
            conversations=lambda: answers.threads,
        )
        health = CombinedHealth(*parts, self._ingestion.freshness_gauges, answers.budget_gauges)
        add_health(api, health, figures=settings.metrics != "off")
        if bot and settings.slack_signing_secret:
            add_slack(api, bot.app, settings.slack_signing_secret)
        return api

    def mcp(self, email: str = "") -> None:
        """Serve MCP over standard input and output until it ends; `email`: the user."""
        from api.mcp.server import run_over_stdio
        from api.mcp.tools import McpParts
        from api.scope import RequestScopes
        from index.permissions.rules import address_of

        if email and not address_of(email):
            raise UsageError(
                f"{email!r} is no e-mail address", remedy="write it like name@example.com"
            )
        documents, answers = self._documents, self._answers
        documents.access.require()
        scopes = RequestScopes(
            current=documents.live_domains,
            identities=documents.groups,
            directory=self._directory(None),
            audit=documents.audit,
        )
        parts = McpParts(
            ask=answers.ask,
            answering=answers.router,
            retrieve=documents.retrieve,
            snapshot=documents.access.snapshot,
        )
        # Not a daemon: a process that ends while another thread loads libraries aborts.
        loading = Thread(target=answers.warm, name="warm")
        loading.start()
        try:
            run_over_stdio(scopes, parts, email)
        finally:
            loading.join()

    def _directory(self, bot: Bot | None) -> Callable[[], Directory] | None:
        """Connects to Slack at the first question of a person; None without Slack."""
        from bot.connection import open_directory

        if self._settings.slack_bot_token is None:
            return None
        return cache(lambda: bot.gate if bot else open_directory(self._settings))
