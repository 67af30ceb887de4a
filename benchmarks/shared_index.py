"""A second machine's first answer: by the index store, and by building the index again.

    python -m benchmarks.shared_index [--chunks 10000 300000] [--units 4]

A machine is a data folder and processes of its own; both have one database. The store is a folder
(`file://`) and an S3 server on this machine, which needs the extras `dev` and `s3`. Seconds run
from the start of the process to an answer that equals the publisher's. Texts and vectors are made
up and cost nothing, so a build's embedding is added by the rate of the local model, measured on
some of the texts. 50 of the documents are then edited, and published and fetched again."""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from benchmarks.material.made_up_corpus import HashedVectors, MadeUpCorpus
from config.minilm import MiniLM
from config.models import Vectors
from config.settings import Settings
from index.generations.build import embedded_texts
from index.publish import Index, open_index
from index.search import SearchQuery

DOMAIN = "d"
EDITED = 50
EMBEDDED = 256
"""Texts that the local model's rate is measured on."""
COLUMNS = ("chunks", "store", "upload s", "upload MB", "answer s", "fetch s", "fetch MB")
Result = dict[str, Any]


class ForgetfulVectors(HashedVectors):
    """Remembers no vector, so that memory is the index's."""

    def __call__(self, texts: Sequence[str]) -> Vectors:
        vectors = super().__call__(texts)
        self._known.clear()
        return vectors


def main() -> None:
    options = _options()
    if options.step:
        print(json.dumps(STEPS[options.step](options)), flush=True)
        return
    print(_line(COLUMNS))
    for size in options.chunks:
        options.size = size
        with tempfile.TemporaryDirectory() as folder, _s3() as bucket:
            options.place = folder
            _compare(options, "file", f"file://{folder}/store")
            _compare(options, "s3", bucket)  # the same generation
            _compare(options, "s3", bucket, version=1)
            build = _step(options, "read", "builder", "", 1)["answer s"]
            embedding = _step(options, "rate", "builder", "", 1)["s"]
            print(
                f"{options.size:,} chunks without a store: {build:.1f} s to build, "
                f"and {embedding:,.0f} s of a core to embed",
                flush=True,
            )


def _compare(options: argparse.Namespace, kind: str, store: str, version: int = 0) -> None:
    """Prints what publishing and a second machine's first answer take."""
    one = _step(options, "publish", "publisher", store, version)
    other = _step(options, "read", f"reader-{kind}", store, version)
    assert one["hits"] == other["hits"]
    figures = (
        one["upload s"], one["upload MB"], other["answer s"], other["fetch s"], other["fetch MB"]
    )  # fmt: skip
    edits = f", {EDITED} edited" if version else ""
    cells = [f"{options.size:,}", kind + edits, *(f"{figure:,.1f}" for figure in figures)]
    print(_line(cells), flush=True)


def publish(options: argparse.Namespace) -> Result:
    """Puts all documents, or some edited ones; what is published already is only uploaded."""
    index, corpus = _opened(options)
    numbers = range(EDITED if options.version else corpus.documents)
    if index.current(DOMAIN) and not options.version:
        numbers = range(0)
    with capture_logs() as lines:
        with index.stage(DOMAIN) as staging:
            for number in numbers:
                staging.put(*corpus.document(number, version=options.version))
            staging.commit({})
        hits = _hits(index)
    index.close()
    return {"hits": hits} | _figures(lines, "upload", "generation uploaded to the index store")


def read(options: argparse.Namespace) -> Result:
    index, _ = _opened(options)
    with capture_logs() as lines:
        hits = _hits(index)
    answered = time.time() - options.started
    index.close()
    fetched = _figures(lines, "fetch", "generation fetched from the index store")
    return {"hits": hits, "answer s": answered} | fetched


def rate(options: argparse.Namespace) -> Result:
    """Seconds of a core that the local model takes for all texts, from a part of them."""
    corpus = MadeUpCorpus(options.chunks[0], options.units)
    texts: list[str] = []
    for number in range(corpus.documents):
        texts += embedded_texts(corpus.document(number)[1])
        if len(texts) >= EMBEDDED:
            break
    model = MiniLM()
    model(texts[:8])
    started = time.process_time()
    model(texts[:EMBEDDED])
    of_all = options.chunks[0] * (1 + options.units) / EMBEDDED
    return {"s": (time.process_time() - started) * of_all}


STEPS = {"publish": publish, "read": read, "rate": rate}


def _opened(options: argparse.Namespace) -> tuple[Index, MadeUpCorpus]:
    """This machine's index; its database is the one of all."""
    machine = options.folder / options.machine
    machine.mkdir(exist_ok=True)
    database = options.folder / "oncall.db"
    if not (machine / "oncall.db").is_symlink():
        database.touch(mode=0o600)
        (machine / "oncall.db").symlink_to(database)
    settings = Settings(
        _env_file=None,
        data_dir=machine,
        index_store=options.store or None,
        index_memory_mb=1e6,
    )
    corpus = MadeUpCorpus(options.chunks[0], options.units)
    return open_index(settings, ForgetfulVectors()), corpus


def _hits(index: Index) -> list[str]:
    query = SearchQuery(variants=("which words are there",), keywords=("w7",), limit=20)
    return [hit.chunk.id for hit in index.snapshot(DOMAIN).search(query)]


def _figures(lines: Sequence[Any], name: str, event: str) -> Result:
    (line,) = [one for one in lines if one["event"] == event] or [{"seconds": 0, "bytes": 0}]
    return {f"{name} s": line["seconds"], f"{name} MB": line["bytes"] / 1e6}


def _step(options: argparse.Namespace, name: str, machine: str, store: str, version: int) -> Result:
    """What a process of its own finds out."""
    command = [
        *(sys.executable, "-m", "benchmarks.shared_index", "--step", name),
        *("--chunks", str(options.size), "--units", str(options.units)),
        *("--folder", options.place, "--machine", machine, "--store", store),
        *("--version", str(version), "--started", str(time.time())),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


@contextmanager
def _s3() -> Iterator[str]:
    """A bucket of a server of its own."""
    import boto3

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        os.environ |= {
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        boto3.client("s3").create_bucket(Bucket="indexes")
        yield "s3://indexes/benchmark"
    finally:
        server.kill()
        server.wait()


def _line(cells: Sequence[str]) -> str:
    return "  ".join(cell.rjust(13) for cell in cells)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", nargs="+", type=int, default=(10_000, 300_000))
    parser.add_argument("--units", type=int, default=4, help="unit vectors of each chunk")
    for hidden, kind in (
        ("step", str), ("folder", Path), ("machine", str), ("store", str), ("version", int),
        ("started", float),
    ):  # fmt: skip
        parser.add_argument(f"--{hidden}", type=kind, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
