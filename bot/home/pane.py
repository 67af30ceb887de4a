"""The agent pane: what it offers before the first question."""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from bot.access.doors import Door
from bot.access.gate import Gate
from bot.home.suggestions import Suggest, of_several, only_examples
from bot.message.blockkit import short
from bot.message.harmless.harmless_words import plain
from bot.slack.event import PaneOpened
from bot.slack.web import SlackBusy, SlackRefused, SlackUnsure, Web
from config.domain import Domain, domain_of

log = structlog.get_logger()

MAX_PROMPTS = 4


def greet(
    web: Web, event: PaneOpened, domains: Iterable[Domain], gate: Gate, suggest: Suggest
) -> None:
    """Suggested questions, of domains that they may ask: that of the channel they came from, else
    one of each."""
    try:
        theirs = gate.open_to(Door.SUGGESTED_PROMPTS, event.user, domains)
        prompts = suggested(theirs, event.context_channel, suggest)
        if not (prompts and event.channel):
            return
        web.once(
            "assistant.threads.setSuggestedPrompts",
            channel_id=event.channel,
            # Of the earlier assistant view alone: an agent's call with it does nothing.
            thread_ts=event.thread_ts or None,
            title="What do you need to know?",
            prompts=prompts,
        )
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        log.info("no suggested prompts", reason=str(error))


def suggested(
    domains: list[Domain], context_channel: str = "", suggest: Suggest = only_examples
) -> list[dict[str, str]]:
    here = domain_of(domains, context_channel)
    questions = of_several(suggest, [here] if here else domains, MAX_PROMPTS)
    return [{"title": plain(short(q, 60)), "message": plain(q)[:300]} for q in questions]
