"""Processes that die or run side by side: what is served is always one whole generation."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from config.settings import Settings
from enrichment.chunk import Chunk, DocumentCard
from index.publish import Index, open_index
from index.search import SearchQuery

pytestmark = pytest.mark.kill

KILLS = 30 if os.environ.get("ONCALL_THOROUGH") else 3
ROOT = Path(__file__).parents[3]

WRITER = """
import runpy, sys
from pathlib import Path
import bm25s
made = runpy.run_path("tests/index/conftest.py")
from config.settings import Settings
from index.publish import open_index
index = open_index(Settings(_env_file=None, data_dir=Path(sys.argv[1])), made["WordEmbedder"]())
print("open", flush=True)
for version in range(int(sys.argv[2]), int(sys.argv[3])):
    with index.stage("help") as staging:
        for number in range(12):
            name = f"document-{number}"
            first = f"Version {version} of number {number}. Stable sentence of {name}."
            texts = enumerate([first, f"Rest {number}."])
            chunks = [made["make_chunk"](name, place, text) for place, text in texts]
            staging.put(made["make_card"](name, version=str(version)), chunks)
        staging.commit({"version": str(version)})
    print(version, flush=True)
"""


def write(data_dir: Path, first: int, last: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(data_dir), str(first), str(last)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def version_served(index: Index) -> int:
    """The one version that all documents, their chunks and a search agree on."""
    snapshot = index.snapshot("help")
    versions = {card.version for card in snapshot.documents.values()}
    assert len(versions) == 1
    assert len(snapshot.documents) == 12
    (version,) = versions
    for name in snapshot.documents:
        assert f"Version {version} of" in snapshot.chunks(name)[0].text
    query = SearchQuery(variants=(f"Version {version} of number 3",), limit=30)
    hits = snapshot.search(query)
    assert len(hits) == 24
    assert all(hit.chunk in snapshot.chunks(hit.chunk.document_id) for hit in hits)
    return int(version)


def test_killed_at_any_moment_the_old_generation_serves_and_the_next_run_completes(
    embedded: Settings, make_embedder: Callable[..., Any]
) -> None:
    with write(embedded.data_dir, 0, 1) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        opened = time.monotonic()
        writer.stdout.readline()
        whole_run = time.monotonic() - opened
        assert writer.wait() == 0
    moments = random.Random(7)
    published = 0
    for version in range(1, KILLS + 1):
        with write(embedded.data_dir, version, version + 1) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(moments.uniform(0, whole_run))
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        index = open_index(embedded, make_embedder())
        served = version_served(index)
        assert served in {published, version}
        published = served
        index.close()
    with write(embedded.data_dir, 999, 1000) as writer:
        assert writer.wait() == 0
    index = open_index(embedded, make_embedder())
    assert version_served(index) == 999
    undisturbed = Settings(_env_file=None, data_dir=embedded.data_dir.with_name("undisturbed"))
    with write(undisturbed.data_dir, 999, 1000) as writer:
        assert writer.wait() == 0
    other = open_index(undisturbed, make_embedder())
    for question in ("Version 999 of number 3", "stable sentence", "rest 7"):
        query = SearchQuery(variants=(question,), limit=30)
        assert index.snapshot("help").search(query) == other.snapshot("help").search(query)
    for one in (index, other):
        one.close()


def test_a_reader_sees_whole_generations_while_another_process_publishes(
    embedded: Settings, make_embedder: Callable[..., Any]
) -> None:
    with write(embedded.data_dir, 0, 1) as writer:
        assert writer.wait() == 0
    index = open_index(embedded, make_embedder())
    seen = [version_served(index)]
    with write(embedded.data_dir, 1, 6) as writer:
        while writer.poll() is None:
            seen.append(version_served(index))
    assert writer.returncode == 0
    deadline = time.monotonic() + 120
    while seen[-1] != 5 and time.monotonic() < deadline:
        seen.append(version_served(index))
        time.sleep(0.1)
    assert seen == sorted(seen)
    assert seen[-1] == 5
    index.close()


@pytest.mark.parametrize("size", [1, 40])
def test_a_journal_cut_in_the_middle_keeps_its_whole_records(tmp_path: Path, size: int) -> None:
    import numpy as np

    from index.generations.build import Journal

    path = tmp_path / "journal"
    vectors = {f"{n:032x}": np.full(8, n, dtype=np.float32) for n in range(size)}
    with Journal(path, 8) as journal:
        journal.append(vectors)
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes()[: whole - 5])
    with Journal(path, 8) as journal:
        assert len(journal.vectors) == size - 1
        journal.append({"f" * 32: np.ones(8, dtype=np.float32)})
    with Journal(path, 8) as journal:
        assert len(journal.vectors) == size
    assert path.stat().st_size == whole


def test_every_publication_is_complete_on_its_own(
    embedded: Settings,
    make_embedder: Callable[..., Any],
    corpus: dict[str, tuple[DocumentCard, list[Chunk]]],
) -> None:
    """Earlier generations may disappear: the current one needs nothing of them."""
    import shutil

    index = open_index(embedded, make_embedder())
    for card, chunks in corpus.values():
        with index.stage("help") as staging:
            staging.put(card, chunks)
            staging.commit({})
    index.close()
    shutil.rmtree(embedded.data_dir / "index/help/000002")
    reader = open_index(embedded, make_embedder())
    assert len(reader.snapshot("help").search(SearchQuery(variants=("keys",)))) == 8
    reader.close()
