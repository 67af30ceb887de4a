"""How much one person, channel or domain may ask; said politely, and only to the asker."""

from __future__ import annotations

from datetime import timedelta

from bot.memory.kept_table import now
from bot.memory.record import Record, Records
from bot.message.harmless.harmless_words import mrkdwn
from config.domain import Domain


class Limiter:
    def __init__(self, records: Records) -> None:
        self._records = records

    def refusal(self, question: Record, domain: Domain) -> str:
        """Why `domain` does not answer this question now; empty when it does.

        Of questions that come at once, the first on record are answered."""
        hour_ago, day_ago = now() - timedelta(hours=1), now() - timedelta(days=1)
        limits = domain.limits
        asked = self._records.count(
            hour_ago, before=question, asker=question.asker, domain=domain.domain
        )
        if asked >= limits.questions_per_user_per_hour:
            return (
                f"You have asked {limits.questions_per_user_per_hour} questions in the last hour, "
                "which is as many as I may answer for one person. Please try again a little later."
            )
        in_channel = self._records.count(hour_ago, before=question, channel=question.channel)
        if in_channel >= limits.questions_per_channel_per_hour:
            return (
                "This channel has asked as many questions in the last hour as I may answer. "
                "Please try again a little later."
            )
        if (
            limits.tokens_per_day
            and self._records.tokens(day_ago, domain.domain) >= limits.tokens_per_day
        ):
            return (
                f"{mrkdwn(domain.title)} has used up its daily budget for the language model. "
                "Please ask a human today, or ask me again tomorrow."
            )
        return ""
