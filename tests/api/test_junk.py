"""Junk at every door: 4xx, never 500, and none of it comes back."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from sqlalchemy import create_engine

from bot.slack.http_events import add_slack
from config.parsing.strict_json import JunkJsonError, read_json
from playground.slack_stand_in import SlackStandIn
from tests.api.front import DOMAINS, api, here
from tests.bot.conftest import settings_for
from tests.bot.fakes import CHANNEL, Agents, bot_of

MARK = "xyzzy7"
"""Stands in all that is sent; no answer may hold it."""
SECRET = "shared"
POSTS = ("/api/agentic_qna", "/api/retrieve")

UNREADABLE = {
    "empty": b"",
    "no JSON": b"xyzzy7",
    "cut off": b'{"query": "xyzzy7',
    "no UTF-8": b'{"query": "xyzzy7\xff"}',
    "UTF-16": '{"query": "xyzzy7"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"query": "xyzzy7"}',
    "NaN": b'{"query": "xyzzy7", "top_k": NaN}',
    "Infinity": b'{"query": "xyzzy7", "top_k": -Infinity}',
    "beyond floats": b'{"query": "xyzzy7", "top_k": 1e999}',
    "many digits": b'{"query": "xyzzy7", "top_k": ' + b"9" * 5_000 + b"}",
    "deep lists": b'{"query": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "deep objects": b'{"xyzzy7":' * 10_000 + b"1" + b"}" * 10_000,
    "open lists": b"[" * 100_000,
    "sixty deep": b"[" * 60 + b'"xyzzy7"' + b"]" * 60,
    "a key twice": b'{"query": "a", "query": "xyzzy7"}',
    "a key twice, inside": b'{"query": "a", "xyzzy7": [{"b": 1, "b": 2}]}',
    "half a character": b'{"query": "xyzzy7 \\ud800"}',
    "half a character as key": b'{"query": "a", "xyzzy7\\udfff": 1}',
    "NUL": b'{"query": "xyzzy7\\u0000"}',
    "a raw NUL": b'{"query": "xyzzy7\x00"}',
}
WRONG = {
    "a list": ["xyzzy7"],
    "a text": "xyzzy7",
    "null": None,
    "a number": 7,
    "nothing": {},
    "an unknown key": {"query": "a", "xyzzy7": 1},
    "null for text": {"query": None},
    "a list for text": {"query": ["xyzzy7"]},
    "an object for text": {"query": {"xyzzy7": "xyzzy7"}},
    "too long": {"query": "xyzzy7" * 2_000},
    "an unknown domain": {"query": "a", "domain": "xyzzy7"},
    "a long domain": {"query": "a", "domain": "xyzzy7" * 99},
    "no address": {"query": "a", "asker_email": "xyzzy7"},
}
WRONG_SEARCHES = {
    "pipeline": {"query": "a", "domain": "security", "pipeline": "xyzzy7"},
    "search type": {"query": "a", "domain": "security", "search_type": "xyzzy7"},
    "a fraction": {"query": "a", "domain": "security", "top_k": 1.5},
    "a huge number": {"query": "a", "domain": "security", "top_k": 10**19},
    "a negative number": {"query": "a", "domain": "security", "top_k": -1},
    "text for a number": {"query": "a", "domain": "security", "top_k": "xyzzy7"},
}
WRONG_TALK = {
    "role": [{"role": "xyzzy7", "content": "a"}],
    "no text": [{"role": "user", "content": {"xyzzy7": 1}}],
    "a null": [None],
    "a text": "xyzzy7",
    "too many": [{"role": "user", "content": "xyzzy7"}] * 51,
}


@pytest.fixture(scope="module")
def client() -> TestClient:
    return here(api())


def refused(reply: Any) -> None:
    assert 400 <= reply.status_code < 500, reply.text
    assert MARK not in reply.text
    assert MARK not in str(reply.headers)


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("name", UNREADABLE)
def test_bodies_that_have_no_single_meaning(client: TestClient, path: str, name: str) -> None:
    reply = client.post(
        path, content=UNREADABLE[name], headers={"Content-Type": "application/json"}
    )
    refused(reply)
    assert reply.status_code == 400


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("name", WRONG)
def test_bodies_that_ask_for_something_else(client: TestClient, path: str, name: str) -> None:
    refused(client.post(path, json=WRONG[name]))


@pytest.mark.parametrize("name", WRONG_SEARCHES)
def test_searches_that_do_not_exist(client: TestClient, name: str) -> None:
    refused(client.post("/api/retrieve", json=WRONG_SEARCHES[name]))


@pytest.mark.parametrize("name", WRONG_TALK)
def test_conversations_that_are_none(client: TestClient, name: str) -> None:
    asked = {"query": "a", "domain": "security", "conversation_history": WRONG_TALK[name]}
    refused(client.post("/api/agentic_qna", json=asked))


@pytest.mark.parametrize(
    "path",
    [
        "/xyzzy7", "/api/xyzzy7", "/api/documents/", "/api/documents?domain=xyzzy7",
        "/api/documents?domain=%00xyzzy7", "/api/documents?domain=%ff%ed%a0%80xyzzy7",
        "/api/documents?domain=security&domain=xyzzy7", "/api/entities?domain=" + "xyzzy7" * 90,
        "/api/documents/xyzzy7/summary?domain=security",
        "/api/documents/xyzzy7%00%ff/summary?domain=security",
        "/api/documents/..%2f..%2fxyzzy7/summary?domain=security",
        "/api/documents/xyzzy7%0d%0aSet-Cookie:a/citations?domain=security",
        "//xyzzy7/api/documents", "/api/documents/open/summary/xyzzy7",
    ],
)  # fmt: skip
def test_addresses_of_nothing(client: TestClient, path: str) -> None:
    refused(client.get(path, follow_redirects=False))


def test_methods_that_do_not_exist(client: TestClient) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "XYZZY7"):
        reply = client.request(method, "/api/documents?domain=xyzzy7", json={})
        assert (reply.status_code, MARK in reply.text.lower()) == (405, False)


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
NUMBERS = st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.recursive(
        st.none() | st.booleans() | NUMBERS | WORDS,
        lambda inner: st.lists(inner) | st.dictionaries(WORDS, inner),
    )
)
def test_json_with_one_meaning_is_read_as_it_is_written(value: Any) -> None:
    assert read_json(json.dumps(value).encode()) == value


@given(st.binary())
def test_bytes_are_json_or_refused_in_one_way(data: bytes) -> None:
    with suppress(JunkJsonError):
        json.dumps(read_json(data), allow_nan=False, ensure_ascii=False).encode()


# Slack's door.


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """An app whose bot stores events, as in HTTP mode."""
    folder = tmp_path_factory.mktemp("bot")
    with SlackStandIn() as slack:
        engine = create_engine(f"sqlite:///{folder / 'state.sqlite'}")
        settings = settings_for(slack, folder).model_copy(
            update={"slack_signing_secret": SecretStr(SECRET)}
        )
        bot = bot_of(settings, Agents(), engine, DOMAINS, socket=False)
        bot.inbox.start()
        app = api()
        add_slack(app, bot.app, SecretStr(SECRET))
        yield here(app)
        bot.stop(1)
        engine.dispose()


def signed(
    client: TestClient,
    body: bytes,
    *,
    media: str = "application/json",
    moment: str | None = None,
    signature: str | None = None,
) -> Any:
    moment = str(int(time.time())) if moment is None else moment
    digest = hmac.new(SECRET.encode(), f"v0:{moment}:".encode() + body, hashlib.sha256)
    headers = {
        "Content-Type": media,
        "X-Slack-Request-Timestamp": moment,
        "X-Slack-Signature": f"v0={digest.hexdigest()}" if signature is None else signature,
    }
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    return client.post("/slack/events", content=body, headers=raw)  # type: ignore[arg-type]


def an_event(**more: Any) -> bytes:
    event = {"type": "message", "channel": CHANNEL, "user": "U0INES", "ts": "1.2", "text": MARK}
    body = {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": event | more}
    return json.dumps(body).encode()


def test_a_signed_event_is_taken(events: TestClient) -> None:
    assert signed(events, an_event()).status_code == 200


@pytest.mark.parametrize(
    "moment", ["", "0", "abc", "-1", "1e9", "9" * 30, "٣", "1.5", " ", "NaN", "12 34", "1_000"]
)
def test_a_junk_time_is_no_signature(events: TestClient, moment: str) -> None:
    latin = moment.encode("utf-8").decode("latin-1")
    reply = signed(events, an_event(), moment=latin)
    refused(reply)
    assert reply.status_code == 401


@pytest.mark.parametrize("signature", ["", "v0=", "v0=é", "v1=abc", "v0=" + "0" * 64, "x" * 9_000])
def test_a_junk_signature_is_refused(events: TestClient, signature: str) -> None:
    assert signed(events, an_event(), signature=signature).status_code == 401


@pytest.mark.parametrize("name", UNREADABLE)
def test_without_a_signature_a_body_is_not_looked_at(events: TestClient, name: str) -> None:
    reply = signed(events, UNREADABLE[name], signature="v0=" + "0" * 64)
    refused(reply)
    assert reply.status_code == 401


@pytest.mark.parametrize("media", ["application/json", "application/x-www-form-urlencoded", ""])
@pytest.mark.parametrize("name", UNREADABLE)
def test_signed_bodies_that_have_no_single_meaning(
    events: TestClient, name: str, media: str
) -> None:
    refused(signed(events, UNREADABLE[name], media=media))
    wrapped = b"payload=" + UNREADABLE[name]
    refused(signed(events, wrapped, media="application/x-www-form-urlencoded"))


JUNK_EVENTS: dict[str, Any] = {
    "null": None,
    "a list": [1],
    "a text": MARK,
    "no event": {"type": "event_callback"},
    "a null event": {"type": "event_callback", "event": None},
    "a list for an event": {"type": "event_callback", "event": [MARK]},
    "a text for an event": {"type": "event_callback", "event": MARK},
    "an event of no type": {"type": "event_callback", "event": {}},
    "a null type": {"type": "event_callback", "event": {"type": None}},
    "a list for a type": {"type": "event_callback", "event": {"type": [MARK]}},
    "no envelope": {},
    "an envelope's null type": {"type": None},
    "a challenge of another kind": {"type": "url_verification", "challenge": {MARK: [MARK]}},
    "authorizations": {
        "type": "event_callback", "authorizations": 7, "event": {"type": "message"},
    },
    "an authorization": {
        "type": "event_callback", "authorizations": [None], "event": {"type": "message"},
    },
    "an enterprise": {"type": "event_callback", "enterprise": 7, "event": {"type": "message"}},
    "a view": {"type": "view_submission", "view": None},
    "a view of another kind": {"type": "view_submission", "view": [MARK]},
    "a view of ours without its memory": {
        "type": "view_submission", "user": {"id": "U1"}, "view": {"callback_id": "feedback_reason"},
    },
    "actions": {"type": "block_actions", "actions": None},
    "no actions": {"type": "block_actions", "actions": []},
    "an action": {"type": "block_actions", "actions": [None]},
    "an action of another kind": {"type": "block_actions", "actions": [MARK]},
    "a shortcut": {"type": "message_action", "callback_id": "ask_copilot", "message": MARK},
    "a user": {
        "type": "message_action", "callback_id": "ask_copilot", "user": MARK,
        "message": {"ts": "1.2", "text": MARK},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", JUNK_EVENTS)
def test_signed_junk_in_slack_s_own_words(events: TestClient, name: str) -> None:
    body = json.dumps(JUNK_EVENTS[name]).encode()
    refused(signed(events, body))
    form = urlencode({"payload": body.decode()}).encode()
    refused(signed(events, form, media="application/x-www-form-urlencoded"))
