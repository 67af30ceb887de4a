"""The page's server side: safe HTML, privacy between people, no other site acting here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slack_sdk import WebClient
from websockets.sync.client import connect

from playground.page.page_server import FOLDER
from playground.page.safe_markup import Markup
from playground.page.shown_messages import Render
from playground.slack.wire_text import typed
from playground.slack.workspace import Workspace
from playground.slack_stand_in import SlackStandIn

MARKUP = Markup(Workspace())


@pytest.fixture(scope="module")
def slack() -> Iterator[SlackStandIn]:
    with SlackStandIn(enforce_rate_limits=False) as stand_in:
        yield stand_in


def fetch(
    slack: SlackStandIn,
    path: str,
    headers: dict[str, str] | None = None,
    body: dict[str, Any] | None = None,
) -> tuple[int, str, str]:
    """Status, text and content security policy; errors are answers too."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(slack.url + path, data, headers or {})  # noqa: S310 - always http
    try:
        with urlopen(request, timeout=60) as answer:  # noqa: S310 - always http
            policy = answer.headers["content-security-policy"]
            return answer.status, answer.read().decode(), policy
    except HTTPError as error:
        with error:
            return error.code, error.read().decode(), ""


def act(
    slack: SlackStandIn, action: str, headers: dict[str, str] | None = None, **body: Any
) -> tuple[int, Any]:
    sent = {"content-type": "application/json", **(headers or {})}
    status, text, _ = fetch(slack, f"do/{action}", sent, {"user": "U0YOU", **body})
    return status, json.loads(text or "{}")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*bold* _it_ ~no~", "<p><strong>bold</strong> <em>it</em> <s>no</s></p>"),
        ("2*3*4 snake_case_name", "<p>2*3*4 snake_case_name</p>"),
        ("`a *b*`", "<p><code>a *b*</code></p>"),
        ("```x\ny```", "<pre><code>x\ny</code></pre>"),
        ("&gt; one\n&gt; two\nthree", "<blockquote>one<br>two</blockquote><p>three</p>"),
        ("as an app writes it:\n> one", "<p>as an app writes it:</p><blockquote>one</blockquote>"),
        ("Yes [1].", '<p>Yes <span class="cite">1</span>.</p>'),
        ("a &lt;b&gt; &amp;amp;", "<p>a &lt;b&gt; &amp;amp;</p>"),
        (":tada: :no_such:", "<p>🎉 :no_such:</p>"),
    ],
)
def test_mrkdwn(text: str, html: str) -> None:
    assert MARKUP.mrkdwn(text) == html


def test_references_are_named_and_links_open_elsewhere() -> None:
    html = MARKUP.mrkdwn("<@U0INES> <#C0SECURITY> <!here> <https://x.example/?a=1&amp;b=2|[3]>")
    assert '<span class="mention user" data-user="U0INES">@Ines Okafor</span>' in html
    assert "#help-security</span>" in html
    assert ">@here</span>" in html
    assert '<a class="cite" href="https://x.example/?a=1&amp;b=2" target="_blank"' in html
    assert 'rel="noopener noreferrer">3</a>' in html


def test_markdown_tables_code_and_citations() -> None:
    html = MARKUP.markdown("| EU | SG |\n|---|--:|\n| 90 | 60 |\n\n`x` [1] https://x.example.")
    assert 'role="region"' in html
    assert "<th>EU</th>" in html
    assert '<span class="cite">1</span>' in html
    assert '<a href="https://x.example" target' in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "![x](https://x.example/pixel.gif)",
        '[x](https://x.example "onmouseover=1")',
        "<https://x.example|<b>x</b>>",
        "<javascript:alert(1)|x>",
        '<@U"onload=1>',
    ],
)
def test_nothing_in_a_message_becomes_active(text: str) -> None:
    for html in (MARKUP.markdown(text), MARKUP.mrkdwn(text), MARKUP.mrkdwn(typed(text))):
        assert_harmless(html)


@settings(deadline=None, max_examples=150)
@given(st.text(alphabet='<>&"*_~`[]()!|@#:/\n aU0js\ue000', max_size=40))
def test_no_text_becomes_active(text: str) -> None:
    for html in (MARKUP.markdown(text), MARKUP.mrkdwn(text), MARKUP.mrkdwn(typed(text))):
        assert_harmless(html)


def test_names_in_blocks_are_escaped() -> None:
    evil = "<b>x</b>"
    blocks = [
        {"type": "table", "rows": [[{"type": "raw_text", "text": evil}]]},
        {
            "type": "rich_text",
            "elements": [
                {
                    "type": "rich_text_section",
                    "elements": [
                        {"type": "text", "text": evil, "style": {"bold": True}},
                        {"type": "link", "url": "javascript:alert(1)", "text": evil},
                        {"type": "emoji", "name": evil},
                        {"type": "user", "user_id": evil},
                    ],
                }
            ],
        },
    ]
    for block in Render(MARKUP).decorated(blocks):
        assert "<b>" not in block["html"]
        assert_harmless(block["html"])


SAFE_TAGS = frozenset(
    {"p", "br", "strong", "em", "s", "del", "code", "pre", "blockquote", "ul", "ol", "li", "a"}
    | {"span", "hr", "div", "table", "thead", "tbody", "tr", "th", "td"}
    | {"h1", "h2", "h3", "h4", "h5", "h6"}
)
SAFE_ATTRIBUTES = frozenset(
    {"class", "href", "target", "rel", "title", "data-user", "data-channel", "role"}
    | {"aria-label", "tabindex", "style", "start"}
)


def assert_harmless(html: str) -> None:
    class Check(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag in SAFE_TAGS, html
            for name, value in attrs:
                assert name in SAFE_ATTRIBUTES, html
                if name == "href":
                    assert re.match(r"(https?:|mailto:)", value or ""), html

    Check().feed(html)


def test_the_page_loads_nothing_from_outside(slack: SlackStandIn) -> None:
    _, html, policy = fetch(slack, "")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"(src|href)=\"[a-z]+:", html)
    for file in FOLDER.iterdir():
        code = re.sub(r"http://www\.w3\.org/2000/svg", "", file.read_text("utf-8"))
        assert not re.search(r"https?://[a-z]", code), file.name


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"origin": "https://evil.example"},
        {"host": "127.0.0.1.evil.example"},
    ],
)
def test_other_sites_see_nothing_and_do_nothing(
    slack: SlackStandIn, headers: dict[str, str]
) -> None:
    assert fetch(slack, "do/state", headers)[0] == 403
    assert act(slack, "send", headers, channel="C0GENERAL", text="spam")[0] == 403


def test_a_form_of_another_site_can_t_post(slack: SlackStandIn) -> None:
    form = {"content-type": "text/plain"}
    assert act(slack, "send", form, channel="C0GENERAL", text="spam")[0] == 403


def test_people_see_only_their_own_direct_and_private_messages(slack: SlackStandIn) -> None:
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    client.chat_postMessage(channel="D0INES", text="for Ines")
    client.chat_postEphemeral(channel="C0GENERAL", user="U0INES", text="for Ines alone")
    mine, hers = slack.page.state("U0YOU"), slack.page.state("U0INES")
    assert "for Ines" not in json.dumps(mine)
    assert json.dumps(hers).count("for Ines") >= 2


def test_updates_reach_only_those_who_may_see_them(slack: SlackStandIn) -> None:
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    address = slack.url.replace("http", "ws")
    with connect(f"{address}do/live?user=U0YOU") as live:
        assert json.loads(live.recv(5))["kind"] == "state"
        client.chat_postEphemeral(channel="C0GENERAL", user="U0INES", text="not for you")
        client.chat_postMessage(channel="D0INES", text="nor this")
        client.chat_postMessage(channel="C0GENERAL", text="for *all*")
        update = json.loads(live.recv(5))
    assert update["kind"] == "message"
    assert update["message"]["html"] == "<p>for <strong>all</strong></p>"


def test_names_that_people_type_become_references(slack: SlackStandIn) -> None:
    text = "@Copilot ask @Ines Okafor or @seceng-primary in #help-privacy, not bob@Copilot.example"
    _, sent = act(slack, "send", channel="C0GENERAL", text=text)
    wire = slack.thread("C0GENERAL", sent["ts"])[0]["text"]
    assert wire == (
        f"<@{slack.bot_user_id}> ask <@U0INES> or <!subteam^S0SECENG> in <#C0PRIVACY>, "
        "not bob@Copilot.example"
    )
    shown = slack.page.render.message(slack.thread("C0GENERAL", sent["ts"])[0])
    assert shown["source"].startswith("@Copilot ask @Ines Okafor or @seceng-primary in #help-priv")


def test_only_the_author_edits_on_the_page(slack: SlackStandIn) -> None:
    ts = slack.post_as_user("C0GENERAL", "mine", user="U0INES")
    status, answer = act(slack, "edit", channel="C0GENERAL", ts=ts, text="changed")
    assert status == 400
    assert answer["error"] == "Only its author can change a message."


@pytest.mark.parametrize(
    "body", [{"channel": "C0NOWHERE", "text": "x"}, {"text": "x"}, {"channel": 7, "text": 7}]
)
def test_nonsense_is_answered_in_a_sentence(slack: SlackStandIn, body: dict[str, Any]) -> None:
    status, answer = act(slack, "send", **body)
    assert status == 400
    assert answer["error"].endswith(".")
