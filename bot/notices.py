"""What is said to people unasked, in a message to each of them alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import structlog

from bot.message.harmless.harmless_words import mrkdwn
from bot.slack.web import ABOUT_THE_TOKEN, SlackBusy, SlackRefused, SlackUnsure, Web

log = structlog.get_logger()

LONGEST = 3_000
"""Characters; Slack would cut a longer text anywhere."""


def tell_each(web: Web, users: Iterable[str], lines: Sequence[str]) -> bool:
    """One attempt for each; who can't be told is in the log. False: somebody may be told later."""
    text = "\n".join(f"• {mrkdwn(line)}" for line in lines)[:LONGEST]
    done = True
    for user in sorted(set(users)):
        try:
            web.once("chat.postMessage", channel=user, text=text)
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            log.warning("an admin could not be told", user=user, reason=str(error))
            refused = isinstance(error, SlackRefused) and error.code not in ABOUT_THE_TOKEN
            done = done and refused
    return done
