"""Which questions are suggested, to whom, and what becomes of one that is chosen in App Home."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, insert

from agents.answer import Answer
from bot.feature import PublishedIndex
from bot.features.feedback.store import FeedbackStore
from bot.features.home.store import WellAnsweredStore
from bot.features.home.suggestions import (
    FRESH_SECONDS,
    Suggested,
    Suggestions,
    diverse,
    is_presentable,
)
from bot.questions.store import QuestionStore, encode_answer
from bot.questions.tables import HandoffRow
from config.domain import Domain
from config.errors import ModelUnavailable, NothingPublished
from config.models import Vectors
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import Desk, answered, running, words
from tests.bot.fakes import CHANNEL, Agents, answer, claim, domain
from tests.bot.shelf import Shelf, embed

PUBLIC = frozenset({CHANNEL})
ROTATE = "how often do we rotate keys?"
WIPED = "when is a lost laptop wiped?"
HELP = domain(examples=[{"question": "who may approve an overlap?", "documents": ["KEYS"]}])


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = create_engine("sqlite://")
    QuestionStore(made)
    yield made
    made.dispose()


def cites(document: str, chunk: str = "", **more: Any) -> Answer:
    cited = replace(answer().citations[0], document=document, chunk_id=chunk or f"{document}-0")
    return answer(citations=(cited,), **{"confidence": 0.95, **more})


def ask(
    engine: Engine,
    text: str,
    reply: Answer,
    *,
    channel: str = CHANNEL,
    verdicts: str = "",
    **values: Any,
) -> str:
    """On record, as the bot keeps it. `verdicts`: `+` helpful, `-` not."""
    records, name = QuestionStore(engine), f"{channel}:{abs(hash((text, channel)))}.0"
    claim(
        records,
        question_id=name,
        event_id=name,
        channel=channel,
        thread_ts="1.0",
        asker="U1",
        text=text,
    )
    state = {"domain": "security", "state": "posted", "answer": encode_answer(reply)}
    records.mark(name, **{**state, "path": reply.path, "confidence": reply.confidence, **values})
    for number, verdict in enumerate(verdicts):
        spoken = "helpful" if verdict == "+" else "unhelpful"
        FeedbackStore(engine).give(name, f"U{number}", spoken)
    return name


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def suggestions(
    engine: Engine, shelf: Shelf | None = None, clock: Clock | None = None
) -> Suggestions:
    published = PublishedIndex(snapshot=lambda name: shelf or Shelf(), embed=embed)
    store = WellAnsweredStore(engine)
    return Suggestions(store, published, PUBLIC.__contains__, clock=clock or Clock())


def test_what_was_answered_well_comes_before_what_files_and_documents_ask(engine: Engine) -> None:
    ask(engine, ROTATE, cites("KEYS"))
    ask(engine, WIPED, cites("DESK", confidence=0.5), verdicts="++")
    assert suggestions(engine)(HELP, 4) == [
        WIPED,
        ROTATE,
        "who may approve an overlap?",
        "What is a merchant webhook secret?",
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"channel": "D0YOU"},
        {"channel": "C0PRIVATE"},
        {"verdicts": "+-"},
        {"state": "withdrawn"},
        {"state": "failed"},
        {"domain": "privacy"},
        {"reply": cites("KEYS", confidence=0.7)},
        {"reply": cites("KEYS", path="no_answer_found")},
        {"reply": cites("KEYS", path="passages_found")},
        {"reply": cites("KEYS", chunk="KEYS-gone")},
        {"reply": cites("GONE")},
        {"reply": answer(citations=(), confidence=0.95)},
        {"reply": cites("KEYS", documents=frozenset({"KEYS", "ELSEWHERE"}))},
    ],
)
def test_nothing_else_is_suggested(engine: Engine, change: dict[str, Any]) -> None:
    ask(engine, ROTATE, **({"reply": cites("KEYS")} | change))
    assert ROTATE not in suggestions(engine)(HELP, 12)


def test_what_needed_a_human_is_not_suggested(engine: Engine) -> None:
    name = ask(engine, ROTATE, cites("KEYS"))
    with engine.begin() as connection:
        connection.execute(
            insert(HandoffRow).values(
                question_id=name, channel=CHANNEL, requested_by="U1",
                requested_at=datetime(2026, 11, 1),
            )
        )  # fmt: skip
    assert ROTATE not in suggestions(engine)(HELP, 12)


def test_what_not_everybody_may_read_is_no_source_of_suggestions(engine: Engine) -> None:
    ask(engine, "who buys Harbour Bank?", cites("HIDDEN"))
    assert "who buys Harbour Bank?" in suggestions(engine, Shelf())(HELP, 12)
    assert "who buys Harbour Bank?" not in suggestions(engine, Shelf(everybody=True))(HELP, 12)


@pytest.mark.parametrize(
    "text",
    [
        "how often do I rotate my keys?",
        "when is Priya's laptop wiped?",
        "is <@U0DANA> allowed to rotate keys?",
        "when is the key of dana@example.com overdue?",
        "why does key 1234567 not rotate?",
        "how often do we rotate keys?\nand who approves?",
        "how often do we rotate keys on https://x.example?",
        "keys",
        "rotate keys now and then, says the CISO",
        "how often do we rotate keys? " * 10,
    ],
)
def test_a_question_about_somebody_or_something_single_is_kept_back(text: str) -> None:
    assert not is_presentable(text, Shelf())
    assert is_presentable(ROTATE, Shelf())


def test_no_two_mean_the_same_and_documents_take_turns() -> None:
    found = [
        Suggested(question="how often do we rotate keys", documents=frozenset({"KEYS"})),
        Suggested(question="How often do we rotate keys?", documents=frozenset({"KEYS"})),
        Suggested(question="how often do we ever rotate keys?", documents=frozenset({"KEYS"})),
        Suggested(question="how long is the overlap?", documents=frozenset({"KEYS"})),
        Suggested(question="when is a laptop wiped?", documents=frozenset({"DESK"})),
    ]

    def chosen(most: int) -> list[str]:
        return [one.question for one in diverse(found, embed, most)]

    assert chosen(2) == ["how often do we rotate keys", "when is a laptop wiped?"]
    assert chosen(5) == [*chosen(2), "how long is the overlap?"]

    def away(texts: Any) -> Vectors:
        raise ModelUnavailable("away")

    assert [one.question for one in diverse(found, away, 5)] == chosen(5)
    assert diverse([], embed, 4) == []


def test_an_erased_question_is_gone_at_once(engine: Engine) -> None:
    name = ask(engine, ROTATE, cites("KEYS"))
    suggest = suggestions(engine)
    assert suggest(HELP, 1) == [ROTATE]
    QuestionStore(engine).withdraw(name)
    assert ROTATE not in suggest(HELP, 12)


def test_one_found_unhelpful_later_is_gone_at_once(engine: Engine) -> None:
    name = ask(engine, ROTATE, cites("KEYS"))
    suggest = suggestions(engine)
    assert suggest(HELP, 1) == [ROTATE]
    FeedbackStore(engine).give(name, "U9", "unhelpful")
    assert ROTATE not in suggest(HELP, 12)


def test_they_are_chosen_anew_after_a_publication_an_edit_and_some_time(engine: Engine) -> None:
    shelves, clock = [Shelf(7)], Clock()
    published = PublishedIndex(snapshot=lambda name: shelves[-1], embed=embed)
    suggest = Suggestions(WellAnsweredStore(engine), published, PUBLIC.__contains__, clock=clock)
    assert ROTATE not in suggest(HELP, 12)
    ask(engine, ROTATE, cites("KEYS"))
    assert ROTATE not in suggest(HELP, 12)
    clock.now += FRESH_SECONDS
    assert ROTATE in suggest(HELP, 12)
    shelves.append(Shelf(8, without=["KEYS-0"]))
    assert ROTATE not in suggest(HELP, 12)
    edited = domain(examples=[{"question": "who holds the keys?", "documents": ["KEYS"]}])
    assert "who holds the keys?" in suggest(edited, 12)


def test_without_documents_the_files_own_examples_are_suggested(engine: Engine) -> None:
    def nothing(name: str) -> Any:
        raise NothingPublished(name)

    published = PublishedIndex(snapshot=nothing, embed=embed)
    suggest = Suggestions(WellAnsweredStore(engine), published, PUBLIC.__contains__)
    assert suggest(HELP, 4) == ["who may approve an overlap?"]


# Chosen in App Home


@pytest.fixture
def desk(tmp_path: Any) -> Iterator[Desk]:
    agents = Agents()
    published = PublishedIndex(snapshot=lambda name: Shelf(), embed=embed)
    domains: dict[str, Domain] = {"security": HELP}
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, tmp_path, agents, domains, published=published) as bot,
    ):
        yield Desk(slack, bot, agents)


def home(desk: Desk, user: str = "U0YOU") -> str:
    desk.slack.views.homes.pop(user, None)
    desk.slack.open_app("home", user)
    shown = desk.slack.wait_for(lambda: desk.slack.home(user))
    return json.dumps(shown["blocks"], ensure_ascii=False)


def in_messages(desk: Desk, channel: str = "D0YOU") -> list[dict[str, Any]]:
    return [m for m in desk.slack.messages(channel) if m.get("thread_ts", m["ts"]) == m["ts"]]


def test_a_click_asks_in_direct_messages_and_home_says_where_to_look(desk: Desk) -> None:
    assert "who may approve an overlap?" in home(desk)
    assert "under *Messages*" in home(desk)
    desk.slack.click_in_view("ask_example_0_0")
    root = desk.slack.wait_for(lambda: in_messages(desk))[0]
    assert "who may approve an overlap?" in words(root)
    desk.slack.wait_for_reply("D0YOU", root["ts"], until=answered)
    assert [question.text for question in desk.agents.asked] == ["who may approve an overlap?"]
    shown = json.dumps((desk.slack.home() or {})["blocks"], ensure_ascii=False)
    assert f"archives/D0YOU/p{root['ts'].replace('.', '')}|Open the answer" in shown
    record = desk.bot.records.get(f"D0YOU:{root['ts']}")
    assert record
    assert record.asker == "U0YOU"


def test_a_click_that_is_worked_off_twice_asks_once(desk: Desk) -> None:
    home(desk)
    worker: Any = desk.bot.inbox._handler
    item = {"example": {"user": "U0YOU", "team": "T0TIDEWATER", "domain": "security",
                        "question": ROTATE}}  # fmt: skip
    for _ in range(2):
        worker("example-1", item)
    assert len(in_messages(desk)) == 1
    assert len(desk.agents.asked) == 1


def test_a_post_whose_reply_is_lost_is_made_again(desk: Desk) -> None:
    home(desk)
    desk.slack.faults.add("chat.postMessage", status=500)
    desk.slack.click_in_view("ask_example_0_0")
    root = desk.slack.wait_for(lambda: in_messages(desk))[0]
    desk.slack.wait_for_reply("D0YOU", root["ts"], until=answered)


def test_who_may_not_ask_any_more_gets_no_answer(desk: Desk) -> None:
    home(desk)
    desk.slack.workspace.channels[CHANNEL].members.discard("U0YOU")
    desk.bot.gate.channels._channels_of._entries.clear()  # as if some minutes had passed
    desk.slack.click_in_view("ask_example_0_0")
    desk.settle()
    assert in_messages(desk) == []
    assert not desk.agents.asked
    assert "ask_example" not in json.dumps((desk.slack.home() or {})["blocks"])


@pytest.mark.parametrize("value", ["", "{}", "[]", "x", '{"domain": "gone", "question": "why?"}'])
def test_a_button_of_nonsense_asks_nothing(desk: Desk, value: str) -> None:
    home(desk)
    desk.slack.click_in_view("ask_example_0_0", chosen={"value": value})
    desk.settle()
    assert in_messages(desk) == []


def test_the_pane_is_offered_them_for_the_conversation(desk: Desk) -> None:
    desk.slack.open_app("messages")
    shown = desk.slack.wait_for(lambda: desk.slack.workspace.prompts.get("D0YOU"))
    assert [prompt["message"] for prompt in shown["prompts"]] == [
        "who may approve an overlap?",
        "Who approves a lost laptop's wipe?",
        "What is a merchant webhook secret?",
        "When is a key overdue?",
    ]
