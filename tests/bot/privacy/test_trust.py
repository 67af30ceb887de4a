"""Limits, private answers, and settings that are missing or refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import create_engine

from agents.answer import Citation
from agents.steps import Progress, Step
from bot.questions.store import decode_answer, encode_answer
from config.errors import ConfigError
from config.settings import Settings
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, answered, running, settings_for, words
from tests.bot.fakes import CHANNEL, Agents, answer, bot_of, claim, domain

DOMAINS = {
    "security": domain(limits={"questions_per_user_per_hour": 2}),
    "privacy": domain("privacy", "C0PRIVACY", access={"audience": "asker"}),
}

ASKERS = "C0PRIVACY"
HANDBOOK = Citation(number=1, document="handbook", title="Handbook", heading="", url="", quote="")


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents = Agents()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(
            slack,
            tmp_path_factory.mktemp("trust"),
            agents,
            DOMAINS,
            everyone_may_read=lambda name, documents: documents == {"handbook"},
        ) as bot,
    ):
        yield Desk(slack, bot, agents)


def test_too_many_questions_are_refused_politely_and_privately(desk: Desk) -> None:
    for _ in range(2):
        desk.ask("how often?", user="U0DANA")
    ts = desk.slack.post_as_user(CHANNEL, f"{desk.at} once more?", user="U0DANA")
    desk.slack.wait_for(lambda: desk.slack.ephemerals("U0DANA"))
    assert "2 questions in the last hour" in desk.slack.ephemerals("U0DANA")[0]["text"]
    desk.settle()
    assert not desk.said(CHANNEL, ts)
    desk.ask("may I, though?", user="U0INES")


def test_what_not_everyone_may_read_is_answered_privately(desk: Desk) -> None:
    desk.agents.reply = answer("The merger closes in May [1].")
    ts, reply = desk.ask("when does the merger close?", channel="C0PRIVACY")
    assert "privately" in words(reply)
    assert "May" not in words(reply)
    channel = next(c.id for c in desk.slack.workspace.channels.values() if c.user == "U0YOU")
    assert "The merger closes in May" in words(desk.slack.messages(channel)[-1])
    asked = "You asked in <#C0PRIVACY>: when does the merger close?"
    assert asked in words(desk.slack.messages(channel)[-1])
    assert desk.agents.asked[-1].readers == {"sam.rivers@tidewater.example", "tidewater.example"}
    desk.slack.click(channel, desk.slack.messages(channel)[-1]["ts"], "ask_human")
    card = desk.slack.wait_for_reply("C0PRIVACY", ts, until=lambda m: "What I tried" in words(m))
    assert "May" not in words(card)


def test_the_button_of_a_private_answer_shows_who_came(desk: Desk) -> None:
    desk.agents.reply = answer("The merger closes in June [1].")
    ts, _ = desk.ask("when will the merger close?", channel="C0PRIVACY")
    pressed = desk.slack.messages("D0YOU")[-1]["ts"]

    def shown() -> str:
        return words(next(m for m in desk.slack.messages("D0YOU") if m["ts"] == pressed))

    desk.slack.click("D0YOU", pressed, "ask_human")
    desk.slack.wait_for(lambda: "A human was asked" in shown())
    assert "June" in shown()
    card = desk.slack.wait_for_reply("C0PRIVACY", ts, until=lambda m: "What I tried" in words(m))
    desk.slack.click("C0PRIVACY", card["ts"], "handoff_take", "U0YOU")
    desk.slack.wait_for(lambda: "<@U0YOU> took it" in shown())
    assert "ask_human" not in shown()


def test_what_everyone_may_read_is_answered_in_public(desk: Desk) -> None:
    desk.agents.reply = answer("Ask Marek [1].", citations=(HANDBOOK,))
    ts, reply = desk.ask("whom do I ask?", channel="C0PRIVACY")
    assert "Ask Marek" in words(reply)
    assert answered(reply)
    desk.slack.click("C0PRIVACY", reply["ts"], "ask_human")
    card = desk.slack.wait_for_reply("C0PRIVACY", ts, until=lambda m: "What I tried" in words(m))
    assert "Ask Marek" in words(card)


def test_what_is_not_open_to_all_makes_an_answer_private_though_it_is_not_cited(
    desk: Desk,
) -> None:
    read = frozenset({"handbook", "merger"})
    desk.agents.reply = answer("Ask Marek [1].", citations=(HANDBOOK,), documents=read)
    ts, reply = desk.ask("whom do I ask?", channel=ASKERS)
    assert "answered <@U0YOU> privately" in reply["text"]
    private = desk.slack.messages("D0YOU")[-1]
    desk.slack.click("D0YOU", private["ts"], "ask_human")
    card = desk.slack.wait_for_reply(ASKERS, ts, until=lambda m: "What I tried" in words(m))
    assert "Marek" not in words(card)


def test_a_question_back_is_as_private_as_what_it_was_made_from(desk: Desk) -> None:
    options = ("when does the merger close?", "when does the office close?")
    more = {"path": "ambiguous_query", "citations": (), "options": options}
    desk.agents.reply = answer("Which?", documents=frozenset({"merger"}), **more)
    _, reply = desk.ask("when does it close?", channel=ASKERS)
    assert "merger" not in words(reply)
    assert "merger" in words(desk.slack.messages("D0YOU")[-1])
    desk.agents.reply = answer("Which?", documents=frozenset({"handbook"}), **more)
    _, reply = desk.ask("and when does it close?", channel=ASKERS)
    assert "merger" in words(reply)


def test_an_option_is_asked_with_the_rights_of_who_presses_it(desk: Desk) -> None:
    options = ("when does the shop close?", "when does the office close?")
    more = {"path": "ambiguous_query", "citations": (), "options": options}
    desk.agents.reply = answer("Which?", documents=frozenset({"handbook"}), **more)
    _, reply = desk.ask("when does it close?", channel=ASKERS)
    for user in ("U0DANA", "U0INES"):
        desk.slack.click(ASKERS, reply["ts"], "clarify_0", user=user)
        desk.settle()
    readers = [question.readers for question in desk.agents.asked[1:]]
    mails = ["dana.whitlock@tidewater.example", "ines.okafor@tidewater.example"]
    assert readers == [{mail, "tidewater.example"} for mail in mails]


def test_nothing_is_shown_of_an_answer_before_it_is_known_who_may_read_it(desk: Desk) -> None:
    shown: list[str] = []
    desk.slack.workspace.listen(lambda change: shown.append(words(change.message)))

    def tell(progress: Progress) -> None:
        progress.step(Step.READ, "Reading Merger Plan…")
        progress.delta("The merger closes in May.")

    desk.agents.tell = tell
    desk.agents.reply = answer("The merger closes in May [1].")
    desk.ask("when does the merger close, please?", channel=ASKERS)
    desk.settle()
    private = words(desk.slack.messages("D0YOU")[-1])
    assert "closes in May" in private
    assert not [line for line in shown if "Merger Plan" in line]
    assert not [line for line in shown if "in May" in line and line != private]


def test_an_answer_from_before_a_crash_is_made_anew_with_the_rights_of_today(desk: Desk) -> None:
    ts = desk.slack.post_as_user(ASKERS, "aside")
    question = f"{ASKERS}:{ts}"
    claim(
            desk.bot.records,
        question_id=question, event_id="Ev-crashed", channel=ASKERS, thread_ts=ts, asker="U0YOU",
        text="when does the merger close?", domain="privacy",
    )  # fmt: skip
    old = encode_answer(answer("The merger closes in May [1].", documents=frozenset({"merger"})))
    desk.bot.records.mark(question, state="answered", answer=old)
    desk.agents.reply = answer("I found no answer.", path="no_answer_found", citations=())
    event = {
        "type": "app_mention", "channel": ASKERS, "user": "U0YOU", "ts": ts,
        "text": f"{desk.at} when does the merger close?",
    }  # fmt: skip
    desk.bot.inbox.put("Ev-crashed", {"event": event, "team": "T0TIDEWATER"})
    reply = desk.slack.wait_for_reply(ASKERS, ts, until=answered)
    assert "found no answer" in words(reply)
    assert len(desk.agents.asked) == 1


def test_what_an_answer_was_made_from_is_kept_with_it() -> None:
    made = answer(documents=frozenset({"handbook", "merger"}))
    assert decode_answer(encode_answer(made)).drawn_from == {
        "handbook",
        "merger",
        "key-rotation-standard",
    }


def test_a_follow_up_does_not_carry_a_private_answer_into_the_thread(desk: Desk) -> None:
    desk.agents.reply = answer("The merger closes in May [1].")
    ts, _ = desk.ask("when is the merger closed?", channel=ASKERS)
    desk.agents.reply = answer("Ask Marek [1].", citations=(HANDBOOK,))
    desk.ask("and whom do I ask?", channel=ASKERS, thread_ts=ts, user="U0DANA")
    assert "in May" not in repr(desk.agents.asked[-1].history)


def built_of(settings: Settings) -> None:
    bot_of(settings, Agents(), create_engine("sqlite://"), {})


def test_missing_tokens_are_all_named_with_where_to_get_them(
    slack: SlackStandIn, tmp_path: Path
) -> None:
    settings = settings_for(slack, tmp_path).model_copy(
        update={"slack_bot_token": None, "slack_app_token": None}
    )
    with pytest.raises(ConfigError) as missing:
        built_of(settings)
    assert "SLACK_BOT_TOKEN" in str(missing.value)
    assert "SLACK_APP_TOKEN" in str(missing.value)
    assert "OAuth & Permissions" in str(missing.value)


def test_a_refused_token_is_named_and_never_shown(slack: SlackStandIn, tmp_path: Path) -> None:
    settings = settings_for(slack, tmp_path).model_copy(
        update={"slack_bot_token": SecretStr("xoxb-wrong-secret")}
    )
    with pytest.raises(ConfigError) as refused:
        built_of(settings)
    assert "SLACK_BOT_TOKEN: invalid_auth" in str(refused.value)
    assert "wrong-secret" not in str(refused.value)
