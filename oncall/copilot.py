"""`Copilot`: every part of the product, wired together.

The `oncall` command in `cli/` and embedding programs use it. Each part is built when first used,
and heavy libraries load with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from oncall.answers import Answers
from oncall.documents import Documents
from oncall.doors import Doors
from oncall.ingestion import Ingestion
from oncall.models import Models
from oncall.previews import Previews
from telemetry.logs import log_to_stderr
from telemetry.metrics import watch_disk
from telemetry.tracing import export_traces

if TYPE_CHECKING:
    from agents.answer_cache.store import CachedAnswerStore
    from agents.confidence import ThresholdStore
    from agents.routing.router import DomainRouter
    from api.auth.tokens import LiveTokens
    from bot.privacy.personal_data import PrivacyCommands
    from config.domain import Domain
    from config.models import ChatModel, Embedder
    from config.settings import Settings
    from index.audit import AuditLog
    from index.permissions.groups import Groups
    from index.permissions.live import DomainAccess
    from index.publish import Index
    from jobs.schedule.freshness import FreshnessGauges
    from jobs.schedule.runs import RunStore


class Copilot:
    """The parts by subject, with shortcuts to their most used members."""

    def __init__(self, settings: Settings) -> None:
        log_to_stderr(settings.log_level or "info", settings.log_format, secrets=settings.secrets())
        export_traces(settings.traces)
        watch_disk(settings.data_dir)
        self.settings = settings
        self.models = Models(settings)
        self.documents = Documents(settings, self.models)
        self.answers = Answers(settings, self.models, self.documents)
        self.ingestion = Ingestion(settings, self.models, self.documents)
        self.previews = Previews(self.documents, self.answers)
        self.doors = Doors(
            settings, self.models, self.documents, self.answers, self.ingestion, self.previews
        )

        self.domain = self.documents.domain
        self.snapshot = self.documents.snapshot
        self.published = self.documents.published
        self.sources = self.documents.sources
        self.retrieve = self.documents.retrieve
        self.ask = self.answers.ask
        self.ask_as = self.answers.ask_as
        self.answer_cache = self.answers.cache
        self.warm = self.answers.warm
        self.ingest = self.ingestion.ingest
        self.canary = self.ingestion.canary
        self.freshness = self.ingestion.freshness
        self.jobs = self.ingestion.jobs
        self.runners = self.ingestion.runners
        self.bot = self.doors.bot
        self.api = self.doors.api
        self.mcp = self.doors.mcp

    @property
    def embedder(self) -> Embedder:
        return self.models.embedder

    @property
    def model(self) -> ChatModel | None:
        return self.models.chat

    @property
    def model_name(self) -> str:
        return self.models.chat_name

    @property
    def judge_model(self) -> ChatModel | None:
        return self.models.judge

    @property
    def domains(self) -> Mapping[str, Domain]:
        return self.documents.domains

    @property
    def index(self) -> Index:
        return self.documents.index

    @property
    def access(self) -> DomainAccess:
        return self.documents.access

    @property
    def groups(self) -> Groups:
        return self.documents.groups

    @property
    def audit(self) -> AuditLog:
        return self.documents.audit

    @property
    def answering(self) -> DomainRouter:
        return self.answers.router

    @property
    def thresholds(self) -> ThresholdStore:
        return self.answers.thresholds

    @property
    def cached_answers(self) -> CachedAnswerStore:
        return self.answers.cached

    @property
    def runs(self) -> RunStore:
        return self.ingestion.runs

    @property
    def freshness_gauges(self) -> FreshnessGauges:
        return self.ingestion.freshness_gauges

    @property
    def tokens(self) -> LiveTokens:
        return self.doors.tokens

    @property
    def privacy(self) -> PrivacyCommands:
        return self.doors.privacy
