"""Nothing dangerous goes out of what the bot does beside answering either: hostile text as titles,
headings, steps, alerts and words of people, through every message that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from agents.freshness.cited_places import CitedSection
from agents.runbooks.step import RunbookStep, StepPart
from bot.blocks.kit import link, section, short
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.feature import ChecklistRun, DigestPart, StepRun
from bot.features.alerts.episodes import Episode, Tally
from bot.features.alerts.views import with_course
from bot.features.changes.views import ChangeLine, Changes, ChannelCount, changes_message
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
from bot.features.snooze.views import Meanwhile, ended_line, form, waking_message
from bot.features.snooze.views import line as snooze_line
from bot.features.snooze.waking import End, Snooze, Waking
from bot.features.step_counts.views import count, home_blocks, suggestion_text
from bot.features.track_record.record import EntryUse
from bot.features.track_record.views import grade_message, wrong_line
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
    yield from step_counts(text)
    yield from changes(text)
    yield from snoozes(text)
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
    use = EntryUse(
        question_id="C1:1.0", entry="e", domain="security", document="d", name=text, began_at=NOW
    )
    asked = grade_message([use], {"e": {"fixed": 1}})
    yield [said(asked.text), *asked.blocks, section(wrong_line(use, 2, TALK))]
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


def step_counts(text: str) -> Iterator[Any]:
    step = RunbookStep(number="1", level=0, parts=(StepPart(kind="words", text=text),))
    taken = StepRun(
        step=step, act="skipped", minutes=None, copied=True,
        reporters=frozenset(("U0YOU", "U0DANA")),
    )  # fmt: skip
    run = ChecklistRun(
        document="d", place=("", text), name=text, url=URL, driver="", steps=(taken,)
    )
    counted = count([replace(run, driver=who) for who in ("U0YOU", "U0DANA", "U0INES")], [step])
    yield list(home_blocks(domain().model_copy(update={"title": text}), [counted]))
    for trouble in counted.steps[0].troubles:
        yield from drafts(suggestion_text(counted.steps[0], trouble), kind="steps")


def drafts(text: str, kind: str = "answer") -> Iterator[Any]:
    waiting = {
        "key": "k" * 16, "id": "s", "kind": kind, "domain": "security", "document": "d",
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


def changes(text: str) -> Iterator[Any]:
    lines = [
        ChangeLine(at=NOW, label=text, url=TALK, by=text),
        ChangeLine(at=NOW, label=text, url=TALK, by=text, profile=TALK),
        ChangeLine(at=NOW, label=text, url=URL, document="d"),
    ]
    for shown in ([], lines):
        found = Changes(
            since=NOW, until=NOW, alert_at=NOW, names=[text], common=[text], lines=shown,
            channels=[ChannelCount(channel="C0SECURITY", others=1, read_back_to=NOW)],
            not_joined=["C0SECURITY"], closed=1, documents=False,
        )  # fmt: skip
        message = changes_message(found)
        yield [said(message.text), *message.blocks]


def alerts(text: str) -> list[tuple[Episode, Tally]]:
    episode = Episode(
        id="e", kind="k", domain="security", channel="C1", name=text, outcome="found",
        elsewhere="C0SECURITY", question_id="C1:1.0", began_at=NOW, last_at=NOW, resolved_at=None,
    )  # fmt: skip
    tally = Tally(fired=3, last_at=NOW, firing=(text,), over=(text,), resolved_at=None)
    return [(episode, tally), (episode, replace(tally, resolved_at=NOW))]


def snoozes(text: str) -> Iterator[Any]:
    snooze = Snooze(
        id="s", kind="k", name=text, domain="security", channel="C1", question_id="C1:1.0",
        by="U0INES", reason=text, severities=(text,), places=(text,), rate=1.0, since=NOW,
        until=NOW + timedelta(days=2),
    )  # fmt: skip
    ends: tuple[End, ...] = ("place", "severity")
    meanwhile = Meanwhile(fired=3, resolved_at=NOW)
    messages = [
        snooze_line(snooze, link(URL, short(text, 80))),
        *(
            ended_line(snooze, link(URL, short(text, 80)), "", end, meanwhile)
            for end in (*ends, "time", "replaced", "deleted")
        ),
        *(
            waking_message(snooze, Waking(end=end, before=text, after=text), "", meanwhile)
            for end in ends
        ),
    ]
    for message in messages:
        yield [said(message.text), *message.blocks]


def test_slack_takes_the_form_of_a_snooze_with_any_text() -> None:
    for text in (*payloads(), "x" * 4_000, "`" * 90, "&" * 3_000):
        kinds = {f"{number}": text for number in range(12)}
        view = form(kinds, [], {"2026-11-28T09:00:00": text}, "C1:1.0")
        assert problems(view["blocks"], surface="modal") == [], text
    for text in ("x" * 4_000, "&" * 3_000, "`" * 90):
        assert all(problems(blocks[1:]) == [] for blocks in snoozes(text)), text


def contradictions(text: str, address: str = URL) -> Iterator[Any]:
    place = CitedSection(document="d", title=text, path=text, row=(text,))
    pair = Sides(
        id="p", domain="security", about=text, one=place, other=place, one_says=text,
        other_says=text, one_url=address, other_url=address, met=2, found_at=NOW,
    )  # fmt: skip
    yield from contradiction_blocks(domain(), [pair])
