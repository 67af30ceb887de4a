"""Where people ask: follow-ups, direct messages, other channels, alerts, edits, options."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from agents.steps import Progress, Step
from bot.posting.live_answer import STATUS_EVERY
from bot.questions.store import decode_answer
from tests.bot.conftest import Desk, answered, eventually, words
from tests.bot.fakes import CHANNEL, answer

FILE = {"id": "F1", "name": "screenshot.png", "mimetype": "image/png"}


def test_the_asker_goes_on_without_a_mention(desk: Desk) -> None:
    ts, _ = desk.ask("how often do we rotate keys?")
    desk.slack.post_as_user(CHANNEL, "and for API keys?", thread_ts=ts)
    desk.slack.wait_for(lambda: len([m for m in desk.said(CHANNEL, ts) if answered(m)]) == 2)
    assert desk.agents.asked[-1].text == "and for API keys?"


def test_it_stays_quiet_when_two_people_talk(desk: Desk) -> None:
    ts, _ = desk.ask("how often do we rotate keys?")
    post = desk.slack.post_as_user
    post(CHANNEL, "<@U0INES> is that still right?", thread_ts=ts)
    post(CHANNEL, "it is, for now. why?", thread_ts=ts, user="U0INES")
    post(CHANNEL, "because of the audit, what do we tell them?", thread_ts=ts)
    desk.settle()
    assert len(desk.said(CHANNEL, ts)) == 1
    desk.ask("what do we tell auditors?", thread_ts=ts)


def test_thanks_are_not_answered(desk: Desk) -> None:
    ts, _ = desk.ask("how often do we rotate keys?")
    desk.slack.post_as_user(CHANNEL, "ok great, thanks! :pray:", thread_ts=ts)
    desk.settle()
    assert len(desk.agents.asked) == 1


def test_a_domain_may_want_mentions_for_follow_ups(desk: Desk) -> None:
    ts, _ = desk.ask("how long do we keep calls?", channel="C0PRIVACY")
    desk.slack.post_as_user("C0PRIVACY", "and in the US?", thread_ts=ts)
    desk.settle()
    assert len(desk.agents.asked) == 1


def test_an_unmentioned_question_is_answered_when_sure(desk: Desk) -> None:
    desk.agents.spoken_of = ("privacy",)
    ts = desk.slack.post_as_user("C0PRIVACY", "how long do we keep recorded calls?")
    desk.slack.wait_for_reply("C0PRIVACY", ts, until=answered)


@pytest.mark.parametrize("speak", [("platform",), ("privacy", "platform"), ()])
def test_an_unmentioned_question_that_is_not_plainly_for_this_channel_is_left_alone(
    desk: Desk, speak: tuple[str, ...]
) -> None:
    desk.agents.spoken_of = speak
    asked = desk.slack.post_as_user("C0PRIVACY", "how long do we keep recorded calls?")
    desk.settle()
    assert not desk.agents.asked
    assert not desk.said("C0PRIVACY", asked)


def test_an_unmentioned_question_is_left_alone_when_not_sure(desk: Desk) -> None:
    desk.agents.spoken_of = ("privacy",)
    desk.agents.reply = answer("Perhaps.", confidence=0.4)
    asked = desk.slack.post_as_user("C0PRIVACY", "does anybody have the slides?")
    remark = desk.slack.post_as_user("C0PRIVACY", "the office closes at four today")
    desk.settle()
    assert len(desk.agents.asked) == 1
    assert not desk.said("C0PRIVACY", asked)
    assert not desk.said("C0PRIVACY", remark)


def test_a_channel_may_have_everything_answered(desk: Desk) -> None:
    desk.agents.reply = answer(
        "I don't know.", path="no_answer_found", citations=(), confidence=0.1
    )
    ts = desk.slack.post_as_user("C0PLATFORM", "Pilot said FROZEN and exited 41")
    desk.slack.wait_for_reply("C0PLATFORM", ts, until=answered)


def test_an_alert_of_a_listed_bot_is_read_from_its_blocks_and_attachments(desk: Desk) -> None:
    ts = desk.slack.post_as_app(
        CHANNEL,
        blocks=[{"type": "header", "text": {"type": "plain_text", "text": "SEC-1207 firing"}}],
        attachments=[{"title": "Key age", "fields": [{"title": "key", "value": "signing-eu"}]}],
    )
    desk.slack.wait_for_reply(CHANNEL, ts, until=answered)
    assert desk.agents.asked[-1].text == "SEC-1207 firing\nKey age\nkey: signing-eu"


def test_other_bots_are_never_answered_even_when_they_mention_it(desk: Desk) -> None:
    ts = desk.slack.post_as_app("C0PLATFORM", f"{desk.at} how are you?")
    desk.settle()
    assert not desk.said("C0PLATFORM", ts)
    assert not desk.agents.asked


def test_a_direct_message_is_answered_from_the_domain_that_knows(desk: Desk) -> None:
    knows = {"privacy": answer("Two years [1].")}
    desk.agents.reply = lambda question: knows.get(
        desk.agents.domains[-1], answer("No.", path="no_answer_found", confidence=0.1)
    )
    channel = direct(desk)
    ts = desk.slack.post_as_user(channel, "how long do we keep recorded calls?")
    reply = desk.slack.wait_for_reply(channel, ts, until=answered)
    assert "Two years" in words(reply)
    desk.settle()
    assert desk.slack.status(channel, ts) == ""


def test_the_pane_suggests_questions_and_gets_a_title(desk: Desk) -> None:
    desk.slack.open_app("messages")
    prompts = desk.slack.wait_for(lambda: desk.slack.workspace.prompts)
    assert "how often do we rotate keys?" in str(prompts)


def test_the_shortcut_asks_about_any_message(desk: Desk) -> None:
    ts = desk.slack.post_as_user("C0SECURITY", "keys are old, who rotates them?", user="U0DANA")
    desk.slack.run_shortcut("ask_copilot", CHANNEL, ts)
    reply = desk.slack.wait_for_reply(CHANNEL, ts, until=answered)
    assert desk.agents.asked[-1].text == "keys are old, who rotates them?"
    record = desk.bot.records.get(desk.answers(reply))
    assert record is not None
    assert record.asker == "U0YOU"


def test_an_edited_question_gets_its_answer_updated(desk: Desk) -> None:
    desk.agents.reply = lambda question: answer(f"About: {question.text}")
    ts, _ = desk.ask("how often do we rotate kyes?")
    desk.slack.edit_message(CHANNEL, ts, f"{desk.at} how often do we rotate keys?")
    updated = desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "keys?" in words(m))
    assert "the question was edited" in words(updated)
    assert len(desk.said(CHANNEL, ts)) == 1


def test_an_edit_while_the_first_answer_is_made_wins(desk: Desk) -> None:
    go = threading.Event()

    def tell(progress: Progress) -> None:
        if len(desk.agents.asked) == 1:
            go.wait(60)
            progress.step(Step.READ, "Reading for the old question…")
            time.sleep(STATUS_EVERY)  # by then it would show, over the new answer

    desk.agents.tell = tell
    desk.agents.reply = lambda question: answer(f"About: {question.text}")
    ts = desk.slack.post_as_user(CHANNEL, f"{desk.at} how often do we rotate kyes?")
    eventually(lambda: desk.agents.asked)
    desk.slack.edit_message(CHANNEL, ts, f"{desk.at} how often do we rotate keys?")
    desk.slack.wait_for_reply(CHANNEL, ts, until=answered)
    go.set()
    desk.settle()
    assert ["keys?" in words(message) for message in desk.said(CHANNEL, ts)] == [True]


def test_a_deleted_question_takes_its_answer_along(desk: Desk) -> None:
    ts, _ = desk.ask("what is the password?")
    desk.slack.delete_message(CHANNEL, ts)
    desk.slack.wait_for(lambda: not desk.said(CHANNEL, ts))


def test_a_question_deleted_while_it_is_thought_about_is_not_answered(desk: Desk) -> None:
    desk.agents.seconds = 0.8
    ts = desk.slack.post_as_user(CHANNEL, f"{desk.at} what is the password?")
    desk.slack.wait_for(lambda: desk.said(CHANNEL, ts))
    desk.slack.delete_message(CHANNEL, ts)
    desk.settle()
    assert not desk.said(CHANNEL, ts)


def test_a_deletion_that_overtakes_its_question_wins(desk: Desk) -> None:
    gone = {
        "type": "message",
        "subtype": "message_deleted",
        "channel": CHANNEL,
        "deleted_ts": "9.1",
    }
    asked = {"type": "app_mention", "channel": CHANNEL, "user": "U0YOU", "text": "x", "ts": "9.1"}
    desk.bot.inbox.put("Ev-gone", {"event": gone, "team": "T1"})
    desk.settle()
    desk.bot.inbox.put("Ev-asked", {"event": asked, "team": "T1"})
    desk.settle()
    assert not desk.agents.asked


def test_pictures_are_said_not_to_be_read_without_a_model_that_sees(desk: Desk) -> None:
    _, reply = desk.ask("what does this mean?", files=[FILE])
    assert "no model that looks at pictures is set up" in words(reply)


def test_a_chosen_option_is_asked_in_the_thread_once(desk: Desk) -> None:
    options = ("how often do signing keys rotate?", "how often do API keys rotate?")
    desk.agents.reply = answer("Which?", path="ambiguous_query", citations=(), options=options)
    ts, reply = desk.ask("how often do keys rotate?")
    desk.agents.reply = answer("Every 30 days [1].")
    for _ in range(2):
        desk.slack.click(CHANNEL, reply["ts"], "clarify_1")
    found = desk.slack.wait_for_reply(CHANNEL, ts, until=lambda m: "30 days" in words(m))
    desk.settle()
    assert options[1] in words(found)
    assert [question.text for question in desk.agents.asked[1:]] == [options[1]]


def test_an_answer_is_on_record_with_plan_and_generation(desk: Desk) -> None:
    ts, _ = desk.ask("how often do we rotate keys?")
    desk.settle()
    record = desk.bot.records.get(f"{CHANNEL}:{ts}")
    assert record is not None
    assert record.answer is not None
    kept = decode_answer(record.answer)
    assert (kept.text, kept.generation) == ("Rotate them every 90 days [1].", 7)


def direct(desk: Desk) -> str:
    im: dict[str, Any] = next(
        {"id": c.id} for c in desk.slack.workspace.channels.values() if c.user == "U0YOU"
    )
    return str(im["id"])
