"""The ingestion job: runs and their records, canaries, freshness, the job runner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from config.parsing.secret_files import private_folder

if TYPE_CHECKING:
    from bot.features.home.views import IndexStatus
    from config.domain import Domain
    from config.models import Usage
    from config.settings import Settings
    from durable.heartbeat import Sign
    from jobs.canary.canary import Canary
    from jobs.ingest.executors import PreparationExecutor
    from jobs.ingest.progress import IngestProgress, IngestReport
    from jobs.ingest.shared_queue import Assign
    from jobs.schedule.freshness import Freshness, FreshnessGauges
    from jobs.schedule.recorded_run import Started
    from jobs.schedule.runner import JobRunner
    from jobs.schedule.runs import RunStore
    from oncall.documents import Documents
    from oncall.models import Models


class Ingestion:
    def __init__(self, settings: Settings, models: Models, documents: Documents) -> None:
        self._settings = settings
        self._models = models
        self._documents = documents

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
        """Run the ingestion job once and record the run.

        `accept_drop`: publish even if fewer golden questions find their evidence. `started`: the
        scheduled run; None for a manual one. `assign`: lets other processes prepare documents."""
        from jobs.schedule.recorded_run import by_hand, recorded

        started = started or by_hand(name)
        domain = self._documents.domain(name)

        def run() -> IngestReport:
            canary = self.canary(name, accept_drop=accept_drop)
            report = self._ingest(domain, canary, started, full=full, watch=watch, assign=assign)
            warnings = (*report.warnings, canary.problem) if canary.problem else report.warnings
            snapshot = self._documents.index.snapshot
            canaries = canary.looks_back(snapshot(name)) if canary.watches else ()
            return replace(report, warnings=warnings, canaries=canaries, unchecked=canary.problem)

        return recorded(
            self.runs,
            name,
            started,
            run,
            generation=lambda: self._current_generation(name),
            cost=self._cost,
        )

    def _cost(self, usage: Usage) -> float | None:
        """US dollars; None if no prices are set."""
        prices = self._settings.ingest_prices()
        return prices.of(usage) if prices else None

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
        from jobs.ingest.handoff_store import CrashSuspects
        from jobs.ingest.job import ingest
        from jobs.ingest.lost_sources import LostSources

        name, models, index = domain.domain, self._models, self._documents.index
        current = partial(self._documents.current, name)
        lost = LostSources(
            self._documents.lost_sources, name, days=domain.retention.lost_source_days
        )
        pipeline = f"{VERSION} {domain.chunks!r} {models.embedder.name}"
        return ingest(
            name,
            sources=self._documents.sources(name),
            stage=partial(
                index.stage,
                wait_seconds=WAIT_SECONDS if started.waits else 0.0,
                # A withdrawal costs golden questions, and happens all the same.
                accepts=lambda following: lost.withdraws or canary.accepts(following, current),
            ),
            executor=self._executor(domain, started, assign),
            pipeline=" ".join(filter(None, (pipeline, models.vision_name))),
            model=models.chat_name or models.vision_name,
            store=self._documents.preparing.store_of(name),
            suspects=lambda: CrashSuspects(index.engine, name, pardon=full),
            lost=lost,
            reads=canary.reads,
            spent=lambda: self._documents.preparing.spent(started.id),
            full=full,
            document_seconds=self._settings.document_seconds,
            watch=watch,
        )

    def _executor(
        self, domain: Domain, started: Started, assign: Assign | None
    ) -> PreparationExecutor:
        from jobs.ingest.executors import LocalExecutor
        from jobs.ingest.shared_queue import QueueExecutor

        if assign:
            return QueueExecutor(
                run=started.id,
                domain=domain.domain,
                options=domain.chunks,
                model=self._models.chat_name or self._models.vision_name,
                store=self._documents.preparing.store_of(domain.domain),
                assign=assign,
                made_with=self._documents.made_with,
            )
        return LocalExecutor(
            self._documents.preparing.ways(started.id, domain.chunks),
            at_once=self._settings.enrich_at_once,
            seconds=self._settings.document_seconds,
            release=partial(self._documents.preparing.release, started.id),
        )

    def canary(self, name: str, *, accept_drop: bool = False) -> Canary:
        """Compares a domain with its earlier generations, by its golden questions."""
        from bot.connection import open_notices
        from jobs.canary.canary import Canary
        from jobs.canary.store import CanaryStore
        from jobs.evaluation.asking import code_fingerprint

        domain = self._documents.domain(name)
        return Canary(
            domain,
            store=CanaryStore(self._documents.index.engine, name),
            version=code_fingerprint(),
            tell_admins=partial(open_notices(self._settings), domain.admins),
            accept_drop=accept_drop,
        )

    @cached_property
    def runs(self) -> RunStore:
        """The outcome of each run of the ingestion job."""
        from jobs.schedule.recorded_run import died
        from jobs.schedule.runs import RunStore

        index = self._documents.index
        return RunStore(index.engine, partial(died, is_locked=index.is_locked))

    def freshness(self, name: str) -> Freshness:
        from datetime import UTC, datetime

        from jobs.schedule.freshness import freshness

        fresh = freshness(self._documents.domain(name), self.runs.of(name), datetime.now(UTC))
        return replace(fresh, lost=tuple(self._documents.lost_sources.of(name)))

    def runners(self) -> Sequence[Sign]:
        """The last signs of life of job runners, of any machine."""
        from durable.heartbeat import last_signs

        return last_signs(self._documents.index.engine, "jobs")

    @cached_property
    def freshness_gauges(self) -> FreshnessGauges:
        """The age of each index, as metrics."""
        from jobs.schedule.freshness import FreshnessGauges

        return FreshnessGauges(self._documents.live_domains, self.freshness)

    def index_status(self, name: str) -> IndexStatus | None:
        """Describes a domain's published index; None if nothing was ever published."""
        from bot.features.home.views import IndexStatus

        info = self._documents.index.current(name)
        if info is None:
            return None
        fresh = self.freshness(name)
        return IndexStatus(
            generation=info.number,
            documents=info.documents,
            published_at=info.created_at,
            refreshed=fresh.sentence(),
            problems=fresh.complaints(),
        )

    def _current_generation(self, name: str) -> int:
        """Returns the generation's number; 0 for none."""
        current = self._documents.index.current(name)
        return current.number if current else 0

    def jobs(self) -> JobRunner:
        """Refreshes domains on their schedules."""
        from bot.connection import open_notices
        from durable.connection_limits import warn_of_connections
        from durable.lease import FileLease, PostgresLease
        from jobs.schedule.runner import JobRunner

        tell = open_notices(self._settings)
        can_tell = self._settings.slack_bot_token is not None  # else another runner may
        url = self._settings.database_url
        data = private_folder(self._settings.data_dir)
        runner = JobRunner(
            domains=self._documents.live_domains,
            refresh=lambda name, started: self.ingest(name, started=started, assign=assign),
            runs=self.runs,
            tell=(lambda person, lines: tell([person], lines)) if can_tell else None,
            database_url=url or f"sqlite:///{(data / 'jobs.sqlite').absolute()}",
            lease=PostgresLease(self._documents.index.engine)
            if url
            else FileLease(data / "jobs.lock", "jobs runner"),
        )
        warn_of_connections(self._documents.index.engine)
        # SQLite serves one process, so each run prepares its own documents.
        assign = self._share_preparation(runner) if url else None
        return runner

    def _share_preparation(self, runner: JobRunner) -> Assign:
        """Let this runner prepare documents for the runs of all runners."""
        from config.embeddings import embeds_here
        from jobs.ingest.shared_queue import PreparationWorker
        from jobs.schedule.runner import Registration

        settings = self._settings
        worker = PreparationWorker(
            self._documents.preparing,
            made_with=self._documents.made_with,
            at_once=settings.enrich_at_once,
            embedding_at_once=1 if embeds_here(settings) else settings.embeddings_at_once,
            seconds=settings.document_seconds,
        )
        runner.registrations.append(
            Registration(
                register=lambda: worker.register(runner.worker),
                queues=worker.queues,
                leave=worker.leave,
            )
        )
        return worker.assigning(runner.enqueue)
