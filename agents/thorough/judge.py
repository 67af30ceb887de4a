"""The retrieval gate: is this enough to answer from?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from agents.extractive.glossary import explained
from agents.fallback import Outcome, with_fallback
from agents.look_requests import requests_in
from agents.plan import Plan
from agents.prompts import render
from agents.thorough.few_lines import few
from agents.thorough.issues import Issue, issues_explained
from agents.thorough.routes import GOOD
from agents.thorough.values import Judgement
from config.domain import Domain
from config.models import ChatModel, Usage
from config.prompts import Foreign, listed

UNJUDGED = Judgement(score=GOOD)
"""What nobody could judge goes on to the answerer, who judges for itself."""


@dataclass(frozen=True, kw_only=True)
class ToJudge:
    """What the judge sees."""

    plan: Plan
    sources: Sequence[Foreign]
    outline: Sequence[str] = ()
    looked: Sequence[str] = ()


class JudgedSources(BaseModel):
    """The reply asked of the model."""

    score: float = Field(ge=0, le=1, description="How far these sources answer the question")
    issues: list[Issue] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list, description="Up to 4 things, few words each")
    requests: list[str] = Field(
        default_factory=list, description="Up to 4 lines: find, open, around"
    )


def retrieval_judge(domain: Domain, model: ChatModel) -> Callable[[ToJudge], Outcome[Judgement]]:
    def by_model(asked: ToJudge) -> tuple[Judgement, Usage]:
        prompt = render(
            "judge",
            title=domain.title,
            issues=issues_explained(),
            glossary=explained(domain.glossary),
            sources=asked.sources,
            outline=Foreign("further sections of these documents", listed(asked.outline)),
            looked=Foreign("looked for already, and what it brought", listed(asked.looked)),
            question=Foreign("question", asked.plan.question),
            sub_questions=Foreign("parts of the question", listed(asked.plan.sub_questions)),
        )
        reply, usage = model.structured(prompt, JudgedSources)
        judgement = Judgement(
            score=reply.score,
            issues=tuple(dict.fromkeys(reply.issues)),
            missing=few(reply.missing),
            requests=requests_in("\n".join(reply.requests)),
        )
        return judgement, usage

    return with_fallback("judge", by_model, lambda _: UNJUDGED)
