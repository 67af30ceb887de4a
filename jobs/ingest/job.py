"""One run of the ingestion job: load what changed, have it prepared, publish it in steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing

from config.models import Usage
from jobs.ingest.executors import PreparationExecutor
from jobs.ingest.handoff_store import PreparationStore
from jobs.ingest.ports import IngestProgress, IngestReport, NextGeneration
from jobs.ingest.quarantine import CrashSuspects
from jobs.ingest.run import PublishSchedule, RunInProgress
from loaders.document import Document
from loaders.source import DocumentSource
from loaders.time_limit import SECONDS
from telemetry import metrics


def ingest(
    domain: str,
    *,
    sources: Sequence[DocumentSource],
    stage: Callable[[str], AbstractContextManager[NextGeneration]],
    executor: PreparationExecutor,
    pipeline: str,
    model: str = "",
    store: PreparationStore | None = None,
    suspects: Callable[[], CrashSuspects | None] = lambda: None,
    reads: Callable[[Document], object] = lambda document: None,
    spent: Callable[[], Usage] = Usage,
    full: bool = False,
    document_seconds: float = SECONDS,
    steps: PublishSchedule | None = None,
    watch: IngestProgress | None = None,
) -> IngestReport:
    """Publish what changed since the last run.

    Where that takes long, what is ready is published in `steps`: first as it can be described
    without the model, then as the model describes it.
    `pipeline` names the way documents are split, enriched and embedded: one that was made in
    another way is made again. `model`: its name, empty for none. `store` keeps loaded documents
    until nobody needs them any more, and is needed with a model. `reads` sees each document that
    is read. `spent` is asked at the end.
    `document_seconds` of computing may go into loading one document. One that takes longer, or
    that breaks its loader, is reported like any that can't be read: its last good version stays,
    and all others go on.

    Raises PublishError, IndexUnavailable, ModelUnavailable for its embeddings, or a source's
    ConfigError; what was published last serves on.
    """
    watch = watch or IngestProgress()
    started = time.monotonic()
    with closing(executor), stage(domain) as staging:
        suspected = suspects()  # those of the last run, now that it is known to be over
        run = RunInProgress(
            staging=staging,
            executor=executor,
            pipeline=pipeline,
            model=model,
            store=store,
            suspects=suspected,
            reads=reads,
            full=full,
            seconds=document_seconds,
            steps=steps or PublishSchedule(),
            watch=watch,
        )
        try:
            for source in sources:
                run.read(source)
            run.finish()
        finally:
            metrics.INGEST_QUEUE.set(0)
            if suspected:
                suspected.close()
        published = run.publish()
    return run.report(domain, published, usage=spent(), seconds=time.monotonic() - started)
