"""What became of a question on record, and how it is said. Pure."""

from __future__ import annotations

from agents.answer import FOUND_NOTHING, UNSURE
from agents.confidence import in_words
from bot.questions.store import QuestionRecord


def is_question(record: QuestionRecord) -> bool:
    """Something was asked: neither courtesy nor a mention without words."""
    return bool(record.text.strip()) and record.path != "small_talk"


def went_wrong(record: QuestionRecord) -> bool:
    """Nobody was helped: an apology, a refusal, or an answer that is hardly one. Passages may
    have helped: they are counted apart."""
    if record.resolved_by or record.path == "passages_found":
        return False
    if record.state == "failed":
        return True
    return record.state == "posted" and record.path in UNSURE and is_question(record)


def outcome(record: QuestionRecord) -> str:
    """What came of it, in a few words."""
    if record.resolved_by:
        return "resolved"
    if record.state == "failed":
        return f"failed, reference `{record.reference}`"
    if record.state == "limited":
        return "not answered, too many questions"
    if record.state != "posted":
        return "being answered"
    if record.path in FOUND_NOTHING:
        return "no answer found"
    if record.path == "ambiguous_query":
        return "asked back"
    if record.path == "passages_found":
        return "passages shown"
    if not record.path:
        return "not answered, no documents for this channel"
    return f"answered, {in_words(record.confidence)} confidence"
