"""What others write is read in a time that grows with its length, whatever it says.

Times are processor time of this thread, of several runs, as a ratio to plain text of the same
length that takes the same way. What grows faster than its text would be 50 times slower
and more at these lengths."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from agents.answer import MAX_QUESTION_CHARS, Turn
from agents.checks.groundedness import groundedness
from agents.context.sources import build_sources
from agents.drill.rows import renames_in
from agents.extractive.conversation import clean_message, leans_on, questions_in, small_talk_reply
from agents.extractive.language import asks_about_the_past
from agents.own_knowledge import own_question
from bot.features.changes.feature import REQUEST
from bot.features.changes.names import NameFinder, SystemName
from bot.features.drills.outside import MENTION
from bot.features.rehearsal.drills import WITH_AT
from bot.features.timeline.service import is_timeline_request
from bot.rotas.moments import period_in
from bot.slack.messages import is_question, mentions, words_of
from bot.slack.messages import plain as slack_plain
from config.errors import LoadError
from config.prompts import harmless
from config.servers.messages import parse_reply
from enrichment.language.words import codes, is_code, search_terms, written_out
from enrichment.pipeline import prepare
from loaders.docs.response import parse_document
from loaders.document import Document
from loaders.files.local import load_bytes
from loaders.output import document_to_markdown
from tests.agents.corpus import ROTATION, snapshot

MOST = 15.0
"""Times as slow as plain text. The slowest, a table of thousands of cells, is 4."""
CHARACTERS = 16_000
PROSE = (
    "The key `alpha` is rotated every ninety days by its *owner*, and [the log](https://a.example)"
    " says so. Who may see it is written there, too (see below).\n\n"
    "## Exceptions\n\n- A key of a test system, which nobody else uses.\n\n"
)
ASKED = "How often is the signing key rotated, and who does it? It is the one of web-eu1. "


class Said(BaseModel):
    text: str = ""


def of(piece: str, length: int = CHARACTERS) -> str:
    return (piece * (length // len(piece) + 1))[:length]


def seconds(act: Callable[[str], object], text: str) -> float:
    """Of this thread's processor time."""
    started = time.thread_time()
    act(text)
    return time.thread_time() - started


def quickest(act: Callable[[str], object], text: str) -> float:
    return min(seconds(act, text) for _ in range(3))


def takes_less(act: Callable[[str], object], text: str, most: float) -> bool:
    """Whether one of three runs takes less: what else runs here may slow any of them."""
    return any(seconds(act, text) < most for _ in range(3))


def ingested(suffix: str) -> Callable[[str], object]:
    """A file of this kind on its way into the index, and out as markdown."""

    def act(text: str) -> None:
        with suppress(LoadError):  # refused in time is as good
            through(load_bytes(text.encode(), suffix=suffix, id="x"))

    return act


def through(document: Document) -> None:
    prepare(document, count_tokens=lambda text: len(text) // 4 + 1)
    document_to_markdown(document)


def asked(text: str) -> None:
    """A Slack message, up to the search."""
    said = slack_plain(words_of({"text": text}))
    mentions(said)
    is_question(said)
    is_timeline_request(said)
    REQUEST.fullmatch(said)
    SYSTEMS(said)
    words = clean_message(said)
    small_talk_reply(words, "Keys")
    leans_on(words, [Turn(role="user", content=text), Turn(role="user", content="and keys?")])
    questions_in(words)
    asks_about_the_past(words)
    search_terms(written_out(words))
    own_question(words[:300])
    period_in(" ".join(words.lower().split()), datetime(2026, 11, 28, tzinfo=UTC), "UTC")
    WITH_AT.sub("", words)
    codes(words)


def replied(text: str) -> None:
    """A model's reply, read and held against its sources."""
    with suppress(ValueError):
        parse_reply(text, Said)
    groundedness(text, SOURCES)
    harmless(text)


DOCUMENTS = {
    "brackets": (".md", of("[")),
    "brackets escaped": (".md", of("[\\")),
    "pictures opened": (".md", of("![")),
    "footnotes opened": (".md", of("[^")),
    "links opened": (".md", of("[](")),
    "emphasis opened": (".md", of("*a **b ")),
    "underscores": (".md", of("_")),
    "backticks": (".md", " ".join("`" * n for n in range(1, 220))),
    "tags opened": (".md", of("<a ")),
    "comments opened": (".md", of("<!--")),
    "quotes in quotes": (".md", of("> ")),
    "lists in lists": (".md", "".join("  " * n + "- a\n" for n in range(110))),
    "entities": (".md", of("&#1")),
    "end marks": (".md", of("!")),
    "one word": (".md", of("a")),
    "an abbreviation without end": (".md", of("AB (")),
    "a code that isn't one": (".md", "AB-" + of("1") + "-"),
    "a code of parts": (".md", "AB" + of(".A") + "-"),
    "a name that isn't one": (".md", "AaA" + of("a") + "-"),
    "a role that isn't one": (".md", of("A-")),
    "spaces": (".md", "a" + of(" ") + "b"),
    "blank lines": (".md", of("\n")),
    "combining marks": (".md", "a" + "\u0301" * 6_000 + "\u0316" * 6_000),
    "footnotes": (
        ".md",
        "".join(f"[^{n}] " for n in range(800))
        + "\n\n"
        + "".join(f"[^{n}]: note\n\n" for n in range(800)),
    ),
    "a long heading": (".md", "# " + of("word ", 8_000) + "\n\n" + of("It is so. ", 8_000)),
    "a wide table": (".md", "\n".join([of("|a", 5_000), of("|-", 5_000), of("|b", 5_000)])),
    "a long header": (".md", "|" + of("name ", 8_000) + "|b|\n|-|-|\n" + "|c|d|\n" * 1_500),
    "list tags": (".md", of("a <ul><li>")),
    "html notes": (".html", of('<a href="#fn1" id="x">1</a>')),
    "html styles": (".html", "<style>" + of(".c1{") + "</style>"),
    "html counters": (".html", "<style>" + of(".lst-a>li:before{") + "</style>"),
    "html pictures": (".html", "<p>" + of("<img src=a>a ")),
    "html header cells": (".html", "<table><tr>" + of("<th>b") + "<td>c<tr><td>d</table>"),
    "html items in a cell": (".html", "<table><tr><td><ol>" + of("<li>a") + "</ol><td>b</table>"),
    "csv quotes": (".csv", of('"" ')),
    "csv columns": (".csv", of("a,") + "\n" + of("b,")),
    "text without end": (".txt", of("- \n")),
}
QUESTIONS = [
    "[", "[\\", "<@", "<http://", "<#", "`", ":a", "\n", "\n ", "~~~\n", "?", "a.", "a_", "1,",
    "and ", "ok, ", " -- ", "\u0301\u0316", "A-", "\\\n", "hi ", "@", "*", "a-",
    "what changed", "changes ", "list any ",
]  # fmt: skip
REPLIES = [
    "<think>", "{", "[1", "!", "<|", "[", "| a ", "a\n-\n", '{"text": ', "30 + ", "1 a", "not ",
    "before ", "unless ", "A-1 ", "12 May ", "half ", "two-", "**a** ", "[1] ", "The sources ",
    "Aa ", "1.", "> ", "no more ", "$1", "- a:\n  ", "key. [1] ",
]  # fmt: skip
SYSTEMS = NameFinder([SystemName(text=one, is_subject=True) for one in ("a1-a", "and", "key")])
SOURCES = build_sources(snapshot(ROTATION).chunks("key-rotation"))
SNAPSHOT = snapshot(ROTATION)
SOURCES = build_sources(SNAPSHOT.chunks("key-rotation"))


@pytest.fixture(scope="module")
def plain_document() -> dict[str, float]:
    """Kind of file → seconds for CHARACTERS of plain text."""
    rows = of("signing key,ninety days,its owner rotates it\n")
    page = "<h2>Keys</h2><p>" + of(PROSE) + "</p>"
    texts = {".md": of(PROSE), ".txt": of(PROSE), ".csv": rows, ".html": page}
    for suffix, text in texts.items():  # what is loaded at first use
        ingested(suffix)(text)
    return {suffix: quickest(ingested(suffix), text) for suffix, text in texts.items()}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_crafted_document_takes_about_as_long_as_a_plain_one(
    name: str, plain_document: dict[str, float]
) -> None:
    suffix, text = DOCUMENTS[name]
    length = max(1.0, len(text) / CHARACTERS)
    prose = max(plain_document[suffix], plain_document[".md"])
    assert takes_less(ingested(suffix), text, MOST * length * prose)


@pytest.fixture(scope="module")
def plain_question() -> float:
    """Seconds of the longest plain question."""
    asked(of(ASKED))
    return quickest(asked, of(ASKED, MAX_QUESTION_CHARS))


@pytest.mark.parametrize("piece", QUESTIONS)
def test_a_crafted_question_takes_about_as_long_as_a_plain_one(
    piece: str, plain_question: float
) -> None:
    assert takes_less(asked, of(piece, MAX_QUESTION_CHARS), MOST * plain_question)


@pytest.fixture(scope="module")
def plain_reply() -> float:
    """Seconds for CHARACTERS of a plain reply."""
    plain = of("- It is rotated [1].\n")
    replied(plain)
    return quickest(replied, plain)


@pytest.mark.parametrize("piece", REPLIES)
def test_a_crafted_reply_takes_about_as_long_as_a_plain_one(piece: str, plain_reply: float) -> None:
    assert takes_less(replied, of(piece), MOST * plain_reply)


def drilled(text: str) -> None:
    """A passage in which a drill looks for new names of tools, and for people and channels."""
    (chunk, *_) = SNAPSHOT.chunks("key-rotation")
    list(renames_in([replace(chunk, text=text)]))
    MENTION.findall(text)


@pytest.mark.parametrize(
    "piece", ["`a` was ", "a.", "a-", "renamed ", "`a", "a (formerly ", "<@U", "#a-", "U0A", "C0 "]
)
def test_a_crafted_passage_is_drilled_about_as_fast_as_a_plain_one(piece: str) -> None:
    drilled(of(PROSE))
    assert takes_less(drilled, of(piece), MOST * quickest(drilled, of(PROSE)))


@pytest.mark.parametrize("letter", ["a", "1", "[", " ", "é"])
def test_a_long_token_is_looked_at_once(letter: str) -> None:
    usual = quickest(is_code, "key " * 50_000)
    assert takes_less(is_code, letter * 200_000, MOST * max(usual, 0.001))


def runs(count: int, **style: object) -> dict[str, object]:
    """A Google Doc of one paragraph in many runs."""
    run = {"textRun": {"content": "ab ", "textStyle": style}}
    return {"body": {"content": [{"paragraph": {"elements": [run] * count}}]}}


def merged(rows: int, **span: int) -> dict[str, object]:
    """A Google Doc of one table, each cell of which wants to cover the others."""
    text = {"content": [{"paragraph": {"elements": [{"textRun": {"content": "a\n"}}]}}]}
    cell = {**text, "tableCellStyle": span}
    table = {"table": {"tableRows": [{"tableCells": [cell, cell]}] * rows}}
    return {"body": {"content": [table]}}


@pytest.mark.parametrize(
    "response",
    [runs(6_000, bold=True), merged(400, rowSpan=400, columnSpan=2), merged(400, rowSpan=9)],
    ids=["runs of one style", "merges over all", "merges over some"],
)
def test_a_crafted_google_doc_takes_about_as_long_as_a_plain_one(
    response: dict[str, object],
) -> None:
    def act(given: dict[str, object]) -> None:
        with suppress(LoadError):
            through(parse_document(given, id="x"))

    plain = [merged(400), runs(6_000)]
    act(plain[0])
    usual = max(quickest(lambda _, one=one: act(one), "") for one in plain)
    assert takes_less(lambda _: act(response), "", MOST * usual)
