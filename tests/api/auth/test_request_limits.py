"""How much the API takes: sizes, rates, and clients that are slow or leave."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agents.answer import Answer, Question
from agents.steps import Progress
from api.auth import server
from api.auth.middleware import RequestLimiter, RequestLimits
from api.auth.routes import RequestRejected
from api.auth.tokens import OPERATOR, THIS_MACHINE
from api.routes.questions import Streams
from tests.api.front import CARDS, Town, api, bearer, elsewhere, here, serving
from tests.bot.fakes import Agents, answer

ASKED = {"query": "keys", "domain": "security"}
LIMIT = 256_000


def test_a_long_body_is_refused_by_its_stated_length() -> None:
    body = json.dumps({"query": "x" * LIMIT})
    reply = here(api()).post(
        "/api/agentic_qna", content=body, headers={"Content-Type": "application/json"}
    )
    assert reply.status_code == 413


def test_a_client_that_sends_too_much_is_told() -> None:
    with serving(api()) as url:
        assert posted(url, {"query": "x" * (LIMIT + 600_000)}).status == 413


def test_a_body_that_never_says_its_length_ends_at_the_limit() -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while taken < 100 * LIMIT:
            taken += 10_000
            yield b" " * 10_000

    with serving(api()) as url, socket.create_connection(address(url)) as client:
        client.settimeout(20)
        client.sendall(
            b"POST /api/agentic_qna HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        try:
            for piece in endless():
                client.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
        except OSError:  # the server has hung up
            pass
    assert taken < 50 * LIMIT


def test_slack_s_requests_may_be_longer_but_not_endless(tmp_path: Path) -> None:
    from pydantic import SecretStr
    from slack_bolt import App

    from bot.slack.http_events import add_slack

    app = api()
    add_slack(
        app, App(signing_secret="s", token="t", token_verification_enabled=False), SecretStr("s")
    )
    post = elsewhere(app).post
    assert post("/slack/events", content=b"x" * 1_900_000).status_code == 401
    assert post("/slack/events", content=b"x" * 2_100_000).status_code == 413


def test_long_addresses_and_headers_are_refused() -> None:
    client = here(api())
    assert client.get("/api/documents?domain=" + "x" * 5_000).status_code == 414
    assert client.get("/healthz", headers={"X-Long": "x" * 17_000}).status_code == 431


def test_a_body_that_does_not_arrive_is_given_up() -> None:
    app = api(bounds=RequestLimits(body_seconds=0.2))
    with serving(app) as url, socket.create_connection(address(url)) as client:
        client.settimeout(20)
        client.sendall(
            b"POST /api/agentic_qna HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        )
        assert client.recv(100).startswith(b"HTTP/1.1 408 ")


def test_headers_that_do_not_arrive_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.PromptHeads, "seconds", 0.5)
    with serving(api()) as url:
        for begun in (b"", b"GET /healthz HTTP/1.1\r\nHost: loc"):
            with socket.create_connection(address(url)) as client:
                client.settimeout(20)
                client.sendall(begun)
                assert client.recv(100) == b""
        with socket.create_connection(address(url)) as client:
            client.settimeout(20)
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = client.recv(1_000)
            if not answer.endswith(b"}"):  # its body may come apart from its head
                answer += client.recv(1_000)
            assert b"200 OK" in answer
            client.sendall(b"GET /hea")
            assert client.recv(100) == b""


def test_a_long_answer_is_not_taken_for_slow_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.PromptHeads, "seconds", 0.5)
    agents = Agents()
    agents.seconds = 0.8
    with serving(api(agents)) as url:
        reply = posted(url, ASKED)
    assert reply.status == 200


def test_an_answer_that_nobody_reads_gives_its_place_back() -> None:
    long = replace(CARDS["open"], summary="x" * 20_000_000)
    inside = SimpleNamespace(documents={"open": long}, cards=lambda documents: [long])
    app = api(snapshot=lambda name: inside, bounds=RequestLimits(at_once=1, send_seconds=0.2))
    with serving(app) as url, socket.create_connection(address(url)) as client:
        client.sendall(b"GET /api/documents?domain=security HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.settimeout(20)
        assert client.recv(10) == b"HTTP/1.1 2"
        deadline = time.monotonic() + 120
        while (status := posted(url, ASKED).status) == 503 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert status == 200


def test_each_token_has_its_own_rate(tmp_path: Path) -> None:
    town = Town(tmp_path, bounds=RequestLimits(per_minute=3))
    other, client = town.token("other"), elsewhere(town.app())
    path = "/api/documents?domain=security"
    codes = [client.get(path, headers=bearer(town.first)).status_code for _ in range(4)]
    assert codes == [200, 200, 200, 429]
    refused = client.get(path, headers=bearer(town.first))
    assert 1 <= int(refused.headers["retry-after"]) <= 21
    assert client.get(path, headers=bearer(other)).status_code == 200
    assert client.get("/healthz").status_code == 200


def test_a_rate_recovers_with_time_and_never_beyond_its_limit() -> None:
    clock = [0.0]
    traffic = RequestLimiter(RequestLimits(per_minute=6), lambda: clock[0])

    def passed() -> int:
        for count in range(100):
            try:
                with traffic.of(OPERATOR):
                    pass
            except RequestRejected:
                return count
        return 100

    counts = []
    for clock[0] in (0.0, 9.0, 10.0, 30.0, 10_000.0):
        counts.append(passed())
    assert counts == [6, 0, 1, 2, 6]


def test_this_machine_is_not_held_to_a_rate() -> None:
    client = here(api(bounds=RequestLimits(per_minute=1)))
    codes = {client.get("/api/documents?domain=security").status_code for _ in range(20)}
    assert codes == {200}


def test_only_so_many_requests_run_at_once() -> None:
    traffic = RequestLimiter(RequestLimits(at_once=3, each_at_once=2))
    with traffic.of(OPERATOR), traffic.of(OPERATOR):
        with pytest.raises(RequestRejected) as own, traffic.of(OPERATOR):
            pass
        with (
            traffic.of(THIS_MACHINE),
            pytest.raises(RequestRejected) as all_of_them,
            traffic.of(THIS_MACHINE),
        ):
            pass
    assert (own.value.status, all_of_them.value.status) == (429, 503)
    with traffic.of(OPERATOR):
        pass


class Talking:
    """Agents that report progress until somebody stops them."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.stopped = threading.Event()

    def __call__(self, name: str) -> Callable[[Question, Progress | None], Answer]:
        def ask(question: Question, progress: Progress | None) -> Answer:
            assert progress is not None
            try:
                while not self.stopped.wait(0.01):
                    self.begun.set()
                    with suppress(Exception):  # as a node that repairs what fails
                        progress.delta("word ")
                return answer()
            finally:
                self.stopped.set()

        return ask


@pytest.mark.parametrize("domain", ["security", ""])
def test_whoever_hangs_up_ends_the_work(domain: str) -> None:
    talking = Talking()
    with serving(api(ask=talking)) as url:
        reply = posted(url, {"query": "keys", "domain": domain, "stream": True})
        assert talking.begun.wait(20)
        reply.close()
        assert talking.stopped.wait(20)
        assert "stream" not in {thread.name for thread in living("stream")}


def test_streams_are_bounded_and_give_their_place_back() -> None:
    talking = Talking()
    bounds = RequestLimits(at_once=100, each_at_once=100)
    with serving(api(ask=talking, bounds=bounds)) as url:
        asked = {**ASKED, "stream": True}
        held = [posted(url, asked) for _ in range(16)]
        refused = posted(url, asked)
        assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
        for one in held:
            one.close()
        assert talking.stopped.wait(20)
        talking.stopped.clear()
        assert not living("stream")
        again = posted(url, asked)
        assert again.status == 200
        again.close()


def test_a_stream_s_failure_holds_nothing_from_inside(tmp_path: Path) -> None:
    def broken(question: Question) -> Answer:
        raise RuntimeError("password hunter2")

    for client in (here(api(Agents(broken))), known(Town(tmp_path), Agents(broken))):
        reply = client.post("/api/agentic_qna", json={**ASKED, "stream": True})
        assert "event: error" in reply.text
        assert "reference" in reply.text
        assert "hunter2" not in reply.text


def test_the_slots_of_streams_are_counted_before_any_work() -> None:
    import asyncio

    async def two() -> None:
        streams, waiting = Streams(1), threading.Event()

        def work(stream: Any) -> dict[str, Any]:
            waiting.wait(20)
            return {"answer": "yes"}

        first = streams.start(work, local=True)
        with pytest.raises(RequestRejected):
            streams.start(work, local=True)
        waiting.set()
        assert [event async for event in first][-1].startswith("event: answer")
        assert streams.start(work, local=True)

    asyncio.run(two())


def known(town: Town, agents: Agents) -> Any:
    return elsewhere(town.app(agents), headers=bearer(town.first))


def living(name: str, *, within: float = 120.0) -> list[threading.Thread]:
    """Threads of this name that don't end in time."""
    threads = [thread for thread in threading.enumerate() if thread.name == name]
    deadline = time.monotonic() + within
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return [thread for thread in threads if thread.is_alive()]


def address(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").partition(":")
    return host, int(port)


def posted(url: str, body: dict[str, Any]) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(*address(url), timeout=20)
    headers = {"Content-Type": "application/json", "Connection": "close"}
    connection.request("POST", "/api/agentic_qna", json.dumps(body), headers)
    return connection.getresponse()
