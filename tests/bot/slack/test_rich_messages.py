"""What a person's message says where its words are in blocks, forwarded, or edited."""

from __future__ import annotations

from typing import Any

import pytest

from bot.slack.events import IncomingMessage, read
from bot.slack.messages import all_words_of, plain


def section(*elements: dict[str, Any], kind: str = "rich_text_section") -> dict[str, Any]:
    return {"type": kind, "elements": list(elements)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def rich(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": list(parts)}


@pytest.mark.parametrize(
    ("element", "heard"),
    [
        ({"type": "usergroup", "usergroup_id": "S0ONCALL"}, "ask @S0ONCALL"),
        ({"type": "broadcast", "range": "here"}, "ask @here"),
        ({"type": "user", "user_id": "U0INES"}, "ask @U0INES"),
        ({"type": "channel", "channel_id": "C0HELP"}, "ask #C0HELP"),
        ({"type": "emoji", "name": "wave", "unicode": "1f44b"}, "ask :wave:"),
        ({"type": "date", "timestamp": 1764060000, "fallback": "at nine"}, "ask at nine"),
        ({"type": "color", "value": "#ff0000"}, "ask #ff0000"),
        ({"type": "link", "url": "https://x.example/a"}, "ask https://x.example/a"),
        (
            {"type": "link", "url": "https://x.example/a", "text": "us"},
            "ask us (https://x.example/a)",
        ),
    ],
)
def test_every_element_of_rich_text_is_heard(element: dict[str, Any], heard: str) -> None:
    message = {"text": "", "blocks": [rich(section(text("ask "), element))]}
    assert plain(all_words_of(message)) == heard


def test_lists_quotes_and_code_are_heard_in_order() -> None:
    nested = section(section(text("stop")), section(text("start")), kind="rich_text_list")
    quote = section(text("gate closed"), kind="rich_text_quote")
    code = section(text("exit 7\nexit 8"), kind="rich_text_preformatted")
    message = {"text": "", "blocks": [rich(section(text("how")), nested, quote, code)]}
    assert all_words_of(message) == "how\nstop\nstart\ngate closed\nexit 7\nexit 8"


def test_a_table_is_heard_by_its_rows() -> None:
    rows = [
        [{"type": "raw_text", "text": "host"}, {"type": "raw_text", "text": "load"}],
        [rich(section(text("n7"))), {"type": "raw_number", "text": "0.9"}],
    ]
    message = {"text": "", "attachments": [{"blocks": [{"type": "table", "rows": rows}]}]}
    assert all_words_of(message) == "host | load\nn7 | 0.9"


@pytest.mark.parametrize(
    "placeholder", ["[no preview available]", "This content can't be displayed.", "[no preview]"]
)
def test_what_slack_writes_in_place_of_blocks_is_not_heard(placeholder: str) -> None:
    blocks = [rich(section(text("vaultctl is stuck")))]
    forward = {"text": placeholder, "message_blocks": [{"message": {"blocks": blocks}}]}
    assert all_words_of({"text": placeholder, "blocks": blocks}) == "vaultctl is stuck"
    assert all_words_of({"attachments": [forward]}) == "vaultctl is stuck"
    assert all_words_of({"attachments": [{"fallback": placeholder, "text": ""}]}) == ""


def event(**fields: Any) -> IncomingMessage:
    sent = {"type": "message", "channel": "C0HELP", "user": "U0INES", "ts": "1.0", **fields}
    message = read(sent, bot_user="U0BOT", team="T0")
    assert isinstance(message, IncomingMessage)
    return message


def test_whom_a_forwarded_message_mentions_is_not_asked() -> None:
    forward = {"is_share": True, "text": "<@U0BOT> <@U0DANA> is it down?"}
    message = event(text="seen this?", attachments=[forward])
    assert "is it down?" in message.text
    assert (message.mentioned, message.others_mentioned) == (False, False)
    message = event(text="", blocks=[rich(section({"type": "user", "user_id": "U0BOT"}))])
    assert message.mentioned


def test_a_forwarded_file_is_one_of_the_message() -> None:
    picture = {"id": "F0TRACE", "name": "trace.png", "mimetype": "image/png", "size": 9}
    own = {"id": "F0NOTE", "title": "note"}
    message = event(text="why?", files=[own], attachments=[{"is_share": True, "files": [picture]}])
    assert message.files == ("note", "trace.png")
    assert [(file.id, file.is_picture) for file in message.attached] == [
        ("F0NOTE", False), ("F0TRACE", True),
    ]  # fmt: skip


def test_an_edit_is_heard_where_the_words_are_in_blocks_alone() -> None:
    def said(words: str) -> dict[str, Any]:
        return {"user": "U0INES", "ts": "1.0", "text": "", "blocks": [rich(section(text(words)))]}

    change = {"type": "message", "subtype": "message_changed", "channel": "C0HELP"}
    edit = {**said("how do I start?"), "edited": {"user": "U0INES", "ts": "2.0"}}
    message = read({**change, "message": edit, "previous_message": said("how do I stop?")},
                   bot_user="U0BOT", team="T0")  # fmt: skip
    assert isinstance(message, IncomingMessage)
    assert (message.text, message.edited) == ("how do I start?", True)
    same = {**change, "message": edit, "previous_message": said("how do I start?")}
    assert read(same, bot_user="U0BOT", team="T0") is None
