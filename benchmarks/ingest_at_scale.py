"""A first ingestion by 1, 2 and 4 processes of `oncall jobs run`, on a real PostgreSQL.

    python -m benchmarks.ingest_at_scale [--documents 120] [--processes 1,2,4] [--ways plain,model]

The documents are the demo's, with a number in every sentence and row, so that no two have a vector
in common. Ways: `plain`, without a model; `model`, with a scripted one that takes five seconds a
reply and is asked twenty times at once; `killed`, plain, with a process killed every 20 s;
`server`, embedded by a server that takes 0.2 s a request. Memory is the resident set of the largest
process, and of all of them together."""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table
from sqlalchemy import create_engine, inspect, make_url, text

from playground.google_stand_in import DEMO_FOLDER
from playground.openai_stand_in import OpenAIStandIn, Request
from tests.databases import breakable_postgresql

REPLY_SECONDS = 5.0
EMBEDDING_SECONDS = 0.2
AT_ONCE = 20
LOOK_SECONDS = 0.5
MOST_SECONDS = 1_800.0


@dataclass
class Measured:
    seconds: float = 0.0
    first_answer: float = 0.0
    """Seconds until something was published."""
    then: int = 0
    """Documents that could be answered from by then."""
    largest: float = 0.0
    together: float = 0.0
    """Megabytes."""
    killed: int = 0
    calls: int = 0
    """Of the chat model, in one run."""
    undescribed: int = 0
    """Documents that the model was to describe, and did not."""
    documents: int = 0
    generations: list[int] = field(default_factory=list)


def write_documents(folder: Path, count: int) -> None:
    """As many as are asked for, none with a sentence or a row of another."""
    folder.mkdir(parents=True)
    texts = [path.read_text("utf-8") for path in sorted(DEMO_FOLDER.glob("*/*.md"))]
    for number in range(count):
        body = texts[number % len(texts)]
        head = re.search(r"\A---\n.*?\n---\n", body, re.DOTALL)
        body = body[head.end() :] if head else body
        body = re.sub(r"\.(?=\s)", f" in site {number}.", body)
        body = re.sub(r"^\| ([^-|][^|]*) \|", rf"| \1 at site {number} |", body, flags=re.MULTILINE)
        (folder / f"document-{number:05d}.md").write_text(body, "utf-8")


def scripted(request: Request) -> dict[str, Any]:
    """What a model might say of these texts: words and sentences of theirs."""
    if "input" in request.body:
        return {}  # embeddings have a time of their own
    time.sleep(REPLY_SECONDS)
    shown = str(request.body["messages"][-1]["content"])
    if request.name == "enrich_document":
        told = re.findall(r"[A-Z][^.|\n]{40,200}\.", shown)[:5]
        faqs = [{"question": f"What of {one.lower()[:60]}?", "answer": one} for one in told]
        return {
            "summary": " ".join(told[:2]),
            "document_type": "policy",
            "keywords": _words(shown, 12),
            "faqs": faqs,
        }
    if request.name == "enrich_passages":
        passages = re.findall(r"<\S+ passage (\d+)>(.*?)</", shown, re.DOTALL)
        return {
            "passages": [
                {"number": int(number), "summary": "", "keywords": _words(text, 6), "entities": []}
                for number, text in passages
            ]
        }
    raise ValueError(f"nothing is scripted for {request.name!r}")


def _words(text: str, most: int) -> list[str]:
    return list(dict.fromkeys(re.findall(r"[a-z]{7,}", text)))[:most]


@contextmanager
def runners(
    place: Path, url: str, processes: int, told: dict[str, str]
) -> Iterator[psutil.Process]:
    domains = place / "config" / "domains"
    domains.mkdir(parents=True)
    (domains / "library.yaml").write_text(
        "domain: library\ntitle: Library\nsources: {files: [../../documents/*.md]}\n"
        "refresh: '0 3 1 1 *'\n"
    )
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ONCALL")},
        "DATABASE_URL": url,
        "ONCALL_CONFIG_DIR": str(domains.parent),
        "ONCALL_DATA_DIR": str(place / "data"),
        "ONCALL_ENRICH_AT_ONCE": str(AT_ONCE),
        **told,
    }
    command = [sys.executable, "-m", "cli.main", "jobs", "run", "--health-port", "0"]
    with (place / "log").open("w") as log:
        started = subprocess.Popen(
            [*command, "--workers", str(processes)], env=environment, stderr=log, stdout=log
        )
        try:
            yield psutil.Process(started.pid)
        finally:
            started.terminate()
            started.wait(60)


def measure(count: int, processes: int, told: dict[str, str], *, kills: bool = False) -> Measured:
    found = Measured()
    with TemporaryDirectory() as folder, breakable_postgresql() as server:
        place = Path(folder)
        write_documents(place / "documents", count)
        engine = create_engine(make_url(server.url).set(drivername="postgresql+psycopg"))
        began = time.monotonic()
        next_kill = began + 20.0
        with runners(place, server.url, processes, told) as parent:
            while time.monotonic() - began < MOST_SECONDS:
                time.sleep(LOOK_SECONDS)
                found.seconds = time.monotonic() - began
                _look_at(parent, found)
                if kills and time.monotonic() > next_kill and parent.children():
                    random.choice(parent.children()).kill()
                    found.killed += 1
                    next_kill = time.monotonic() + 20.0
                if _is_over(engine, found):
                    break
        engine.dispose()
        said = (place / "log").read_text()
        if found.documents != count:
            print(said[-3_000:])
    return found


def _look_at(parent: psutil.Process, found: Measured) -> None:
    sizes = []
    for process in [parent, *parent.children(recursive=True)]:
        try:
            sizes.append(process.memory_info().rss / 1e6)
        except psutil.NoSuchProcess:
            continue
    found.largest = max([found.largest, *sizes])
    found.together = max(found.together, sum(sizes))


def _is_over(engine: Any, found: Measured) -> bool:
    if not inspect(engine).has_table("ingest_runs"):
        return False
    with engine.connect() as connection:
        latest = connection.execute(
            text("SELECT number, documents FROM index_generations ORDER BY number DESC LIMIT 1")
        ).first()
        if latest:
            found.documents = latest.documents
            if latest.number not in found.generations:
                found.generations.append(latest.number)
            if not found.then:
                found.first_answer, found.then = found.seconds, latest.documents
        run = connection.execute(
            text("SELECT outcome, calls, unenriched FROM ingest_runs LIMIT 1")
        ).first()
    if run is None or run.outcome == "running":
        return False
    found.calls, found.undescribed = run.calls, run.unenriched
    return True


@contextmanager
def told_to(way: str) -> Iterator[dict[str, str]]:
    if way in ("plain", "killed"):
        yield {}
        return
    with OpenAIStandIn(scripted) as model:
        told = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": model.base_url}
        if way == "model":
            yield {**told, "ONCALL_CHAT_MODEL": "scripted"}
        else:
            model.before_vectors = lambda: time.sleep(EMBEDDING_SECONDS)
            yield {**told, "ONCALL_EMBEDDING_MODEL": "scripted-embeddings"}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--documents", type=int, default=120)
    asked.add_argument("--processes", default="1,2,4")
    asked.add_argument("--ways", default="plain,model,killed,server")
    options = asked.parse_args()
    table = Table(
        "way", "processes", "documents/min", "first after", "with", "published", "largest MB",
        "together MB", "killed", "calls", "undescribed", "documents",
    )  # fmt: skip
    for way in options.ways.split(","):
        for processes in map(int, options.processes.split(",")):
            with told_to(way) as told:
                one = measure(options.documents, processes, told, kills=way == "killed")
            row = (
                way,
                str(processes),
                f"{60 * one.documents / one.seconds:.0f}",
                f"{one.first_answer:.0f} s",
                str(one.then),
                f"{len(one.generations)} times",
                f"{one.largest:.0f}",
                f"{one.together:.0f}",
                str(one.killed),
                str(one.calls),
                str(one.undescribed),
                f"{one.documents} of {options.documents}",
            )
            print(*row, flush=True)
            table.add_row(*row)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
