"""What the inbox and the timers of the last release hold is understood, and what is pressed and
said in Slack is stored as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest
from slack_bolt import BoltRequest
from sqlalchemy import create_engine, event

from bot.app import Bot
from bot.bus.events import Event, SlackEvent, TimerDue
from bot.bus.inbox import Inbox
from bot.slack.client import SlackRefused
from tests.contracts.every_table import built_bot
from tests.contracts.pins import check_json, read_json

ITEMS = "inbox-items.json"
"""By the keys of each: one or more that the last release stored."""
SENT = "slack-payloads.json"
"""What Slack sends: events, clicks, forms, shortcuts."""

Item = Mapping[str, Any]


class House:
    """A bot that was never started: what it stores is noted, what it is handed is worked off."""

    def __init__(self) -> None:
        self.stored: dict[str, Item] = {}
        self.statements = 0

    def put(self, _: Inbox, event_id: str, item: Item) -> None:
        self.stored[event_id] = item

    def counted(self, *_: Any) -> None:
        self.statements += 1

    def sent(self, bot: Bot, body: Any) -> Any:
        """What is stored when Slack sends this."""
        self.stored.clear()
        response = bot.app.dispatch(BoltRequest(body=body, mode="socket_mode"))
        assert response.status == 200
        return json.loads(json.dumps(self.stored))

    def worked_off(self, bot: Bot, event_id: str, item: Item) -> int:
        """How often the database was asked; raises what handling raises."""
        before = self.statements
        with suppress(SlackRefused):  # there is no such message in this Slack
            bot.inbox._handler(event_id, dict(item))
        return self.statements - before


@pytest.fixture(scope="module")
def house() -> House:
    return House()


@pytest.fixture(scope="module")
def bot(house: House, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bot]:
    folder = tmp_path_factory.mktemp("inbox")
    engine = create_engine(f"sqlite:///{folder / 'state.sqlite'}")
    event.listen(engine, "before_cursor_execute", house.counted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Inbox, "put", lambda inbox, event_id, item: house.put(inbox, event_id, item))
        with built_bot(folder, engine) as built:
            yield built
    engine.dispose()


def samples() -> list[tuple[str, str, Item]]:
    return [
        (kind, one["id"], one["item"]) for kind, several in read_json(ITEMS).items()
        for one in several
    ]  # fmt: skip


def event_types(of: type[Event] = Event) -> list[type[Event]]:
    """All that the bot defines, once their modules are imported with it."""
    return [each for one in of.__subclasses__() for each in (one, *event_types(one))]


def test_what_slack_sends_is_stored_as_it_was(house: House, bot: Bot) -> None:
    stored = {name: house.sent(bot, body) for name, body in read_json(SENT).items()}
    check_json("stored-when-sent.json", stored)


def test_items_of_the_last_release_are_worked_off(house: House, bot: Bot) -> None:
    """No handler stumbles over one, and it is looked up, not ignored as unknown."""
    looked_up = {
        f"{kind} {event_id}": house.worked_off(bot, event_id, item) > 0
        for kind, event_id, item in samples()
    }
    check_json("inbox-lookups.json", looked_up)


def test_every_kind_of_item_is_sampled() -> None:
    keys = {key for _, _, item in samples() for key in item}
    known = set(read_json("words-in-code.json")["stored item keys"])
    assert known - keys <= {"trace"}, "trace is there only where traces are exported"


def test_every_event_has_a_kind_of_its_own_that_is_sampled(bot: Bot) -> None:
    kinds = [one.kind for one in event_types()]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) <= {key for _, _, item in samples() for key in item}
    handled = {one for feature in bot.features for one in feature.handlers}
    assert set(event_types()) - handled == {SlackEvent, TimerDue}, "the dispatcher's own"


@pytest.mark.parametrize(("event_id", "item"), [one[1:] for one in samples()])
def test_an_event_is_written_back_as_it_was_read(event_id: str, item: Item) -> None:
    (of,) = (one for one in event_types() if one.kind in item)
    again = as_json(of.from_item(item).item())
    assert again.keys() == item.keys(), event_id
    for key, value in item.items():
        assert again[key] == (again[key] | value if isinstance(value, dict) else value)


@pytest.mark.parametrize("of", event_types())
def test_what_a_newer_release_adds_to_an_event_is_ignored(of: type[Event]) -> None:
    item = next(item for _, _, item in samples() if of.kind in item)
    value = item[of.kind]
    newer = {**value, "since_tomorrow": 1} if isinstance(value, dict) else value
    event = of.from_item({**item, of.kind: newer, "newer": {}})
    if of is not SlackEvent:  # Slack's events are stored as they come
        assert event == of.from_item(item)


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value, default=vars))
