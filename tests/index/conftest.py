"""A small made-up corpus, an embedder without a model, and an index in a temporary folder."""

from __future__ import annotations

import hashlib
import json
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from config.models import Vectors
from config.settings import Settings
from enrichment.chunk import Chunk, ChunkTable, DocumentCard, Entity, Faq, Unit
from index.publish import Index, open_index
from index.search import SearchQuery, Snapshot
from telemetry.metrics import VECTOR_SEARCHES
from tests.databases import postgresql_database

DIMENSIONS = 32


class WordEmbedder:
    """Texts that share words have near vectors; counts what it is asked."""

    max_tokens = 256
    language = ""

    def __init__(self, name: str = "words", dimensions: int = DIMENSIONS) -> None:
        self.name = name
        self.dimensions = dimensions
        self.texts = 0

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def knows(self, word: str) -> bool:
        return word.isalpha()

    def __call__(self, texts: Sequence[str]) -> Vectors:
        self.texts += len(texts)
        vectors = np.full((len(texts), self.dimensions), 1e-3, dtype=np.float32)
        for row, one in enumerate(texts):
            for word in one.lower().split():
                mark = hashlib.sha256(word.strip(".,?!›").encode("utf-8", "replace")).digest()
                vectors[row, mark[0] % self.dimensions] += 1
                vectors[row, mark[1] % self.dimensions] += 0.5
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def make_chunk(document: str, position: int, text: str, **more: Any) -> Chunk:
    heading = more.pop("heading", f"Section {position}")
    title = more.pop("title", document.replace("-", " ").title())
    sentences = [part.strip() + "." for part in text.split(".") if part.strip()]
    units = tuple(Unit(kind="sentence", text=s, index_text=f"{heading} {s}") for s in sentences)
    identity = f"{document}|{heading}|{position}|{text}"
    return Chunk(
        id=hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:16],
        document_id=document,
        document_title=title,
        kind="text",
        position=position,
        heading_path=(heading,),
        text=text,
        index_text=f"{title} › {heading} {text}",
        tokens=len(text.split()),
        units=more.pop("units", units),
        **more,
    )


def make_card(document: str, **more: Any) -> DocumentCard:
    return DocumentCard(
        id=document,
        title=more.pop("title", document.replace("-", " ").title()),
        url=f"https://docs.example.com/{document}",
        summary=more.pop("summary", f"About {document}."),
        **more,
    )


TEXTS: dict[str, list[str]] = {
    "key-rotation": [
        "Signing keys are rotated every 90 days. The owner is the identity team.",
        "An expired key is revoked within one hour. Tell SEC-1234 in the channel.",
    ],
    "incident-guide": [
        "A P0 incident pages the commander at once. Everyone joins the bridge.",
        "Severity P1 is answered within fifteen minutes during office hours.",
        "Write the report within five days after the incident.",
    ],
    "laptop-policy": [
        "Laptops are encrypted. Lost laptops are reported to the service desk.",
        "Guests use the visitor network in region hbr-eu1 only.",
    ],
}


@pytest.fixture
def chunk() -> Callable[..., Chunk]:
    return make_chunk


@pytest.fixture
def card() -> Callable[..., DocumentCard]:
    return make_card


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def make_embedder() -> Callable[..., WordEmbedder]:
    return WordEmbedder


def make_corpus() -> dict[str, tuple[DocumentCard, list[Chunk]]]:
    made = {
        document: (make_card(document), [make_chunk(document, i, t) for i, t in enumerate(texts)])
        for document, texts in TEXTS.items()
    }
    table = ChunkTable(
        id="t1",
        caption="Response times",
        header=("Severity", "Minutes"),
        rows=(("P0", "5"), ("P1", "15")),
        total_rows=2,
    )
    rows = tuple(
        Unit(
            kind="row",
            text=f"{a} | {b}",
            index_text=f"Response times Severity: {a}; Minutes: {b}",
            row=i,
        )
        for i, (a, b) in enumerate(table.rows)
    )
    faqs = (Faq(question="Who runs the bridge?", answer="The commander."),)
    made["incident-guide"] = (
        make_card("incident-guide", faqs=faqs, document_type="runbook", keywords=("escalation",)),
        [
            *made["incident-guide"][1],
            make_chunk(
                "incident-guide",
                3,
                "| Severity | Minutes |\n|---|---|\n| P0 | 5 |\n| P1 | 15 |",
                heading="Response times",
                table=table,
                units=rows,
                entities=(Entity(kind="code", value="P0"), Entity(kind="code", value="P1")),
            ),
        ],
    )
    return made


@pytest.fixture
def corpus() -> dict[str, tuple[DocumentCard, list[Chunk]]]:
    return make_corpus()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A database of a real PostgreSQL; its URL."""
    with postgresql_database() as url:
        yield url


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Chroma server of its own; its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("chroma")
    program = str(Path(sys.executable).with_name("chroma"))
    command = [program, "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until_open(port)
        yield f"http://127.0.0.1:{port}"
        process.terminate()


def eventually(true: Callable[[], bool]) -> None:
    """Fails when it isn't true after two minutes."""
    for _ in range(2_400):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it never came true")


def wait_until_open(port: int) -> None:
    for _ in range(2_400):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nothing listens on port {port}")


@pytest.fixture
def embedded(tmp_path: Path) -> Settings:
    """SQLite alone."""
    return Settings(_env_file=None, data_dir=tmp_path / "var")


def serve(data_dir: Path, postgresql: str, chroma_server: str) -> Settings:
    """A fresh PostgreSQL database and an emptied Chroma server."""
    url = make_url(postgresql).set(drivername="postgresql+psycopg")
    name = f"test_{uuid.uuid4().hex}"
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    empty(chroma_server)
    return Settings(
        _env_file=None,
        data_dir=data_dir,
        database_url=url.set(database=name).render_as_string(hide_password=False),
        chroma_url=chroma_server,
    )


def empty(chroma_server: str) -> None:
    base = f"{chroma_server}/api/v2/tenants/default_tenant/databases/default_database/collections"
    with urlopen(base) as reply:  # noqa: S310 - a server of this test
        names = [collection["name"] for collection in json.load(reply)]
    for name in names:
        remove = Request(f"{base}/{name}", method="DELETE")  # noqa: S310 - likewise
        urlopen(remove).close()  # noqa: S310 - likewise


@pytest.fixture(params=["embedded", "served"])
def settings(request: pytest.FixtureRequest, embedded: Settings) -> Settings:
    """Every test that uses it runs on both."""
    if request.param == "embedded":
        return embedded
    postgresql = request.getfixturevalue("postgresql")
    chroma_server = request.getfixturevalue("chroma_server")
    return serve(embedded.data_dir, postgresql, chroma_server)


def wait_for_chroma(snapshot: Snapshot) -> None:
    """Until Chroma has what the generation needs, its mapped files are searched."""
    asked = SearchQuery(variants=("signing keys",), strategy="semantic")
    before = searches_by("chroma", snapshot.domain)

    def by_chroma() -> bool:
        snapshot.search(asked)
        return searches_by("chroma", snapshot.domain) > before

    eventually(by_chroma)


def searches_by(engine: str, domain: str = "help") -> float:
    return VECTOR_SEARCHES.labels(domain, engine)._value.get()


ENGINES: dict[str, dict[str, Any]] = {
    "embedded": {},
    "served": {},
    "embedded-by-chroma": {"vector_engine": "chroma", "keyword_engine": "rank_bm25"},
    "served-by-chroma": {"vector_engine": "chroma"},
}


@pytest.fixture(scope="module", params=ENGINES)
def snapshot(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Snapshot]:
    """The corpus, published once for all tests of a module that only read it."""
    data_dir = tmp_path_factory.mktemp("published")
    settings = Settings(_env_file=None, data_dir=data_dir)
    if request.param.startswith("served"):
        postgresql = request.getfixturevalue("postgresql")
        settings = serve(data_dir, postgresql, request.getfixturevalue("chroma_server"))
    engines = ENGINES[request.param]
    settings = settings.model_copy(update=engines)
    opened = open_index(settings, WordEmbedder())
    with opened.stage("help") as staging:
        for one, content in make_corpus().values():
            staging.put(one, content)
        staging.commit({})
    if "vector_engine" in engines:
        wait_for_chroma(opened.snapshot("help"))
    before = searches_by("local")
    yield opened.snapshot("help")
    assert searches_by("local") == before
    opened.close()


@pytest.fixture
def index(settings: Settings, embedder: WordEmbedder) -> Iterator[Index]:
    opened = open_index(settings, embedder)
    yield opened
    opened.close()


@pytest.fixture
def publish(index: Index) -> Callable[..., Any]:
    """Put documents into the domain `help` and commit."""

    def run(documents: dict[str, tuple[DocumentCard, list[Chunk]]], **cursors: str) -> Any:
        with index.stage("help") as staging:
            for one, content in documents.values():
                staging.put(one, content)
            return staging.commit(cursors)

    return run
