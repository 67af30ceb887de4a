"""A short name for a gap, where there is a model. It is made of one question and kept with it: it
goes when that goes, and is shown to nobody who may not read it."""

from __future__ import annotations

import structlog
from pydantic import BaseModel, Field

from bot.gaps.gap_list import gaps_of
from bot.gaps.kept_gaps import KeptGaps
from bot.gaps.prompts import render
from config.errors import ModelError
from config.models import ChatModel
from config.prompts import Foreign

log = structlog.get_logger()

LONGEST_NAME = 80
MOST_NAMED = 10
"""Calls for one look: a name is no hurry."""
_LONGEST_QUESTION = 600


class GapName(BaseModel):
    """The reply asked of the model."""

    name: str = Field(description="Three to eight words")


def name_gaps(kept: KeptGaps, model: ChatModel, domain: str) -> None:
    """Those that were asked more than once, by the question that leads them. What fails is tried
    by the next look."""
    leaders = (gap.questions[0] for gap in gaps_of(kept, domain) if gap.times > 1)
    unnamed = [one for one in leaders if one.text and not one.name]
    for one in unnamed[:MOST_NAMED]:
        asked = Foreign("question", one.text[:_LONGEST_QUESTION])
        try:
            reply, _ = model.structured(render("gap_name", question=asked), GapName)
        except ModelError as error:
            log.info("a gap goes by its question", reason=error.kind)
            return
        if name := " ".join(reply.name.split())[:LONGEST_NAME]:
            kept.name(one.question_id, name)
