"""What a button was used for is known after a restart."""

from __future__ import annotations

from pathlib import Path

from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import DOMAINS, Desk, running, words
from tests.bot.fakes import CHANNEL, Agents
from tests.bot.features.handoff.test_used_button import used


def test_after_a_restart_it_still_shows_who_took_it(tmp_path: Path) -> None:
    with SlackStandIn(enforce_rate_limits=False) as slack:
        with running(slack, tmp_path, Agents(), DOMAINS) as bot:
            desk = Desk(slack, bot, Agents())
            ts, reply = desk.ask("who may see the vault?")
            slack.click(CHANNEL, reply["ts"], "ask_human")
            card = slack.wait_for_reply(CHANNEL, ts, until=lambda m: "can you help" in words(m))
            slack.wait_for(lambda: used(desk, ts, reply["ts"]))
        with running(slack, tmp_path, Agents(), DOMAINS) as bot:
            desk = Desk(slack, bot, Agents())
            slack.click(CHANNEL, card["ts"], "handoff_take", "U0INES")
            slack.wait_for(lambda: "<@U0INES> took it" in used(desk, ts, reply["ts"]))
