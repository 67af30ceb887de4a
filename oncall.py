"""START HERE. The composition root.

`Copilot` is the one place that builds clients and wires the layers together. The `oncall` command
in `cli/` is its user, and so is whoever embeds the product. Parts are built when first used, and
heavy libraries load with them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from threading import Thread
from typing import TYPE_CHECKING, Any

from config.errors import UsageError
from config.parsing.secret_files import private_folder
from telemetry.logs import log_to_stderr
from telemetry.metrics import watch_disk
from telemetry.tracing import export_traces

if TYPE_CHECKING:
    from fastapi import FastAPI
    from langgraph.graph.state import CompiledStateGraph

    from agents.answer import Ask
    from agents.answer_cache.cache import AnswerCache
    from agents.answer_cache.store import CachedAnswerStore
    from agents.checks.groundedness import Entails
    from agents.confidence import ThresholdStore
    from agents.routing.router import DomainRouter
    from agents.thread.memory import ThreadMemory
    from agents.tools.toolbox import Toolbox
    from api.auth.tokens import LiveTokens
    from api.scope import MayAsk
    from bot.app import Bot
    from bot.features.home.views import IndexStatus
    from bot.privacy.personal_data import PrivacyCommands
    from config.domain import Domain
    from config.domain_files import Check
    from config.live_domains import LiveDomains
    from config.models import ChatModel, Embedder, Usage
    from config.settings import Settings
    from enrichment.llm.budget import Budget
    from enrichment.llm.ledger import Ledger
    from index.audit import AuditLog
    from index.permissions.groups import Groups
    from index.permissions.live import CheckReaders, DomainAccess
    from index.publish import Index
    from index.ranking.rerank import Reranker
    from index.search import Snapshot
    from jobs.canary.canary import Canary
    from jobs.ingest.ports import IngestProgress, IngestReport
    from jobs.ingest.preparer import Preparation
    from jobs.ingest.shared_queue import Assign
    from jobs.schedule.freshness import Freshness, FreshnessGauges
    from jobs.schedule.recorded_run import Started
    from jobs.schedule.runner import JobRunner
    from jobs.schedule.runs import RunStore
    from loaders.google.owners import GoogleOwners
    from loaders.source import DocumentSource


def runtime_checks(settings: Settings) -> Check:
    """What more than a domain file's own words can tell that it asks for in vain."""
    from agents.extractive.language import unmatched
    from config.domain_files import unset

    return lambda domain: (*unmatched(domain), *unset(domain, settings))


class Copilot:
    """Every part of the product, built from the settings when first used."""

    def __init__(self, settings: Settings) -> None:
        log_to_stderr(settings.log_level or "info", settings.log_format, secrets=settings.secrets())
        export_traces(settings.traces)
        watch_disk(settings.data_dir)
        self.settings = settings
        self._asks: dict[tuple[str, bool], tuple[Domain, Ask]] = {}
        self._warm_generations: dict[str, int] = {}

    @cached_property
    def answering(self) -> DomainRouter:
        """Whichever domain answers a question, and one line in the log of it; whoever has people's
        words there is told so."""
        from agents.observability import QuestionLog
        from agents.routing.router import DomainRouter

        if self.settings.log_words:
            import structlog

            structlog.get_logger().warning(
                "the words of questions and answers are logged", setting="ONCALL_LOG_WORDS"
            )
        return DomainRouter(
            snapshot=self.access.snapshot,
            model=lambda: self.model,
            last_answered=lambda talk: self.threads.last_answered(talk),
            log=QuestionLog(words=self.settings.log_words, prices=self.settings.read_prices()),
        )

    @cached_property
    def live_domains(self) -> LiveDomains:
        from config.live_domains import LiveDomains

        return LiveDomains(self.settings.config_dir, also=runtime_checks(self.settings))

    @property
    def domains(self) -> Mapping[str, Domain]:
        """By id, as their files are now."""
        return self.live_domains()

    @cached_property
    def embedder(self) -> Embedder:
        from config.embeddings import build_embedder

        return build_embedder(self.settings)

    @cached_property
    def model(self) -> ChatModel | None:
        from config.chat_model import build_chat_model

        return build_chat_model(self.settings)

    @property
    def model_name(self) -> str:
        """Empty without one."""
        return self.model.name if self.model else ""

    @cached_property
    def enrichment_model(self) -> ChatModel | None:
        """Describes documents, for which nobody waits."""
        from config.chat_model import build_enrichment_model

        return build_enrichment_model(self.settings)

    @cached_property
    def vision_model(self) -> ChatModel | None:
        """Describes the pictures of documents, for which nobody waits."""
        from config.chat_model import build_vision_model

        return build_vision_model(self.settings, someone_waits=False)

    @property
    def vision_name(self) -> str:
        """Empty without one."""
        return self.vision_model.name if self.vision_model else ""

    @cached_property
    def judge_model(self) -> ChatModel | None:
        """Judges answers to golden questions; the chat model where no other is set."""
        from config.chat_model import build_judge_model

        return build_judge_model(self.settings)

    @cached_property
    def index(self) -> Index:
        from index.publish import open_index

        return open_index(self.settings, self.embedder)

    @cached_property
    def access(self) -> DomainAccess:
        """Published documents, as each door may show them."""
        from index.permissions.live import DomainAccess

        return DomainAccess(
            domains=self.live_domains,
            snapshot=self.index.snapshot,
            checker=cache(self._readers_checker),
        )

    def _readers_checker(self) -> CheckReaders:
        # Only a domain that answers each asker from what they may read needs Google's client.
        from loaders.google.drive.source import open_readers

        return open_readers(self.settings)

    @cached_property
    def groups(self) -> Groups:
        """Who somebody is, with the groups that documents are shared with."""
        from bot.connection import open_user_groups
        from index.permissions.groups import CachedMembers, Groups, no_directory
        from loaders.google.groups import open_groups

        directory = no_directory(
            "access.groups does not name it, and GOOGLE_GROUPS_ADMIN is not set"
        )
        if self.settings.google_groups_admin:
            directory = open_groups(self.settings)
        return Groups(
            named=self.access.groups,
            directory=CachedMembers(directory),
            slack=CachedMembers(open_user_groups(self.settings)),
        )

    @cached_property
    def document_desk(self) -> GoogleOwners | None:
        """Says whose a document is, and comments on it; None without a key.

        Raises ConfigError for comments that were switched on without one."""
        from loaders.google.owners import GoogleOwners

        if self.settings.google_comments:
            self.settings.require(google_credentials="GOOGLE_COMMENTS=on writes by its account")
        return GoogleOwners(self.settings) if self.settings.google_credentials else None

    @cached_property
    def thresholds(self) -> ThresholdStore:
        """From which confidence on answers are shown without reserve."""
        from agents.confidence import ThresholdStore

        return ThresholdStore(self.index.engine, self.model_name)

    @cached_property
    def audit(self) -> AuditLog:
        from index.audit import AuditLog

        return AuditLog(self.index.engine)

    @cached_property
    def reranker(self) -> Reranker:
        """Judges passages a second time, when `oncall retrieve` or `/api/retrieve` asks for it."""
        from index.ranking.rerank import build_reranker

        return build_reranker(self.settings.cross_encoder, self.model)

    @cached_property
    def threads(self) -> ThreadMemory:
        """What the agents keep from one question of a thread to the next."""
        from agents.thread.memory import ThreadMemory

        return ThreadMemory(self.index.engine)

    def domain(self, name: str) -> Domain:
        """Raises UsageError that names the nearest domain."""
        from config.domain_files import nearest

        domains = self.domains
        if name not in domains:
            raise UsageError(f"no domain {name!r}{nearest(name, sorted(domains))}")
        return domains[name]

    @cached_property
    def kept_answers(self) -> CachedAnswerStore:
        from agents.answer_cache.store import CachedAnswerStore

        return CachedAnswerStore(self.index.engine)

    @cached_property
    def entails(self) -> Entails | None:
        """None: what a model wrote is checked by words alone."""
        if not self.settings.entailment_model:
            return None
        from agents.checks.groundedness import EntailmentModel

        return EntailmentModel(self.settings.entailment_model)

    def snapshot(self, name: str) -> Snapshot:
        """What a domain answers from now. No model is loaded for it.

        Raises UsageError for an unknown domain, IndexUnavailable where nothing is published."""
        return self.access.snapshot(self.domain(name).domain)

    def warm(self) -> Mapping[str, str]:
        """Load all that the first question of each domain would wait for.

        Returns the domains that can't be answered from although they are published, each with the
        reason. One that nothing was published for is left to its first asker, who is told; one
        whose generation is warm already costs nothing."""
        from config.chat_model import LangChainModel
        from config.errors import CopilotError, NothingPublished

        if isinstance(self.model, LangChainModel):
            self.model.load()
        if self.model and any(domain.tools for domain in self.domains.values()):
            from agents.tools.mcp import load_sdk

            load_sdk()
        cold = {}
        for name in self.domains:
            try:
                snapshot = self.index.snapshot(name)
                if self._warm_generations.get(name) != snapshot.generation:
                    self._warm(name, snapshot)
                    self._warm_generations[name] = snapshot.generation
            except NothingPublished:
                continue
            except CopilotError as error:
                cold[name] = str(error)
        return cold

    def _warm(self, name: str, snapshot: Snapshot) -> None:
        """Asks a question without a model, of the whole index; its answer goes nowhere."""
        from agents.answer import Question
        from agents.graph import build_ask

        self.ask(name)
        domain = self.domain(name)
        titles = (card.title for card in snapshot.documents.values())
        quoting = build_ask(snapshot=lambda: snapshot, domain=domain, model=None)
        quoting(Question(text=f"What does {next(titles, domain.title)} say?"), None)

    def ask(self, name: str, *, anew: bool = False) -> Ask:
        """The agents of one domain, built anew when its file changes; its generation is looked
        up at each question. `anew`: no answer comes from the cache, and none is kept; nobody waits
        for it."""
        from agents.thread.memory import with_thread_memory

        domain = self.domain(name)
        known = self._asks.get((name, anew))
        if known is None or known[0] is not domain:
            given_again = None if anew else self.answer_cache(domain)
            ask = self.ask_as(domain, cache=given_again, for_people=not anew)
            known = (domain, with_thread_memory(name, lambda: self.threads)(ask))
            self._asks[name, anew] = known
        return known[1]

    def ask_as(
        self, domain: Domain, *, cache: AnswerCache | None = None, for_people: bool = True
    ) -> Ask:
        """The agents over a domain's published documents as this domain file would have them,
        which need not be the one in use. Nothing of a thread is kept."""
        from agents.graph import build_ask
        from agents.observability import with_metrics
        from agents.runbooks.lookup import with_runbook_lookup
        from agents.thorough.gates import with_buffered_progress

        name, most = domain.domain, domain.answer.max_wrong
        ask = build_ask(
            snapshot=lambda: self.access.snapshot(name),
            domain=domain,
            model=self.model,
            cache=cache,
            entails=self.entails,
            reranker=self._reranker_of(domain),
            needed=lambda: self.thresholds.needed(name, most),
            toolbox=self._toolbox_of(domain),
        )
        for wrap in (
            with_buffered_progress(domain, self.model),
            with_runbook_lookup(domain, lambda: self.access.snapshot(name)),
            with_metrics(name, prices=self.settings.read_prices(), for_people=for_people),
        ):
            ask = wrap(ask)
        return ask

    def _toolbox_of(self, domain: Domain) -> Toolbox | None:
        """Tools of others, which nobody but a model can ask."""
        if not domain.tools or self.model is None:
            return None
        from agents.tools.mcp import AllowedTools
        from config.errors import ConfigError

        # Files that are in use were refused when they were read; others come here, too.
        if any(one.command for one in domain.tools) and not self.settings.tool_commands:
            raise ConfigError(
                f"{domain.domain}: domain files may start nothing here (tools.command)",
                remedy="use url, or set ONCALL_TOOL_COMMANDS=on",
            )

        return AllowedTools(domain.tools, self.settings.tool_token)

    def _reranker_of(self, domain: Domain) -> Reranker | None:
        """As `retrieval.rerank` says; None without a model that it asks for."""
        from index.ranking.rerank import ModelReranker

        wanted = domain.retrieval.rerank
        if wanted == "cross_encoder":
            self.settings.require(
                cross_encoder=f"the cross-encoder that retrieval.rerank of {domain.domain} names"
            )
            return self._cross_encoder
        return ModelReranker(self.model) if wanted == "model" and self.model else None

    @cached_property
    def _cross_encoder(self) -> Reranker:
        """One for all domains: it loads when first asked."""
        from index.ranking.rerank import CrossEncoderReranker

        return CrossEncoderReranker(self.settings.cross_encoder or "")

    def answer_cache(self, domain: Domain) -> AnswerCache | None:
        """None without a model: then an answer costs nothing."""
        if self.model is None or not domain.answer.cache.enabled:
            return None
        from agents.answer_cache.cache import SemanticCache

        return SemanticCache(
            kept=lambda: self.kept_answers,
            embedder=self.embedder,
            domain=domain,
            model=self.model.name,
        )

    def retrieve(
        self,
        name: str,
        question: str,
        *,
        readers: frozenset[str] | None = None,
        top_k: int | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """The `/api/retrieve` response; `options` are those of `index.pipelines.retrieve`.

        The domain's own `top_k` counts where none is given."""
        from index.permissions.rules import visible_to

        domain = self.domain(name)
        snapshot = visible_to(self.snapshot(name), readers)
        from agents.query_optimizer import search_planner
        from index.pipelines import retrieve

        return retrieve(
            snapshot,
            question,
            top_k=domain.retrieval.top_k if top_k is None else top_k,
            plan=search_planner(domain, self.model, snapshot),
            reranker=self.reranker,
            **options,
        )

    def ingest(
        self,
        name: str,
        *,
        full: bool = False,
        accept_drop: bool = False,
        watch: IngestProgress | None = None,
        started: Started | None = None,
        assign: Assign | None = None,
    ) -> IngestReport:
        """One run of the ingestion job, which is kept on record. `accept_drop`: publish what finds
        the evidence of fewer golden questions, too. `started`: by a schedule, not by hand.
        `assign`: documents are prepared by whoever takes them, not by this process alone."""
        from jobs.schedule.recorded_run import by_hand, recorded

        started = started or by_hand(name)
        domain = self.domain(name)
        return recorded(
            self.runs,
            name,
            started,
            lambda: self._watched(
                domain, started, accept_drop, full=full, watch=watch, assign=assign
            ),
            generation=lambda: self._answers_from(name),
            cost=self._cost,
        )

    def _cost(self, usage: Usage) -> float | None:
        """In US dollars; None where no prices are set."""
        prices = self.settings.read_prices()
        return prices.of(usage) if prices else None

    def _watched(
        self,
        domain: Domain,
        started: Started,
        accept_drop: bool,
        *,
        full: bool,
        watch: IngestProgress | None,
        assign: Assign | None,
    ) -> IngestReport:
        """A run, and how the golden questions fare after it."""
        name = domain.domain
        canary = self.canary(name, accept_drop=accept_drop)
        report = self._ingest(domain, canary, started, full=full, watch=watch, assign=assign)
        warnings = (*report.warnings, canary.problem) if canary.problem else report.warnings
        canaries = canary.looks_back(self.index.snapshot(name)) if canary.watches else ()
        return replace(report, warnings=warnings, canaries=canaries)

    def canary(self, name: str, *, accept_drop: bool = False) -> Canary:
        """Compares a domain with how it was, by its golden questions."""
        from bot.connection import open_notices
        from jobs.canary.canary import Canary
        from jobs.canary.store import CanaryStore
        from jobs.evaluation.asking import code_fingerprint

        domain = self.domain(name)
        return Canary(
            domain,
            kept=CanaryStore(self.index.engine, name),
            version=code_fingerprint(),
            tell_admins=partial(open_notices(self.settings), domain.admins),
            accept_drop=accept_drop,
        )

    @cached_property
    def runs(self) -> RunStore:
        """What came of each run of the ingestion job."""
        from jobs.schedule.runs import RunStore

        return RunStore(self.index.engine)

    def freshness(self, name: str) -> Freshness:
        from datetime import UTC, datetime

        from jobs.schedule.freshness import freshness

        return freshness(self.domain(name), self.runs.of(name), datetime.now(UTC))

    @cached_property
    def freshness_gauges(self) -> FreshnessGauges:
        """How old the indexes are, for metrics."""
        from jobs.schedule.freshness import FreshnessGauges

        return FreshnessGauges(self.live_domains, self.freshness)

    def jobs(self) -> JobRunner:
        """Refreshes domains on their schedules."""
        from bot.connection import open_notices
        from durable.lease import FileLease, PostgresLease
        from jobs.schedule.runner import JobRunner

        tell = open_notices(self.settings)
        can_tell = self.settings.slack_bot_token is not None  # else another runner may
        url = self.settings.database_url
        data = private_folder(self.settings.data_dir)
        runner = JobRunner(
            domains=self.live_domains,
            refresh=lambda name, started: self.ingest(name, started=started, assign=assign),
            runs=self.runs,
            tell=(lambda person, lines: tell([person], lines)) if can_tell else None,
            database_url=url or f"sqlite:///{(data / 'jobs.sqlite').absolute()}",
            lease=PostgresLease(url) if url else FileLease(data / "jobs.lock", "jobs runner"),
        )
        # SQLite is for one process: its runs prepare their documents themselves.
        assign = self._shared_out(runner) if url else None
        return runner

    @property
    def _made_with(self) -> str:
        """What a prepared document depends on besides itself."""
        from enrichment.pipeline import VERSION

        models = filter(None, (self.embedder.name, self.model_name, self.vision_name))
        return f"{VERSION} {' '.join(models)}"

    def _shared_out(self, runner: JobRunner) -> Assign:
        """Have documents of any runner's runs prepared by this one as well."""
        from config.embeddings import embeds_here
        from jobs.ingest.shared_queue import PreparationWorker
        from jobs.schedule.runner import Registration

        bench = PreparationWorker(
            self.preparing,
            made_with=self._made_with,
            at_once=self.settings.enrich_at_once,
            embedding_at_once=(
                1 if embeds_here(self.settings) else self.settings.embeddings_at_once
            ),
            seconds=self.settings.document_seconds,
        )
        runner.registrations.append(
            Registration(
                register=lambda: bench.register(runner.worker),
                queues=bench.queues,
                leave=bench.leave,
            )
        )
        return bench.assigning(runner.enqueue)

    @cached_property
    def preparing(self) -> Preparation:
        """How documents become what is published."""
        from jobs.ingest.preparer import Preparation

        return Preparation(
            embedder=self.embedder,
            embed_ahead=self.index.embed_ahead,
            model=self.enrichment_model,
            engine=self.index.engine,
            budget=self.enrichment_budget,
            vision_model=self.vision_model,
            vision_budget=self.vision_budget,
        )

    def enrichment_budget(self, run: str) -> Budget:
        """What an ingest run may ask of the chat model, and how fast. It is shared by all
        processes that work on the run, where they share a database."""
        from enrichment.llm.ledger import SharedLedger

        shared = self.settings.database_url and (self.model_name or self.vision_name)
        engine = self.index.engine if shared else None
        return self._budget(
            SharedLedger(engine, model=self.model_name or self.vision_name, run=run)
            if engine is not None
            else None
        )

    def vision_budget(self, run: str) -> Budget:
        """Of the same purse, at the pace of a model that may be another."""
        from config.chat_model import VISION_MODEL
        from enrichment.llm.ledger import SeparatePaceLedger, SharedLedger

        purse = self.preparing.budget(run)
        if self.vision_name == self.model_name:
            return purse
        if self.settings.database_url:
            ledger: Ledger = SharedLedger(self.index.engine, model=self.vision_name, run=run)
        else:
            ledger = SeparatePaceLedger(purse.ledger)
        return self._budget(ledger, VISION_MODEL)

    def _budget(self, ledger: Ledger | None, variable: str = "ONCALL_CHAT_MODEL") -> Budget:
        from enrichment.llm.budget import Budget

        told, prices = self.settings, self.settings.read_prices()
        return Budget(
            variable=variable,
            calls=told.enrich_calls,
            tokens=told.enrich_tokens,
            dollars=told.enrich_dollars,
            cost=prices.of if prices else None,
            at_once=told.enrich_at_once,
            per_minute=told.enrich_per_minute,
            ledger=ledger,
        )

    def _ingest(
        self,
        domain: Domain,
        canary: Canary,
        started: Started,
        *,
        full: bool,
        watch: IngestProgress | None,
        assign: Assign | None,
    ) -> IngestReport:
        from enrichment.pipeline import VERSION
        from index.publish import WAIT_SECONDS
        from jobs.ingest.executors import LocalExecutor, PreparationExecutor
        from jobs.ingest.job import ingest
        from jobs.ingest.quarantine import CrashSuspects
        from jobs.ingest.shared_queue import QueueExecutor

        name, options, seconds = domain.domain, domain.chunks, self.settings.document_seconds
        handed = self.preparing.handed_over(name)
        workshop: PreparationExecutor
        if assign:
            workshop = QueueExecutor(
                run=started.id,
                domain=name,
                options=options,
                model=self.model_name or self.vision_name,
                handed=handed,
                assign=assign,
                made_with=self._made_with,
            )
        else:
            workshop = LocalExecutor(
                self.preparing.ways(started.id, options),
                at_once=self.settings.enrich_at_once,
                seconds=seconds,
                let_go=partial(self.preparing.let_go, started.id),
            )
        return ingest(
            name,
            sources=self.sources(name),
            stage=partial(
                self.index.stage,
                wait_seconds=WAIT_SECONDS if started.waits else 0.0,
                accepts=lambda following: canary.accepts(following, partial(self._serving, name)),
            ),
            workshop=workshop,
            pipeline=" ".join(
                filter(None, (f"{VERSION} {options!r} {self.embedder.name}", self.vision_name))
            ),
            model=self.model_name or self.vision_name,
            handed=handed,
            suspects=lambda: CrashSuspects(self.index.engine, name, pardon=full),
            reads=canary.reads,
            spent=lambda: self.preparing.spent(started.id),
            full=full,
            document_seconds=seconds,
            watch=watch,
        )

    def _serving(self, name: str) -> Snapshot | None:
        """None where nothing can be answered from."""
        from config.errors import IndexUnavailable

        try:
            return self.index.snapshot(name)
        except IndexUnavailable:
            return None

    def published(self) -> dict[str, Snapshot]:
        """The current generation of every domain that has one."""
        from config.errors import IndexUnavailable

        found: dict[str, Snapshot] = {}
        for name in self.domains:
            with suppress(IndexUnavailable):
                found[name] = self.index.snapshot(name)
        return found

    def sources(self, name: str) -> list[DocumentSource]:
        from loaders.registry import open_sources

        vision = self.preparing.vision("") if self.vision_model else None
        pictures = vision.collector() if vision else None
        return open_sources(self.domain(name), self.settings, pictures)

    @cached_property
    def tokens(self) -> LiveTokens:
        """Whom the HTTP API lets in."""
        from api.auth.tokens import LiveTokens

        return LiveTokens(self.settings.config_dir, self.settings.api_token)

    def bot(self, *, socket: bool = True) -> Bot:
        """`socket=False`: Slack's events come in over HTTP."""
        from bot.app import Agents, Documents, build_bot
        from bot.feature import PublishedIndex
        from index.permissions.rules import all_may_read

        self.access.require()
        _ = self.model  # one that is set up wrongly stops the start, not each question
        bot = build_bot(
            self.settings,
            domains=self.live_domains,
            engine=self.index.engine,
            agents=Agents(
                ask=self.ask,
                ask_unattended=lambda name: self.ask(name, anew=True),
                router=self.answering,
                model=self.model,
                streaming=self.settings.has_chat_model(),
                warm=self.warm,
            ),
            documents=Documents(
                published=PublishedIndex(
                    snapshot=self.access.snapshot, embed=self.embedder, embedder=self.embedder.name
                ),
                owners=self.document_desk,
                identities=self.groups,
                everyone_may_read=lambda name, documents: all_may_read(
                    self.access.snapshot(name), documents
                ),
                status=self.index_status,
            ),
            socket=socket,
        )
        self.live_domains.on_problems = bot.tell_admins
        return bot

    def api(self, *, slack: bool) -> FastAPI:
        """The HTTP API, with Slack's events beside it when `slack`."""
        from api.app import build_api
        from api.auth.limits import RequestLimits
        from bot.background import DailyPurge, Warming
        from bot.slack.http_events import add_slack, alongside
        from durable.database import DatabaseWatch
        from telemetry.health import CombinedHealth, add_health

        self.access.require()
        bot = self.bot(socket=False) if slack else None
        alone = Warming(self.warm), DatabaseWatch(self.index.engine)
        parts = (bot,) if bot else alone
        # A bot sees to it by itself.
        upkeep = () if bot else (DailyPurge(self.privacy.daily),)
        api = build_api(
            domains=self.live_domains,
            ask=self.ask,
            retrieve=self.retrieve,
            snapshot=self.access.snapshot,
            identities=self.groups,
            may_ask=self._may_ask(bot),
            tokens=self.tokens,
            audit=self.audit,
            lifespan=alongside(*parts, *upkeep),
            bounds=RequestLimits(per_minute=self.settings.api_requests_per_minute),
            docs=self.settings.api_docs,
            open_metrics=self.settings.metrics == "open",
            answering=self.answering,
            conversations=lambda: self.threads,
        )
        watched = CombinedHealth(*parts, self.freshness_gauges)
        add_health(api, watched, figures=self.settings.metrics != "off")
        if bot and self.settings.slack_signing_secret:
            add_slack(api, bot.app, self.settings.slack_signing_secret)
        return api

    def mcp(self, email: str = "") -> None:
        """Answer over standard input and output until it ends; `email`: as whom."""
        from api.mcp.server import run_over_stdio
        from api.mcp.tools import McpParts
        from api.scope import RequestScopes

        self.access.require()
        served = RequestScopes(
            current=self.live_domains,
            identities=self.groups,
            may_ask=self._may_ask(None),
            audit=self.audit,
        )
        parts = McpParts(
            ask=self.ask,
            answering=self.answering,
            retrieve=self.retrieve,
            snapshot=self.access.snapshot,
        )
        # No daemon: a process that ends while libraries load in another thread is aborted by them.
        loading = Thread(target=self.warm, name="warm")
        loading.start()
        try:
            run_over_stdio(served, parts, email)
        finally:
            loading.join()

    def _may_ask(self, bot: Bot | None) -> MayAsk | None:
        """By membership in Slack, which is reached when first asked; None without Slack."""
        from bot.connection import open_gate

        if self.settings.slack_bot_token is None:
            return None
        gate = cache(lambda: bot.gate if bot else open_gate(self.settings))
        return lambda email, domain: gate().may_ask(email, domain)

    @property
    def privacy(self) -> PrivacyCommands:
        from bot.features.registry import FEATURE_TABLES
        from bot.privacy.personal_data import PrivacyCommands

        return PrivacyCommands(
            settings=self.settings,
            engine=self.index.engine,
            features=FEATURE_TABLES,
            domains=self.live_domains,
            audit=self.audit,
        )

    def index_status(self, name: str) -> IndexStatus | None:
        """What a domain answers from; None when nothing was ever published."""
        from bot.features.home.views import IndexStatus

        for info in self.index.generations(name):
            if info.is_current:
                fresh = self.freshness(name)
                return IndexStatus(
                    generation=info.number,
                    documents=info.documents,
                    published_at=info.created_at,
                    refreshed=fresh.sentence(),
                    problems=fresh.complaints(),
                )
        return None

    def _answers_from(self, name: str) -> int:
        """The generation's number; 0 for none."""
        return next((one.number for one in self.index.generations(name) if one.is_current), 0)


async def graph() -> CompiledStateGraph[Any, Any, Any, Any]:
    """What `langgraph dev` opens in LangGraph's Studio; langgraph.json names it.

    The server calls it for each run, on its event loop, where nothing may read files."""
    return await asyncio.to_thread(_studio)


@cache
def _studio() -> CompiledStateGraph[Any, Any, Any, Any]:
    from api.studio import build_studio
    from config.settings import read_settings

    copilot = Copilot(read_settings())
    return build_studio(
        domains=copilot.domains, snapshot=copilot.access.snapshot, model=copilot.model
    )
