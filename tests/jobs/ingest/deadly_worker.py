"""Works on one assignment in a process of its own, and is killed by it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from sqlalchemy import create_engine

from enrichment.chunk import Chunk
from enrichment.pipeline import Enriched
from jobs.ingest.handoff_store import PreparationStore
from jobs.ingest.shared_queue import PreparationTask, PreparationWorker, read_assignment
from loaders.document import Document


class Deadly:
    def __init__(self, url: str) -> None:
        self._engine = create_engine(url)

    def prepare(self, assignment: PreparationTask, document: Document) -> Enriched:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("unreachable")

    def embed(self, domain: str, chunks: Sequence[Chunk]) -> int:
        return 0

    def store_of(self, domain: str) -> PreparationStore:
        return PreparationStore(self._engine, domain)


if __name__ == "__main__":
    _, url, told = sys.argv
    PreparationWorker(Deadly(url), made_with="", at_once=1).do(read_assignment(told))
