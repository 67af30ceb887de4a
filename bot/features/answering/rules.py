"""Which messages are questions to the bot, and how many a person, channel or domain may ask."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any, Literal

from bot.access.gate import is_by_alert_bot
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.questions.store import QuestionRecord, QuestionStore
from bot.slack.events import IncomingMessage
from bot.slack.messages import earlier, is_own, is_question
from config.domain import Domain
from durable.database import now
from enrichment.language.phrases import is_courtesy


def refusal(records: QuestionStore, question: QuestionRecord, domain: Domain) -> str:
    """The reason for the asker why `domain` does not answer this question now; empty when it does.

    Of simultaneous questions, those stored first are answered."""
    hour_ago, day_ago = now() - timedelta(hours=1), now() - timedelta(days=1)
    limits, name = domain.limits, domain.domain
    by_asker = records.count(hour_ago, before=question, asker=question.asker, domain=name)
    if by_asker >= limits.questions_per_user_per_hour:
        return (
            f"You have asked {limits.questions_per_user_per_hour} questions in the last hour, "
            "which is as many as I may answer for one person. Please try again a little later."
        )
    in_channel = records.count(hour_ago, before=question, channel=question.channel)
    if in_channel >= limits.questions_per_channel_per_hour:
        return (
            "This channel has asked as many questions in the last hour as I may answer. "
            "Please try again a little later."
        )
    if limits.tokens_per_day and records.tokens(day_ago, name) >= limits.tokens_per_day:
        return (
            f"{sanitize_mrkdwn(domain.title)} has used up its daily budget for the language model. "
            "Please ask a human today, or ask me again tomorrow."
        )
    return ""


Decision = Literal["answer", "answer_if_confident", "ignore"]


def decide(
    event: IncomingMessage,
    domain: Domain,
    *,
    thread: Sequence[Any] = (),
    askers: Collection[str] = (),
    bot_user: str = "",
) -> Decision:
    """`thread`: the messages so far; `askers`: who asked the bot in it before."""
    if event.bot:
        return _to_alert(event, domain)
    if event.mentioned:
        return "answer"
    if not event.text.strip():
        return "ignore"
    if event.starts_thread:
        return _to_unmentioned(event, domain)
    if domain.answer.follow_ups == "thread" and _continues(event, thread, askers, bot_user):
        return "answer"
    return "ignore"


def _to_alert(event: IncomingMessage, domain: Domain) -> Decision:
    """Only alert bots of the domain file: others might answer back forever."""
    if not is_by_alert_bot(event, domain):
        return "ignore"
    if event.mentioned or domain.answer.when == "always":
        return "answer"
    return "answer_if_confident" if event.starts_thread else "ignore"


def _to_unmentioned(event: IncomingMessage, domain: Domain) -> Decision:
    if domain.answer.when == "always":
        return "ignore" if is_courtesy(event.text) else "answer"
    if domain.answer.when == "question" and is_question(event.text) and not event.others_mentioned:
        return "answer_if_confident"
    return "ignore"


def _continues(
    event: IncomingMessage, thread: Sequence[Any], askers: Collection[str], bot_user: str
) -> bool:
    """The asker continues with the bot, and no one else has written since."""
    if event.others_mentioned or event.user not in askers or is_courtesy(event.text):
        return False
    since_bot: set[str] = set()
    bot_spoke = False
    for message in thread:
        if not earlier(message, event.ts):
            continue
        if is_own(message, bot_user):
            bot_spoke, since_bot = True, set()
        else:
            since_bot.add(str(message.get("user") or message.get("bot_id") or ""))
    return bot_spoke and since_bot <= {event.user}
