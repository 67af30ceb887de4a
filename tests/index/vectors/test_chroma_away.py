"""The Chroma server goes away and comes back: answers go on, publication says so, and searches and
publication work again without a restart."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from config.errors import IndexUnavailable
from config.settings import Settings
from enrichment.chunk import Chunk, DocumentCard
from index.generations import engines
from index.publish import Index, open_index
from index.search import SearchQuery
from index.vectors.chroma import ChromaServer
from tests.index.conftest import WordEmbedder, wait_for_chroma, wait_until_open

pytestmark = pytest.mark.outage

Corpus = dict[str, tuple[DocumentCard, list[Chunk]]]
QUERY = SearchQuery(variants=("signing keys",))
READABLE = SearchQuery(variants=("signing keys",), readable=frozenset(["laptop-policy"]))


@dataclass
class Chroma:
    """A real server that can be taken away and given back, with what it holds."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None)

    def start(self) -> None:
        program = str(Path(sys.executable).with_name("chroma"))
        where = ["--path", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [program, "run", *where], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until_open(self.port)

    def freeze(self) -> None:
        """It takes connections and says nothing."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chroma]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        made = Chroma(tmp_path_factory.mktemp("chroma"), free.getsockname()[1])
    made.start()
    yield made
    made.stop()


def publish(index: Index, documents: Corpus) -> None:
    with index.stage("help") as staging:
        for one, content in documents.values():
            staging.put(one, content)
        staging.commit({})


def test_a_server_that_is_away_stops_publication_alone_until_it_is_back(
    server: Chroma, tmp_path: Path, corpus: Corpus, make_embedder: Any
) -> None:
    settings = Settings(
        _env_file=None, data_dir=tmp_path / "var", chroma_url=f"http://127.0.0.1:{server.port}"
    )
    index = open_index(settings, WordEmbedder())
    first = dict(list(corpus.items())[:-1])
    publish(index, first)
    expected = index.snapshot("help").search(QUERY)
    server.stop()
    try:
        with pytest.raises(IndexUnavailable) as failed:
            publish(index, corpus)
        assert "Chroma server" in str(failed.value)
        assert "\n" not in str(failed.value)
        assert index.snapshot("help").search(QUERY) == expected
        beside = open_index(settings, WordEmbedder())  # a worker that starts meanwhile
        assert beside.snapshot("help").search(QUERY) == expected
        beside.close()
        shutil.rmtree(settings.data_dir / "index")  # and one on an empty disk
        embedder = make_embedder()
        anew = open_index(settings, embedder)
        assert anew.snapshot("help").search(QUERY) == expected
        assert embedder.texts > 1
        anew.close()
    finally:
        server.start()
    publish(index, corpus)
    assert len(index.snapshot("help").documents) == len(corpus)
    index.close()


def test_searches_by_a_server_go_on_in_local_files_while_it_is_away(
    server: Chroma, tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "RETRY_SECONDS", 0.2)
    monkeypatch.setattr(engines, "SEARCH_SECONDS", 1.0)
    settings = Settings(
        _env_file=None,
        data_dir=tmp_path / "var",
        chroma_url=f"http://127.0.0.1:{server.port}",
        vector_engine="chroma",
    )
    index = open_index(settings, WordEmbedder())
    publish(index, corpus)
    wait_for_chroma(index.snapshot("help"))
    expected = ids(index, QUERY), ids(index, READABLE)
    for leave, come_back in ((server.stop, server.start), (server.freeze, server.thaw)):
        with capture_logs() as lines:
            leave()
            try:
                for _ in range(3):
                    assert (ids(index, QUERY), ids(index, READABLE)) == expected
                beside = open_index(settings, WordEmbedder())  # a worker that starts meanwhile
                assert ids(beside, QUERY) == expected[0]
                beside.close()
            finally:
                come_back()
            wait_for_chroma(index.snapshot("help"))
            assert (ids(index, QUERY), ids(index, READABLE)) == expected
        events = [line["event"] for line in lines]
        assert events.count("Chroma is searched again") == 1
        away = [line for line in lines if line["event"].startswith("Chroma unavailable")]
        assert away
        assert all(line["chroma"] == settings.chroma_url for line in away)
        assert all("\n" not in line["cause"] for line in away)
    index.close()


def ids(index: Index, query: SearchQuery) -> list[str]:
    return [hit.chunk.id for hit in index.snapshot("help").search(query)]


def test_a_server_that_takes_connections_and_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hole:
        silent = ChromaServer(f"http://127.0.0.1:{hole.getsockname()[1]}", connect_seconds=0.2)
        with pytest.raises(IndexUnavailable, match="Chroma server"):
            silent.collection("help", "words", "chunks")
