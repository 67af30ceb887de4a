"""The words of a Slack message: what its markup stands for."""

from __future__ import annotations

import pytest

from bot.slack.messages import mentions, plain


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
    ],
)
def test_markup_is_read_as_what_slack_shows(text: str, read: str) -> None:
    assert plain(text, bot_user="U0BOT") == read


def test_users_of_every_kind_are_mentions_and_groups_are_not() -> None:
    assert mentions("<@U0INES> <@W0DANA|dana> <!subteam^S0ONCALL> <#C0SECURITY>") == {
        "U0INES",
        "W0DANA",
    }
