"""The words of a Slack message: what its markup stands for."""

from __future__ import annotations

from typing import Any

import pytest

from bot.slack.messages import all_words_of, mentions, plain


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("see <#C0SECURITY|security>", "see #security"),
        ("see <#G0AB12CD|private>", "see #private"),
        ("see <#G0AB12CD>", "see #G0AB12CD"),
        ("ask <@U0INES>", "ask @U0INES"),
        ("ask <@W0INES00|ines>", "ask @ines"),
        ("ask <!subteam^S0ONCALL|@oncall>", "ask @oncall"),
        ("<@U0BOT> how?", "how?"),
        ("<https://www.x.example|www.x.example>", "https://www.x.example"),
        (
            "Host: <https://mon.example/?host=db-1|db-1>",
            "Host: db-1 (https://mon.example/?host=db-1)",
        ),
    ],
)
def test_markup_is_read_as_what_slack_shows(text: str, read: str) -> None:
    assert plain(text, bot_user="U0BOT") == read


def test_users_of_every_kind_are_mentions_and_groups_are_not() -> None:
    assert mentions("<@U0INES> <@W0DANA|dana> <!subteam^S0ONCALL> <#C0SECURITY>") == {
        "U0INES",
        "W0DANA",
    }


def section(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}, **more}


def button(text: str) -> dict[str, Any]:
    label = {"type": "plain_text", "text": text}
    return {"type": "button", "text": label, "url": "https://wiki.example/cart"}


FIELDS = [{"type": "mrkdwn", "text": text} for text in ("*Service:*\ncart", "*Note*:\na\nb", "x")]


@pytest.mark.parametrize(
    ("message", "read"),
    [
        ({"blocks": [{"type": "section", "fields": FIELDS}]}, "Service: cart\nNote: a\nb\nx"),
        ({"attachments": [{"title": "T", "fields": [{"title": "*Host:*", "value": "db-1"}]}]},
         "T\nHost: db-1"),
        ({"text": "CartErrors: on *cart*", "attachments": [{"text": "CartErrors: on `cart`"}]},
         "CartErrors: on *cart*"),
        ({"text": "HighErrorRate", "attachments": [{"text": "High"}]}, "HighErrorRate\nHigh"),
        ({"attachments": [{"fallback": "[no text]", "fields": [{"title": "a", "value": "b"}]}]},
         "a: b"),
        ({"attachments": [{"fallback": "CartErrors fires"}]}, "CartErrors fires"),
        ({"attachments": [{"title": "T", "title_link": "https://x.example", "footer": "Sun 9"}]},
         "T\nFrom: Sun 9\nLink: https://x.example"),
        ({"attachments": [{"title": "T", "author_name": "Zabbix", "footer": "db-1"}]},
         "T\nFrom: Zabbix"),
        ({"attachments": [{"from_url": "https://x.example", "title": "T", "footer": "Wiki"}]}, "T"),
        ({"blocks": [section("a", accessory=button("Open Runbook"))]},
         "a\nRunbook: https://wiki.example/cart"),
        ({"text": "a",
          "blocks": [{"type": "actions", "elements": [button("Mute"), button("Run book")]}]},
         "a\nRunbook: https://wiki.example/cart"),
        ({"attachments": [{"text": "a", "actions": [{**button(""), "text": "Playbook"}]}]},
         "a\nRunbook: https://wiki.example/cart"),
        ({"text": "why?", "attachments": [{"is_share": True, "fallback": "[no preview]",
          "author_name": "Ines",
          "message_blocks": [{"message": {"blocks": [section("it jams")]}}]}]},
         "why?\nit jams"),
        ({"attachments": [{"is_share": True, "message_blocks": [
            section("one"), {"message": {"text": "two", "attachments": [{"title": "three"}]}}]}]},
         "one\ntwo\nthree"),
        ({"attachments": [{"text": "it _jams_", "message_blocks": [section("it jams, again")]}]},
         "it _jams_"),
        ({"blocks": [{"type": "video", "title": {"type": "plain_text", "text": "How"}}]}, "How"),
    ],
)  # fmt: skip
def test_all_that_slack_shows_of_a_message_is_read_once(message: dict[str, Any], read: str) -> None:
    assert all_words_of(message) == read
