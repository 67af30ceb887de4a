"""Nothing dangerous goes out of what the bot does beside answering either: hostile text as titles,
headings, steps, alerts and words of people, through every message that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from agents.freshness.cited_places import CitedSection
from agents.runbooks.step import RunbookStep, StepPart
from bot.blocks.kit import link, section
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.feature import DigestPart
from bot.features.alerts.episodes import Episode, Tally
from bot.features.alerts.views import with_course
from bot.features.checklists.progress import Checklist, Press, Runbook, StepReport, progress_of
from bot.features.checklists.views import checklist_message, summary_messages
from bot.features.digest.views import digest
from bot.features.freshness.contradictions import Sides
from bot.features.freshness.views import contradiction_blocks
from bot.features.gaps import views as gap_lines
from bot.features.gaps.gap import Gap, UnansweredQuestion
from bot.features.gaps.report import report_message
from bot.features.handoff.notifications import call_text
from bot.features.handoff.store import Handoff, HandoffCall
from bot.features.owner_drafts.store import OwnerDraftRow
from bot.features.owner_drafts.views import DraftVisibility, draft_message
from bot.rotas.on_call import OnCall
from index.permissions.words import Words
from playground.slack.rules.block_rules import problems
from tests.bot.fakes import domain, showing_to_all
from tests.bot.hostile_text import in_blocks, payloads

NOW = datetime(2026, 11, 22, 9)
URL = "https://docs.google.com/document/d/KEY/edit#heading=h.age"
TALK = "https://tidewater.slack.example/archives/C1/p1"
ALLOWED = frozenset((URL, TALK))
PEOPLE = frozenset(("@U0YOU", "@U0DANA", "@U0INES", "#C0SECURITY"))


def test_nothing_beside_answers_links_or_pings() -> None:
    for text in payloads():
        for shown in surfaces(text):
            found = in_blocks(shown, ALLOWED, PEOPLE)
            assert [one for one in found if not one.startswith("!date^")] == [], text


def test_slack_takes_two_sides_that_are_all_signs_and_long_addresses() -> None:
    """A field that is too long keeps the whole Home from being shown."""
    for sign in ("&", "<a>", "x.example ", "word "):
        for address in (URL, f"{URL}{'x' * 2_500}"):
            shown = list(contradictions(sign * 900, address))
            assert problems(shown) == []
            assert "…" in str(shown[1]["fields"][0])
            assert not re.search(r"&(?!amp;|lt;|gt;)", str(shown[1]["fields"]))


def said(text: str) -> dict[str, Any]:
    """What a notification shows, as a block."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def surfaces(text: str) -> Iterator[Any]:
    yield from checklists(text)
    yield from drafts(text)
    yield from gaps(text)
    yield with_course([section("said")], alerts(text))
    lines = [link(URL, text), sanitize_mrkdwn(text)]
    parts = [DigestPart(title="Without an answer", lines=lines)] * 2
    titled = domain(escalation={"rota": "rota.yaml"}).model_copy(update={"title": text})
    for on_call in (
        None,
        OnCall(named=True, who="U0DANA", until=NOW.replace(tzinfo=UTC), zone="UTC"),
    ):
        told = digest(titled, parts, on_call, to="C0SECURITY")
        yield [said(told.text), *told.blocks]
    yield list(contradictions(text))
    handoff = Handoff(
        question_id="q", channel="C1", card_ts="1", called="U0DANA", requested_by="U0YOU",
        taken_by="", resolved_by="", resolution="",
    )  # fmt: skip
    call = HandoffCall(question_id="q", step="level-1", who="U0INES", label=text, called_at=NOW)
    yield [section(call_text(call, handoff))]


def checklists(text: str) -> Iterator[Any]:
    parts = (StepPart(kind="words", text=text), StepPart(kind="command", text=text))
    steps = (
        RunbookStep(number="1", level=0, parts=parts, condition=text, lead=text, leads_to=("2",)),
        RunbookStep(number="2", level=0, parts=parts[:1]),
    )
    runbook = Runbook(
        title=text, heading=text[::-1], heading_path=(text,), tab="", url=URL, modified_at=NOW,
        steps=steps,
    )  # fmt: skip
    begun = Checklist(
        id="c", domain="security", channel="C1", thread_ts="1.0", question_id="C1:1.0",
        document="d", runbook=runbook, generation=1, changed="changed", started_by="U0YOU",
        started_at=NOW,
    )  # fmt: skip
    presses = [Press(id="p", step=0, act="done", by="U0DANA", at=NOW)]
    wrong = [StepReport(id="r", step=1, words=text, by="U0INES", at=NOW)]
    for pressed in (
        [],
        presses,
        [*presses, Press(id="q", step=-1, act="finish", by="U0YOU", at=NOW)],
    ):
        standing = progress_of(begun, pressed, wrong)
        message = checklist_message(begun, standing, 0)
        yield [said(message.text), *message.blocks]
    for message in summary_messages(begun, standing, lambda _: text):
        yield message.blocks


def drafts(text: str) -> Iterator[Any]:
    waiting = {
        "key": "k" * 16, "id": "s", "kind": "answer", "domain": "security", "document": "d",
        "title": text, "url": URL, "heading": text, "question": text, "words": text,
        "by": "U0DANA", "question_id": "C1:1.0", "channel": "C1", "permalink": TALK,
        "made_at": NOW, "state": "waiting", "addressee": "U0YOU", "role": "admin",
        "decided_by": "", "decided_at": None, "decided_event": "", "final_heading": "",
        "final_words": "", "final_by": "", "reason": "", "comment": "", "comment_why": "",
    }  # fmt: skip
    decided = {**waiting, "decided_by": "U0INES", "decided_at": NOW}
    accepted = {**decided, "state": "accepted", "final_words": text, "comment": "made"}
    dismissed = {**decided, "state": "dismissed", "reason": text}
    for draft in (OwnerDraftRow(**values) for values in (waiting, accepted, dismissed)):
        for sees in (True, False):
            sight = DraftVisibility(
                words=sees,
                question=text if sees else "",
                place=sees,
                public=sees,
                comments=sees,
                domain=text,
            )
            message = draft_message(draft, sight, reminder=True, last=True)
            yield [said(message.text), *message.blocks]


def gaps(text: str) -> Iterator[Any]:
    asked = UnansweredQuestion(
        question_id="C1:1.0", asker="U0YOU", why="refused", near=0.5, name="", asked_at=NOW,
        words=Words(text=text, own=text, domain="security", place="C1"),
    )  # fmt: skip
    titled = domain().model_copy(update={"title": text})
    for name in ("", text):
        gap = Gap(
            id="g", domain="security", state="open", document="d", heading=text, changed_at=NOW,
            questions=(replace(asked, name=name), asked),
        )  # fmt: skip
        yield list(gap_lines.home_blocks(titled, [gap], showing_to_all(), lambda _: (URL, text)))
        parts = {"New this week": [gap]}
        message = report_message(titled, parts, showing_to_all(), lambda _: (URL, text))
        yield [said(message.text), *message.blocks]


def alerts(text: str) -> list[tuple[Episode, Tally]]:
    episode = Episode(
        id="e", kind="k", domain="security", channel="C1", name=text, outcome="found",
        elsewhere="C0SECURITY", question_id="C1:1.0", began_at=NOW, last_at=NOW, resolved_at=None,
    )  # fmt: skip
    tally = Tally(fired=3, last_at=NOW, firing=(text,), over=(text,), resolved_at=None)
    return [(episode, tally), (episode, replace(tally, resolved_at=NOW))]


def contradictions(text: str, address: str = URL) -> Iterator[Any]:
    place = CitedSection(document="d", title=text, path=text, row=(text,))
    pair = Sides(
        id="p", domain="security", about=text, one=place, other=place, one_says=text,
        other_says=text, one_url=address, other_url=address, met=2, found_at=NOW,
    )  # fmt: skip
    yield from contradiction_blocks(domain(), [pair])
