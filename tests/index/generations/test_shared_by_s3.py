"""The index store on S3, by a real client over HTTP, through outages of every kind."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from werkzeug.serving import BaseWSGIServer, make_server

from config.errors import IndexStoreAway, IndexUnavailable, PublishError
from telemetry.metrics import INDEX_STORE_ERRORS
from tests.index.generations.test_shared import Corpus, Machines, answer, publish

boto3 = pytest.importorskip("boto3")
moto = pytest.importorskip("moto.server")
pytestmark = pytest.mark.outage

REFUSED = {"read-only": {"PUT", "DELETE"}, "no deletion": {"DELETE"}}
"""Fault → methods that the credentials don't allow."""
Environ = dict[str, Any]
StartResponse = Callable[..., Any]


class S3:
    """A server whose replies can be spoiled. `fault`: None, or how a reply fails."""

    def __init__(self) -> None:
        self.fault: str | None = None
        self.only = ""
        """Spoils replies to paths with this word."""
        self.resumed = Event()
        """Set when a silent server replies again."""
        self._app = moto.DomainDispatcherApplication(moto.create_backend_app)
        self._server: BaseWSGIServer = make_server("127.0.0.1", 0, self, threaded=True)
        Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if self.fault is None or self.only not in environ["PATH_INFO"]:
            return self._app(environ, start_response)
        if self.fault == "500":
            start_response("500 Internal Server Error", [("Content-Length", "0")])
            return [b""]
        if self.fault in REFUSED:
            of_many = environ["QUERY_STRING"] in {"delete", "delete="}
            if environ["REQUEST_METHOD"] not in REFUSED[self.fault] and not of_many:
                return self._app(environ, start_response)
            if of_many:  # each has an error of its own
                start_response("200 OK", [("Content-Type", "application/xml")])
                return [b"<DeleteResult><Error><Code>AccessDenied</Code></Error></DeleteResult>"]
            start_response("403 Forbidden", [("Content-Type", "application/xml")])
            return [b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"]
        if self.fault == "silent":
            self.resumed.wait(60)
        if self.fault == "slow":
            time.sleep(0.3)
            return self._app(environ, start_response)
        begun: list[Any] = []
        body = b"".join(self._app(environ, lambda *reply, **_: begun.append(reply)))
        start_response(*begun[0][:2])
        if self.fault == "cut off":
            return [body[: len(body) // 2]]  # less than its Content-Length, then the end
        return [body[:-1] + bytes([body[-1] ^ 0xFF])] if body else [b""]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = S3()
    yield server
    server.stop()


@pytest.fixture
def machine(s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    for name, value in {
        "AWS_ENDPOINT_URL_S3": s3.url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("PAUSE_SECONDS", "REST_SECONDS"):
        monkeypatch.setattr(f"index.generations.shared.{name}", 0.0)
    monkeypatch.setattr("index.open_generations.LOOK_EVERY_SECONDS", 3_600.0)
    boto3.client("s3").create_bucket(Bucket="indexes")
    s3.resumed.clear()
    machines = Machines(tmp_path, f"s3://indexes/{tmp_path.name}")
    yield machines
    s3.fault, s3.only = None, ""
    s3.resumed.set()
    machines.close()


def test_the_old_generation_answers_through_every_fault_and_the_new_one_after_it(
    machine: Machines, s3: S3, corpus: Corpus, caplog: pytest.LogCaptureFixture
) -> None:
    publisher, _ = machine("a")
    fewer = {one: corpus[one] for one in list(corpus)[:1]}
    publish(publisher, fewer)
    reader, embedder = machine("b")
    before = answer(reader)
    assert before == answer(publisher)
    for fault in ("500", "cut off"):
        s3.fault = fault
        with pytest.raises(PublishError, match="index store s3://indexes/") as failed:
            publish(publisher, corpus)
        assert "\n" not in str(failed.value)
        assert answer(publisher) == before
    s3.fault = None
    publish(publisher, corpus)
    for fault in ("500", "cut off", "flipped"):
        s3.fault = fault
        lines = set()
        for _ in range(2):
            with pytest.raises(IndexUnavailable, match="index store s3://indexes/") as unread:
                reader._open_ones.refresh()
            lines.add(str(unread.value))
        assert len(lines) == 1, lines
        assert answer(reader) == before
        fresh, _ = machine("c")
        with pytest.raises(IndexUnavailable, match="index store s3://indexes/"):
            answer(fresh)
    s3.fault, s3.only = "slow", "manifests"
    reader._open_ones.refresh()
    assert answer(reader) == answer(publisher) != before
    assert embedder.texts == 1


def test_objects_that_rot_are_refused_and_uploaded_again(
    machine: Machines, corpus: Corpus, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    publisher, _ = machine("a")
    publish(publisher, corpus)
    client = boto3.client("s3")
    for one in client.list_objects_v2(Bucket="indexes", Prefix=tmp_path.name)["Contents"]:
        if "/parts/" in one["Key"]:
            client.put_object(Bucket="indexes", Key=one["Key"], Body=b"x" * one["Size"])
    fresh, _ = machine("b")
    with caplog.at_level(logging.WARNING):
        assert answer(fresh) == answer(publisher)  # from what it built itself
    assert any("are damaged" in one.getMessage() for one in caplog.records)
    publish(publisher, corpus)
    last, embedder = machine("c")
    assert answer(last) == answer(publisher)
    assert embedder.texts == 1


def test_a_server_that_is_away_is_one_line(
    machine: Machines, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(machine("a")[0], corpus)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    fresh, embedder = machine("b")
    with pytest.raises(IndexUnavailable, match="index store s3://indexes/") as failed:
        answer(fresh)
    assert "\n" not in str(failed.value)
    assert embedder.texts == 0


def test_a_server_that_says_nothing_is_given_up(
    machine: Machines, s3: S3, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher, _ = machine("a")
    publish(publisher, {one: corpus[one] for one in list(corpus)[:1]})
    before = answer(publisher)
    monkeypatch.setattr("index.generations.shared.CALL_SECONDS", 0.2)
    s3.fault = "silent"
    fresh, embedder = machine("b")
    with pytest.raises(IndexStoreAway, match="Timeout"):
        answer(fresh)
    with pytest.raises(PublishError, match="Timeout"):
        publish(publisher, corpus)
    assert answer(publisher) == before
    assert embedder.texts == 0


def test_a_bucket_that_is_not_there_is_told(machine: Machines, corpus: Corpus) -> None:
    index, _ = machine("a", address="s3://nowhere/path")
    with pytest.raises(PublishError, match="bucket does not exist"):
        publish(index, corpus)


def test_a_bucket_that_is_gone_makes_no_machine_embed(
    machine: Machines, corpus: Corpus, tmp_path: Path
) -> None:
    publish(machine("a")[0], corpus)
    reader, embedder = machine("b", address=f"s3://nowhere/{tmp_path.name}")
    with pytest.raises(IndexStoreAway, match="bucket does not exist"):
        answer(reader)
    assert embedder.texts == 0


@pytest.mark.parametrize("path", ["with spaces/[a]*", "%20/ü+#?"])
def test_any_path_is_written_read_and_cleaned(
    path: str, machine: Machines, corpus: Corpus, tmp_path: Path
) -> None:
    place = f"{tmp_path.name}/{path}"
    publisher, _ = machine("a", address=f"s3://indexes/{place}")
    publish(publisher, corpus)
    reader, embedder = machine("b", address=f"s3://indexes/{place}")
    assert answer(reader) == answer(publisher)
    assert embedder.texts == 1
    before = names(place)
    publish(publisher, {one: corpus[one] for one in list(corpus)[:1]})
    publisher.retire(at=datetime.now(UTC) + timedelta(days=2))
    after = names(place)
    assert len([one for one in after if "/manifests/" in one]) == 1
    assert before - after


def test_readers_need_no_right_to_write(
    machine: Machines, corpus: Corpus, s3: S3, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    publisher, _ = machine("a")
    publish(publisher, corpus)
    publish(publisher, {one: corpus[one] for one in list(corpus)[:1]})
    before, errors = names(tmp_path.name), INDEX_STORE_ERRORS._value.get()
    s3.fault = "read-only"
    reader, embedder = machine("b")
    assert answer(reader) == answer(publisher)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            reader.retire(at=datetime.now(UTC) + timedelta(days=2))
    assert len(reader.generations("help")) == 1
    assert names(tmp_path.name) == before
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert INDEX_STORE_ERRORS._value.get() == errors
    assert embedder.texts == 1


def test_a_run_that_may_not_delete_says_so(
    machine: Machines, corpus: Corpus, s3: S3, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The text of deleted documents would stay in the store."""
    publisher, _ = machine("a")
    publish(publisher, corpus)
    fewer = {one: corpus[one] for one in list(corpus)[:1]}
    publish(publisher, fewer)
    publisher._rollback_time = timedelta(0)
    s3.fault = "no deletion"
    with caplog.at_level(logging.WARNING):
        publish(publisher, fewer)
    (line,) = (one.getMessage() for one in caplog.records if "not deleted" in one.getMessage())
    assert "Access Denied" in line
    s3.fault = None
    publish(publisher, fewer)
    assert len([one for one in names(tmp_path.name) if "/manifests/" in one]) == 1


def names(place: str) -> set[str]:
    """Keys of the objects there."""
    pages = boto3.client("s3").list_objects_v2(Bucket="indexes", Prefix=f"{place}/")
    return {one["Key"] for one in pages.get("Contents", ())}
