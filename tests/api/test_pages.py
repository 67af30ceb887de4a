"""The pages of documents without a web address, through the real app and a stand-in for Slack."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from agents.context.linked_section import find
from api.pages import document as document_page
from cli.demo import has_pages, serving_pages
from cli.setup.checks import check_published
from index.page_links import PageLinks, page_query, page_target
from oncall import Copilot
from playground.slack import tidewater
from playground.slack_stand_in import SlackStandIn
from tests.api.front import bearer, here, reached

PUBLIC = "https://copilot.example.com"
TOKEN = "the-operators-token"
CHANNEL = "C0SECURITY"
DOMAIN = """\
domain: {name}
title: {name} desk
channels: [{channel}]
sources: {{files: ["../documents/{name}/**/*"]}}
access: {access}
"""
BREW = """\
---
owner: Tea team
modified: 2026-03-14
review_by: 2020-01-31
---
# Brew <b>tea</b>

Intro & notes.

## Restore <script>alert(1)</script>

Run `kettle --on` and [open](javascript:alert(1)) or [the site](https://tea.example/a?b=1&c=2).
<script src="https://evil.example/x.js"></script>

![secret](https://evil.example/pixel.png)

```sh
kubectl cordon <node>
kubectl drain node-7
```

### Limits

| Pot | Liters |
|---|---|
| <img src=x onerror=alert(1)> | 2 |
| blue | 3 |

See [the other](../other.md#second) and [below](#limits).
"""
OTHER = "# Other\n\nText.\n\n## Second\n\nMore text.\n"
LONG = "# Long\n\n" + "\n\n".join(f"## Part {n}\n\nSentence {n}." for n in range(14))


@dataclass
class House:
    copilot: Copilot
    slack: SlackStandIn
    folder: Path


def link(document: str, domain: str = "tea", **more: str) -> str:
    return f"/document?{page_query(domain, document, **more)}"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    from config.settings import Settings

    folder = tmp_path_factory.mktemp("pages")
    (folder / "config" / "domains").mkdir(parents=True)
    for name, audience, channel in (("tea", "channel", CHANNEL), ("vault", "asker", "C0PRIVACY")):
        access = f"{{audience: {audience}}}"
        text = DOMAIN.format(name=name, access=access, channel=channel)
        (folder / "config" / "domains" / f"{name}.yaml").write_text(text)
        documents = folder / "config" / "documents" / name
        (documents / "runbooks").mkdir(parents=True)
        (documents / "other.md").write_text(OTHER)
    tea = folder / "config" / "documents" / "tea"
    (tea / "runbooks" / "brew.md").write_text(BREW)
    (tea / "long.md").write_text(LONG)
    with SlackStandIn(enforce_rate_limits=False) as slack:
        slack.sign_in.redirect_uris.append(f"{PUBLIC}/signed-in")
        settings = Settings(_env_file=None).model_copy(
            update={
                "slack_api_url": slack.api_url,
                "slack_bot_token": SecretStr(slack.bot_token),
                "slack_client_id": slack.sign_in.client_id,
                "slack_client_secret": SecretStr(slack.sign_in.client_secret),
                "public_url": PUBLIC,
                "api_token": SecretStr(TOKEN),
                "config_dir": folder / "config",
                "data_dir": folder / "var",
            }
        )
        copilot = Copilot(settings)
        for name in ("tea", "vault"):
            assert copilot.ingest(name).failed == ()
        try:
            yield House(copilot, slack, folder)
        finally:
            copilot.index.close()


@pytest.fixture(scope="module")
def client(house: House) -> TestClient:
    """A program with the operator's token."""
    return here(house.copilot.api(slack=False), headers=bearer(TOKEN))


@pytest.fixture(scope="module")
def browser(house: House) -> TestClient:
    """A browser elsewhere. The server itself is behind a proxy that ends TLS."""
    app = house.copilot.api(slack=False)
    return reached(app, "203.0.113.9", base_url=PUBLIC, follow_redirects=False)


def at_slack(reply: httpx.Response) -> str:
    """Follow a redirect to Slack; where Slack sends the browser."""
    assert reply.status_code == 303
    return httpx.get(reply.headers["location"]).headers["location"]


def sign_in(browser: TestClient, house: House, person: str, path: str) -> httpx.Response:
    house.slack.sign_in.person = person
    browser.cookies.clear()
    return browser.get(at_slack(browser.get(path)))


def test_a_page_shows_the_document_in_order_and_runs_nothing(client: TestClient) -> None:
    reply = client.get(link("runbooks/brew.md", at="limits"))
    assert reply.status_code == 200
    page = reply.text
    order = [page.index(words) for words in (
        "Brew", "tea desk", "runbooks/brew.md", "14 March 2026", "owner: Tea team",
        "review was due on 31 January 2020", "Intro &amp; notes", 'id="restore"', "kettle --on",
        "kubectl cordon &lt;node&gt;\nkubectl drain node-7", 'id="limits"', "<th>Pot</th>",
        "<td>3</td>",
    )]  # fmt: skip
    assert order == sorted(order)
    assert re.search(r"<script|<img|onerror|href=.javascript|evil.example", page) is None
    assert "<td>[picture]</td>" in page
    assert re.findall(r'href="(?!#|data:)([^"]+)"', page) == [
        "https://tea.example/a?b=1&amp;c=2",
        f"{PUBLIC}/document?domain=tea&amp;id=other.md#second",
    ]
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script-src" not in policy
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["cache-control"] == "no-store"


def test_a_citation_opens_the_section_on_its_page(
    house: House, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_page, "PART_CHUNKS", 10)
    chunks = house.copilot.documents.access.snapshot("tea").chunks("long.md")
    last = urlsplit(chunks[-1].url)
    assert f"{last.scheme}://{last.netloc}" == PUBLIC
    page = client.get(f"{last.path}?{last.query}").text
    assert f'id="{last.fragment}"' in page
    assert "Page 2 of 2" in page
    assert "Sentence 1." not in page
    first = client.get(link("long.md")).text
    assert "Sentence 1." in first
    assert f'href="?domain=tea&amp;id=long.md&amp;part=2#{last.fragment}"' in first
    for junk in ("0", "-1", "99999999999999999999", "٣", "2x"):
        assert client.get(link("long.md", part=junk)).status_code == 200


@pytest.mark.parametrize("document", [
    "", "nothing", "../other.md", "other.md/..", "other.md%2f", "other.md#x", "other.md?x=1",
    "//other.md", "tée.md", "x" * 3_000, "<script>", "\U0001f600", "a\0b",
])  # fmt: skip
def test_a_document_that_is_not_there_looks_like_one_that_is_not_shared(
    client: TestClient, document: str
) -> None:
    reply = client.get("/document", params={"domain": "tea", "id": document})
    assert reply.status_code == 404
    assert "<script" not in reply.text
    assert reply.text == client.get(link("other.md", domain="vault")).text
    assert reply.text == client.get(link("other.md", domain="nowhere")).text


def test_an_address_that_is_too_long_is_refused_by_a_page(client: TestClient) -> None:
    reply = client.get(link("x" * 4_000))
    assert (reply.status_code, reply.headers["content-type"]) == (414, "text/html; charset=utf-8")


def test_people_sign_in_with_slack_and_arrive_at_the_section(
    house: House, browser: TestClient
) -> None:
    path = link("runbooks/brew.md", at="limits")
    back = sign_in(browser, house, tidewater.YOU, f"{path}&next=https://evil.example&at=x")
    assert back.headers["location"] == f"{PUBLIC}{link('runbooks/brew.md', at='x')}#x"
    back = sign_in(browser, house, tidewater.YOU, path)
    assert (back.status_code, back.headers["location"]) == (303, f"{PUBLIC}{path}#limits")
    cookie = back.headers["set-cookie"]
    assert cookie.startswith("__Host-oncall-session=")
    assert {"HttpOnly", "Secure", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
    assert "max-age" not in cookie.lower()
    page = browser.get(path)
    assert page.status_code == 200
    assert "kettle" in page.text
    shown = list(house.copilot.documents.audit.export(document="runbooks/brew.md"))[-1]
    assert (shown["door"], shown["place"]) == ("page/document", tidewater.YOU)
    assert shown["asker"] == house.slack.workspace.people[tidewater.YOU].email
    assert browser.get(link("other.md", domain="vault")).status_code == 404
    house.slack.workspace.channel(CHANNEL).members.discard(tidewater.YOU)
    try:  # a membership counts for five minutes; another server has not looked yet
        fresh = Copilot(house.copilot.settings)
        other = reached(fresh.api(slack=False), "203.0.113.9", base_url=PUBLIC)
        other.cookies = browser.cookies
        refused = other.get(path)
        assert refused.status_code == 403
        assert "join one and ask again" in refused.text
        fresh.index.close()
    finally:
        house.slack.workspace.channel(CHANNEL).members.add(tidewater.YOU)


def test_a_sign_in_counts_once_in_its_own_browser(house: House, browser: TestClient) -> None:
    path = link("runbooks/brew.md")
    house.slack.sign_in.person = tidewater.YOU
    browser.cookies.clear()
    first, second = (at_slack(browser.get(path)) for _ in range(2))
    thief = reached(browser.app, "198.51.100.7", base_url=PUBLIC, follow_redirects=False)
    assert thief.get(first).status_code == 400
    assert "session" not in str(thief.cookies)
    assert browser.get(first).status_code == 303, "several tabs sign in at once"
    assert browser.get(second).status_code == 303
    assert browser.get(second).status_code == 502, "Slack's code is spent"
    code = parse_qs(urlsplit(at_slack(thief.get(path))).query)["code"][0]
    fresh = reached(browser.app, "203.0.113.9", base_url=PUBLIC, follow_redirects=False)
    mine = urlsplit(at_slack(fresh.get(path)))
    state = parse_qs(mine.query)["state"][0]
    planted = fresh.get("/signed-in", params={"code": code, "state": state})
    assert planted.status_code == 400, "another browser's code has another nonce"


@pytest.mark.parametrize("claims", [
    {"aud": "other"}, {"iss": "https://evil.example"}, {"exp": 1}, {"nonce": "x"},
    {"https://slack.com/user_id": None}, {"https://slack.com/team_id": "T0ELSEWHERE"},
])  # fmt: skip
def test_an_id_token_for_somebody_else_opens_nothing(
    house: House, browser: TestClient, claims: Mapping[str, object]
) -> None:
    house.slack.sign_in.claims = dict(claims)
    try:
        reply = sign_in(browser, house, tidewater.YOU, link("runbooks/brew.md"))
    finally:
        house.slack.sign_in.claims = {}
    assert reply.status_code == (
        303 if "https://slack.com/team_id" in claims else reply.status_code
    )
    assert browser.get(link("runbooks/brew.md")).status_code in (303, 403)


UNSIGNED = jwt.encode(
    {"sub": tidewater.YOU, "teams": [tidewater.TEAM_ID], "aud": "session"}, "", algorithm="none"
)


@pytest.mark.parametrize("session", ["x", "e30.e30.", UNSIGNED])
def test_a_forged_session_is_no_session(browser: TestClient, session: str) -> None:
    browser.cookies.clear()
    reply = browser.get(
        link("runbooks/brew.md"), headers={"Cookie": f"__Host-oncall-session={session}"}
    )
    assert urlsplit(reply.headers["location"]).path == "/openid/connect/authorize"


def test_a_proxy_that_looks_like_this_machine_gets_nothing_without_a_token(house: House) -> None:
    settings = house.copilot.settings.model_copy(update={"api_token": None})
    copilot = Copilot(settings)
    try:
        proxied = here(copilot.api(slack=False), follow_redirects=False)
        assert proxied.get(link("other.md")).status_code == 303
        assert proxied.get("/api/documents", params={"domain": "tea"}).status_code == 401
    finally:
        copilot.index.close()


def test_somebody_who_declines_gets_no_further(house: House, browser: TestClient) -> None:
    reply = sign_in(browser, house, "", link("runbooks/brew.md"))
    assert (reply.status_code, "set-cookie" in reply.headers) == (403, False)
    for junk in ("", "?state=x&code=y", "?code=y", "?state=%00&code=%ff"):
        assert browser.get(f"/signed-in{junk}").status_code == 400


def test_without_a_sign_in_a_page_says_so_and_a_token_still_opens_it(house: House) -> None:
    settings = house.copilot.settings.model_copy(
        update={"slack_client_id": None, "slack_client_secret": None}
    )
    copilot = Copilot(settings)
    try:
        snapshot = copilot.documents.access.snapshot("tea")
        assert snapshot.documents["other.md"].url == ""
        assert {chunk.url for chunk in snapshot.chunks("other.md")} == {"#other", "#second"}
        findings = [str(one.remedy) for one in check_published(copilot, ["tea"])]
        assert "set ONCALL_PUBLIC_URL, SLACK_CLIENT_ID" in " ".join(findings)
        browser = reached(copilot.api(slack=False), "203.0.113.9", base_url=PUBLIC)
        reply = browser.get(link("other.md"))
        assert reply.status_code == 401
        assert "isn’t set up" in reply.text or "isn&#39;t set up" in reply.text
        assert browser.get(link("other.md"), headers=bearer(TOKEN)).status_code == 200
    finally:
        copilot.index.close()


def test_a_posted_link_to_a_page_finds_its_section(house: House) -> None:
    snapshot = house.copilot.documents.access.snapshot("tea")
    linked = find(snapshot, f"{PUBLIC}{link('other.md', at='second')}#second")
    assert linked is not None
    assert (linked.heading, linked.card.title) == ("Second", "Other")
    assert find(snapshot, f"https://evil.example{link('other.md')}") is None
    assert find(snapshot, PUBLIC + link("other.md", domain="vault")) is None


def test_the_demo_opens_pages_on_this_machine_without_a_sign_in(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        local = dict.fromkeys(
            ("slack_client_id", "slack_client_secret", "slack_bot_token", "api_token")
        )
        here = {"public_url": f"http://localhost:{listener.getsockname()[1]}"}
        copilot = Copilot(house.copilot.settings.model_copy(update={**local, **here}))
        try:
            assert has_pages(copilot)
            url = copilot.documents.access.snapshot("tea").chunks("other.md")[-1].url
            with serving_pages(copilot, listener):
                assert 'id="second"' in httpx.get(url).text
        finally:
            copilot.index.close()


def test_any_id_survives_its_link() -> None:
    for document in ("a/b.md", "../../x", "a%2fb", "a#b?c&d=e", "//x", "tée ☕.md", "x" * 4_000):
        query = page_query("tea", document, at="h&1")
        assert page_target(f"{PUBLIC}/document?{query}#h") == ("tea", document)
    assert PageLinks("tea").base == ""
    assert page_target("https://[bad/document?domain=a&id=b") is None
