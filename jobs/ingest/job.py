"""One run of the ingestion job: loads changed documents, has them prepared, publishes in steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing

from config.models import Usage
from index.generations.staging import Staging
from jobs.ingest.executors import PreparationExecutor
from jobs.ingest.handoff_store import CrashSuspects, PreparationStore
from jobs.ingest.lost_sources import LostSources
from jobs.ingest.progress import IngestProgress, IngestReport, PublishSchedule
from jobs.ingest.run import RunInProgress
from loaders.document import Document
from loaders.source import DocumentSource
from loaders.time_limit import SECONDS
from telemetry import metrics


def ingest(
    domain: str,
    *,
    sources: Sequence[DocumentSource],
    stage: Callable[[str], AbstractContextManager[Staging]],
    executor: PreparationExecutor,
    pipeline: str,
    model: str = "",
    store: PreparationStore | None = None,
    suspects: Callable[[], CrashSuspects | None] = lambda: None,
    lost: LostSources | None = None,
    reads: Callable[[Document], object] = lambda document: None,
    spent: Callable[[], Usage] = Usage,
    full: bool = False,
    document_seconds: float = SECONDS,
    steps: PublishSchedule | None = None,
    watch: IngestProgress | None = None,
) -> IngestReport:
    """Publish what changed since the last run.

    A long run publishes in `steps`: first without the model's descriptions, then with them.
    `pipeline` identifies how documents are split, enriched and embedded; documents prepared
    differently are prepared again. `model`: its name, empty for none. `store` holds loaded
    documents while they are needed; a model requires it. `lost`: without it, a source of which
    nothing can be read ends the run. `reads` gets each document that is read.
    `spent` is called at the end. `document_seconds`: computing time for loading one document. A
    document that takes longer or breaks its loader is reported as unreadable, its last good
    version stays, and the run continues.

    Raises PublishError, IndexUnavailable, ModelUnavailable for its embeddings, or a source's
    ConfigError; the last publication stays in use.
    """
    watch = watch or IngestProgress()
    started = time.monotonic()
    with closing(executor), stage(domain) as staging:
        suspected = suspects()  # read only now that the last run is over
        run = RunInProgress(
            staging=staging,
            executor=executor,
            pipeline=pipeline,
            model=model,
            store=store,
            suspects=suspected,
            lost=lost,
            reads=reads,
            full=full,
            seconds=document_seconds,
            steps=steps or PublishSchedule(),
            watch=watch,
        )
        try:
            run.read(sources)
            run.finish()
        finally:
            metrics.INGEST_QUEUE.set(0)
            if suspected:
                suspected.close()
        published = run.publish()
        if lost:
            lost.store()
    return run.report(domain, published, usage=spent(), seconds=time.monotonic() - started)
