"""Messages of other products and people, and what the reply to each has to say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from bot.slack import events
from bot.slack.events import IncomingMessage
from tests.bot.features.alerts.foreign import BOT_USER, House, houses, plain, problems
from tests.loaders.thoroughly import SHARED

FOLDER = SHARED / "foreign"
KINDS = ("alerts", "slack-messages")


def listed(kind: str) -> list[dict[str, Any]]:
    file = FOLDER / kind / "cases.yaml"
    return yaml.load(file.read_text(), yaml.CSafeLoader)["cases"] if file.is_file() else []


def cases(runs: str) -> list[Any]:
    params = [
        pytest.param(kind, case, id=f"{kind}-{case['name']}")
        for kind in KINDS
        for case in listed(kind)
        if case["runs"] == runs
    ]
    reason = f"no {FOLDER}; set ONCALL_SHARED_DIR"
    return params or [pytest.param("", {}, id=runs, marks=pytest.mark.skip(reason))]


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, House]]:
    kinds = {kind: listed(kind) for kind in KINDS}
    with houses(FOLDER, kinds, tmp_path_factory.mktemp("foreign")) as found:
        yield found


@pytest.mark.parametrize(("kind", "case"), cases("alert"))
def test_an_alert_is_answered_by_its_entry(
    ingested: dict[str, House], kind: str, case: dict[str, Any]
) -> None:
    house = ingested[f"{kind}/{case['documents']}"]
    found = problems(house, FOLDER / kind, case)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("kind", "case"), cases("question"))
def test_a_question_is_answered_as_one(
    ingested: dict[str, House], kind: str, case: dict[str, Any]
) -> None:
    house = ingested[f"{kind}/{case['documents']}"]
    text = (FOLDER / kind / case["input"]).read_text("utf-8")
    for check in case["expect"]:
        if "answer" in check:
            assert plain(check["answer"]) in house.asked(text)
        else:
            assert house.reply_to_words(text).text == ""


@pytest.mark.parametrize(("kind", "case"), cases("event"))
def test_all_words_of_an_event_are_heard(kind: str, case: dict[str, Any]) -> None:
    event = json.loads((FOLDER / kind / case["input"]).read_text("utf-8"))
    message = events.read(event, bot_user=BOT_USER, team="T0")
    assert isinstance(message, IncomingMessage)
    for check in case["expect"]:
        ((how, text),) = check.items()
        assert (plain(text) in plain(message.text)) is (how == "heard")
