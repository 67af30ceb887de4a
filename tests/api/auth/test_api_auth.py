"""Who comes in by which door of the HTTP API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr
from slack_bolt import App
from starlette.routing import Route, Router

from api.app import build_api
from api.auth.middleware import is_loopback
from api.auth.routes import DOORS
from api.auth.tokens import LiveTokens
from bot.slack.http_events import add_slack
from config.errors import CopilotError
from index.permissions.acts import Kind
from telemetry.health import add_health
from tests.api.front import (
    DOMAINS,
    INES,
    PARTS,
    Members,
    Town,
    api,
    bearer,
    elsewhere,
    here,
    reached,
)  # fmt: skip
from tests.bot.fakes import Agents, domain

BOLT = App(signing_secret="s", token="xoxb-1", token_verification_enabled=False)
ASKED = {"query": "keys", "domain": "security"}


@pytest.fixture
def town(tmp_path: Path) -> Town:
    return Town(tmp_path)


def ask(client: TestClient, body: dict[str, Any] | None = None, **headers: str) -> int:
    return client.post("/api/agentic_qna", json=body or ASKED, headers=headers).status_code


def routes_of(router: Router) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for route in router.routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            found |= routes_of(inner)
            continue
        assert isinstance(route, Route), f"{route} is no plain route"
        found |= {(method, route.path_format) for method in (route.methods or {"*"}) - {"HEAD"}}
    return found


def test_every_route_has_a_row_that_says_its_guard() -> None:
    app = api(docs=True)
    add_slack(app, BOLT, SecretStr("s"))
    assert routes_of(app.router) == {(door.method, door.path) for door in DOORS}


def test_a_route_without_a_row_is_for_callers_alone(town: Town) -> None:
    app = town.app()
    app.add_api_route("/new", lambda: "secret")
    assert reached(app, "127.0.0.1").get("/new").status_code == 401
    assert here(app).get("/new", headers=bearer(town.first)).text == '"secret"'


@pytest.mark.parametrize("door", DOORS, ids=lambda door: f"{door.method} {door.path}")
def test_each_door_is_guarded_as_its_row_says(door: Any, town: Town) -> None:
    app = town.app()
    add_slack(app, BOLT, SecretStr("s"))
    client = elsewhere(app)
    path = door.path.replace("{document_id}", "open")
    without = client.request(door.method, path, json={} if door.method == "POST" else None)
    if door.guard == "nobody":
        assert without.status_code in (200, 404)
    elif door.guard == "reader":
        assert "needs a sign-in" in without.text
        assert without.status_code == 401
    elif door.guard == "slack":
        assert "signature" in without.text
        assert without.status_code == 401
    else:
        assert "token" in without.text
        assert without.status_code == 401


def test_without_a_token_only_this_machine_may_ask() -> None:
    app = api()
    assert ask(here(app)) == 200
    for host in ("127.0.0.1:8080", "[::1]:8080", "LOCALHOST", "localhost:9000"):
        assert ask(here(app), Host=host) == 200
    assert ask(reached(app, "::1", base_url="http://[::1]:8080")) == 200
    assert ask(elsewhere(app)) == 401
    assert ask(elsewhere(app), Host="localhost:8080") == 401
    assert ask(reached(app, "testclient", base_url="http://localhost")) == 401


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8080", "localhost.evil.example", "localhost:8080.evil.example",
     "127.0.0.1.nip.io", "127.0.0.1@evil.example", "0.0.0.0:8080", "localhost:", "localhost:x", ""],
)  # fmt: skip
def test_a_name_that_was_made_to_point_here_is_refused(host: str) -> None:
    assert ask(here(api()), Host=host) == 403
    assert here(api()).get("/api/documents", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize(
    "name",
    ["Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP",
     "X-Client-IP", "True-Client-IP", "CF-Connecting-IP", "CF-Ray", "CDN-Loop",
     "X-Envoy-External-Address", "X-Amzn-Trace-Id", "Fly-Client-IP", "Fastly-Client-IP",
     "X-Original-Forwarded-For", "Tailscale-User-Login"],
)  # fmt: skip
def test_what_comes_through_a_proxy_needs_a_token(name: str, town: Town) -> None:
    assert ask(here(api()), **{name: "127.0.0.1"}) == 401
    both = {name: "127.0.0.1", **bearer(town.first)}
    assert ask(here(town.app()), **both) == 200


def test_pages_of_other_addresses_are_refused(town: Town) -> None:
    for origin in ("http://evil.example", "null", "http://localhost:3000", "file://", ""):
        assert ask(here(api()), Origin=origin) == 403
        assert here(api()).get("/api/documents", headers={"Origin": origin}).status_code == 403
        assert ask(elsewhere(town.app()), Origin=origin, **bearer(town.first)) == 403
    reply = here(api()).post(
        "/api/agentic_qna", json=ASKED, headers={"Origin": "http://localhost:8080"}
    )
    assert reply.status_code == 200
    assert not [name for name in reply.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "media",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/js",
     "text/plain; application/json", "application/json; charset=utf-16"],
)  # fmt: skip
def test_a_body_is_json_by_its_own_word(media: str) -> None:
    reply = here(api()).post(
        "/api/agentic_qna", content=b'{"query": "keys"}', headers={"Content-Type": media}
    )
    assert reply.status_code == 415


def test_a_bearer_is_let_in_from_everywhere(town: Town) -> None:
    client = elsewhere(town.app())
    assert ask(client, **bearer(town.first)) == 200
    assert ask(client, Authorization=f"bearer  {town.first}") == 200
    for wrong in ("", "nope", town.first[:-1], town.first + "x", town.first.upper(), "é"):
        assert ask(client, **{"Authorization": f"Bearer {wrong}".encode("latin-1")}) == 401  # type: ignore[arg-type]
    assert ask(client, Authorization=town.first) == 401
    assert ask(client, Authorization=f"Basic {town.first}") == 401
    two = [("Authorization", f"Bearer {town.first}"), ("Authorization", "Bearer nope")]
    assert client.get("/api/documents?domain=security", headers=two).status_code == 401


def test_where_there_are_tokens_this_machine_needs_one_too(town: Town) -> None:
    reply = here(town.app()).post("/api/agentic_qna", json=ASKED)
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"] == "Bearer"


def test_a_token_that_is_none_is_refused_at_this_machine_too() -> None:
    assert ask(here(api()), **bearer("oncall_revoked-long-ago")) == 401


def test_the_operator_s_token_opens_every_domain_as_nobody(tmp_path: Path) -> None:
    client = elsewhere(api(tokens=LiveTokens(tmp_path, SecretStr("s3cret"))))
    asked = {"query": "x", "domain": "privacy"}
    found = client.post("/api/retrieve", json=asked, headers=bearer("s3cret"))
    assert found.json()["readers"] == []
    assert ask(client, {**ASKED, "asker_email": INES}, **bearer("s3cret")) == 403
    assert ask(client, **bearer("s3cre")) == 401


def test_a_token_opens_its_domains_and_no_other(town: Town) -> None:
    narrow = town.token("narrow", domains=["security"])
    client = elsewhere(town.app(), headers=bearer(narrow))
    assert ask(client) == 200
    assert ask(client, {"query": "keys"}) == 200
    for method, path in (
        ("POST", "/api/agentic_qna"), ("POST", "/api/retrieve"), ("GET", "/api/documents"),
        ("GET", "/api/documents/open/summary"), ("GET", "/api/documents/open/citations"),
        ("GET", "/api/entities"),
    ):  # fmt: skip
        mine, forbidden, unknown = (
            client.get(path, params={"domain": name})
            if method == "GET"
            else client.post(path, json={"query": "keys", "domain": name})
            for name in ("security", "privacy", "no-such-thing")
        )
        assert (mine.status_code, forbidden.status_code) == (200, 422)
        assert forbidden.text == unknown.text
        assert "privacy" not in forbidden.text


def test_without_a_domain_only_the_token_s_are_asked(town: Town) -> None:
    agents = Agents()
    narrow = town.token("narrow", domains=["privacy"])
    assert ask(elsewhere(town.app(agents)), {"query": "keys"}, **bearer(narrow)) == 200
    assert agents.domains == ["privacy"]
    nothing = town.token("nothing", domains=[])
    assert ask(elsewhere(town.app(agents)), {"query": "keys"}, **bearer(nothing)) == 422


def test_documents_are_read_as_the_token_s_identity(town: Town) -> None:
    town.more["directory"] = Members()
    as_ines = elsewhere(town.app(), headers=bearer(town.token("hers", identity=INES)))
    as_nobody = elsewhere(town.app(), headers=bearer(town.first))
    listed = [
        [card["id"] for card in client.get("/api/documents?domain=privacy").json()]
        for client in (as_ines, as_nobody)
    ]
    assert listed == [["open", "closed"], ["open"]]
    assert as_nobody.get("/api/documents/closed/summary?domain=privacy").status_code == 404


def test_only_a_token_that_speaks_for_people_names_an_asker(town: Town) -> None:
    client = elsewhere(api(tokens=LiveTokens(town.folder), directory=Members()))
    speaker = bearer(town.token("speaker", speaks_for_people=True))
    asked = {"query": "x", "domain": "privacy", "asker_email": INES.upper()}
    for path in ("/api/retrieve", "/api/agentic_qna"):
        refused = client.post(path, json=asked, headers=bearer(town.first))
        assert refused.status_code == 403
        assert "--speaks-for-people" in refused.text
    found = client.post("/api/retrieve", json=asked, headers=speaker).json()
    assert found["readers"] == sorted([INES, "tidewater.example"])
    look_alikes = [
        INES.replace("s", "\u017f", 1),
        "\u212aim@tidewater.example",
        "wei\u00df@c.example",
    ]
    for junk in ("ines", "a b@c.example", "@", "x\n@y", "a@b@c", *look_alikes):
        wrong = client.post("/api/retrieve", json={**asked, "asker_email": junk}, headers=speaker)
        assert wrong.status_code == 422


def test_a_person_asks_only_where_they_may(town: Town) -> None:
    agents, heard = Agents(), []

    def may_ask(email: str, domain: Any) -> bool:
        heard.append((email, domain.domain))
        return bool(domain.domain == "privacy")

    speaker = bearer(town.token("speaker", speaks_for_people=True))
    app = api(agents, tokens=LiveTokens(town.folder), directory=Members(may_ask))
    closed = {"query": "x", "domain": "security", "asker_email": INES}
    for path in ("/api/agentic_qna", "/api/retrieve"):
        assert elsewhere(app).post(path, json=closed, headers=speaker).status_code == 403
    # At this machine too: it is known who is meant.
    assert ask(here(api(agents, directory=Members(may_ask))), closed) == 403
    assert (agents.asked, heard) == ([], [(INES, "security")] * 3)
    assert ask(elsewhere(app), {"query": "x", "asker_email": INES}, **speaker) == 200
    assert agents.domains == ["privacy"]


def test_without_slack_a_domain_with_channels_is_closed_to_named_people(town: Town) -> None:
    domains = {**DOMAINS, "open": domain("open", channels=[])}
    speaker = bearer(town.token("speaker", speaks_for_people=True))
    client = elsewhere(api(domains=domains, tokens=LiveTokens(town.folder)), headers=speaker)
    reply = client.post("/api/agentic_qna", json={**ASKED, "asker_email": INES})
    assert reply.status_code == 403
    assert "set SLACK_BOT_TOKEN" in reply.text
    assert ask(client, {"query": "x", "domain": "open", "asker_email": INES}) == 200
    # The operator sees what a person's document permissions would give.
    asked = {"query": "x", "domain": "privacy", "asker_email": INES}
    assert INES in here(api()).post("/api/retrieve", json=asked).json()["readers"]


def test_nobody_asks_while_membership_is_unknown(town: Town) -> None:
    def unreachable() -> Members:
        raise CopilotError("could not reach Slack at https://internal.example")

    app = api(tokens=LiveTokens(town.folder), directory=unreachable)
    speaker = bearer(town.token("speaker", speaks_for_people=True))
    asked = {**ASKED, "asker_email": INES}
    reply = elsewhere(app).post("/api/agentic_qna", json=asked, headers=speaker)
    assert reply.status_code == 503
    assert "internal.example" not in reply.text


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("member", "Slack shows this person in none of the domain's channels; join one and"),
        ("guest", "guests and people of other organizations may not ask here; ask a colleague"),
        ("external", "guests and people of other organizations may not ask here; ask a colleague"),
        ("former", "this person's account in Slack is deactivated; use"),
        ("bot", "this address is a bot's, and bots may not ask; use"),
        ("unknown", "Slack names no account of this workspace for this address; correct it"),
    ],
)
def test_a_refusal_says_why_and_what_to_do(town: Town, kind: Kind, said: str) -> None:
    people = Members(lambda email, domain: False)
    people.kind = kind
    alone = domain("alone", channels=[])
    letting = domain("letting", access={"external": True})
    domains = {"security": DOMAINS["security"], "alone": alone, "letting": letting}
    ines = bearer(town.token("ines", identity=INES))
    client = elsewhere(api(domains=domains, tokens=LiveTokens(town.folder), directory=people))
    whys = {
        name: client.post(
            "/api/agentic_qna", json={"query": "x", "domain": name}, headers=ines
        ).json()["detail"]
        for name in ("security", "alone", "letting", "")
    }
    assert whys["security"].startswith(said)
    no_channel = "no channel belongs to this domain, so that only its admins may ask"
    assert whys["alone"].startswith(no_channel if kind == "member" else said)
    join = kind in ("member", "guest", "external")
    assert whys["letting"].startswith("Slack shows this person in none" if join else said)
    assert all("\n" not in why and "; " in why for why in whys.values())


def test_metrics_are_for_tokens_made_for_them(town: Town) -> None:
    prometheus = bearer(town.token("prometheus", domains=[], metrics=True))
    app = town.app()
    assert elsewhere(app).get("/metrics").status_code == 401
    assert elsewhere(app).get("/metrics", headers=bearer(town.first)).status_code == 403
    assert "oncall_ready" in elsewhere(app).get("/metrics", headers=prometheus).text
    assert ask(elsewhere(app), **prometheus) == 422
    open_to_all = api(tokens=LiveTokens(town.folder), open_metrics=True)
    assert elsewhere(open_to_all).get("/metrics").status_code == 200
    off = build_api(**PARTS)
    add_health(off, None, figures=False)
    assert here(off).get("/metrics").status_code == 404


def test_the_docs_are_off_until_wanted(town: Town) -> None:
    for path in ("/docs", "/openapi.json", "/redoc"):
        assert here(api()).get(path).status_code == 404
    wanted = api(docs=True, tokens=LiveTokens(town.folder))
    assert elsewhere(wanted).get("/openapi.json").status_code == 401
    assert elsewhere(wanted).get("/openapi.json", headers=bearer(town.first)).status_code == 200


def test_websockets_are_refused() -> None:
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), here(api()).websocket_connect("/api/agentic_qna"):
        pass


@pytest.mark.parametrize(
    ("address", "loopback"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("::ffff:127.0.0.1", True),
     ("10.1.2.3", False), ("::", False), ("10.0.0.1", False), ("::ffff:10.0.0.1", False),
     ("fe80::1%eth0", False), ("localhost.evil.example", False), ("", False)],
)  # fmt: skip
def test_what_this_machine_s_address_is(address: str, loopback: bool) -> None:
    assert is_loopback(address) is loopback
