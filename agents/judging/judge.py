"""The judge: an answer and what is known of its question in, a score with its reasons out.

Three stages: the material (question, what an expert wrote, what the answerer was shown), the
judging by a model, and a verdict whose contradictions are settled here. One answer at a time, so
that none stands before another.

What a judge is shown of one answer, and what it says of it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine

from agents.answer import Turn
from agents.prompts import render
from config.models import ChatModel, Prompt, Usage
from config.prompts import Foreign, listed
from enrichment.llm.reply_cache import ReplyCache, cache_key

HIGHEST = 5
"""Scores go from 0 to this."""
ACCEPTABLE = 4
"""From this score on an answer may stand in the help channel."""
HIGHEST_INCORRECT = 2
"""An answer that misinforms has no more, however much of it helps."""


@dataclass(frozen=True, kw_only=True)
class ShownPassage:
    """A place in the documents, as its reader saw it."""

    title: str
    heading: str
    text: str
    """Markdown."""


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """One answer with all that its judge may know; not which system gave it."""

    id: str
    """Of the question; orders the passages."""
    kind: str
    """Of the golden question: `lookup`, `table`, …"""
    question: str
    history: tuple[Turn, ...] = ()
    reference: str = ""
    """One good answer, by an expert."""
    instructions: str = ""
    """What the expert wants this question's judge to know."""
    rubric: tuple[str, ...] = ()
    """Points that an answer should make, in other words."""
    facts: tuple[str, ...] = ()
    """Points that stand literally in the documents."""
    evidence: tuple[ShownPassage, ...] = ()
    """Where the expert found the answer."""
    passages: tuple[ShownPassage, ...] = ()
    """What the answerer was shown, in its order."""
    answer: str
    """Markdown, the options to choose from included."""
    citations: tuple[ShownPassage, ...] = ()
    """`[n]` of the answer is the n-th; the text is the quote."""


class JudgeVerdict(BaseModel):
    """What a judge says of an answer. The order of its fields is the order in which a model
    writes them: it thinks before it scores."""

    model_config = ConfigDict(frozen=True)

    reasoning: str = Field(description="What the documents say, and how the answer compares")
    missing: list[str] = Field(description="Asked for and left out, few words each")
    unsupported: list[str] = Field(
        description="Sentences of the answer, copied, that nothing holds up"
    )
    incorrect: bool = Field(description="Who acts on it is misinformed")
    feedback: str = Field(description="What would make it a 5; empty for a 5")
    score: int = Field(ge=0, le=HIGHEST)

    @property
    def acceptable(self) -> bool:
        return self.score >= ACCEPTABLE


@dataclass(frozen=True, kw_only=True)
class Correction:
    """A judge's score that a person thought wrong: a worked example for the next answers."""

    question_id: str
    question: str
    answer: str
    judge_score: int
    human_score: int
    human_incorrect: bool | None = None
    """None where the person said nothing of it."""
    note: str = ""
    """Why, in the person's words."""


RULES = Path(__file__).with_name("judging_rules.md")
"""What a score means; people who judge read the same."""
_EXAMPLES = (
    "First come answers to other questions that a judge scored and a person then corrected. Learn "
    "from them what these people let stand; their facts say nothing about this question."
)
_LONGEST_PASSAGES = 48_000
"""Characters of all passages: twice what an answerer is shown at most."""
LONGEST_EXAMPLE = 2_000
"""Characters of its question, and of its answer."""
MOST_VERDICTS = 20_000
"""Kept, those given last: about 40 MB."""

Examples = Callable[[JudgeRequest], Sequence[Correction]]
"""Corrections to learn from for one answer, nearest first; never one of the same question."""


def no_examples(request: JudgeRequest) -> Sequence[Correction]:
    """Of a judge that nobody corrected."""
    return ()


def kept_verdicts(engine: Engine) -> ReplyCache:
    """Of all domains and judges: an unchanged answer is never judged twice."""
    return ReplyCache(engine, table="evaluation_verdicts", most=MOST_VERDICTS)


@dataclass(frozen=True, kw_only=True)
class AnswerJudge:
    """Gives verdicts; no second time on what it has judged before, where they are `kept`."""

    model: ChatModel
    examples: Examples = no_examples
    """See `agents.judging.corrections`."""
    kept: ReplyCache | None = None
    """See `kept_verdicts`."""

    @property
    def name(self) -> str:
        return self.model.name

    def __call__(self, request: JudgeRequest) -> tuple[JudgeVerdict, Usage]:
        """No calls in the usage: it was judged before. Raises ModelUnavailable or
        InvalidModelOutput."""
        prompt = self.prompt(request)
        # Of the model, the prompt's wording, the examples and all that the judge is shown.
        key = cache_key(prompt, self.name)
        known = self.kept.find(key, JudgeVerdict) if self.kept else None
        if known:
            return settled(known, request.answer), Usage()
        verdict, usage = self.model.structured(prompt, JudgeVerdict)
        if self.kept:
            self.kept.save(key, prompt, self.name, verdict)
        return settled(verdict, request.answer), usage

    def prompt(self, request: JudgeRequest) -> Prompt:
        """The whole request to the model."""
        examples = list(self.examples(request))
        return render(
            "score_answer",
            rules=RULES.read_text(encoding="utf-8").strip(),
            examples_explained=_EXAMPLES if examples else "",
            examples=[_example(number, one) for number, one in enumerate(examples, start=1)],
            history=_history(request),
            question=Foreign("question", request.question),
            expert=_by_the_expert(request),
            passages=_passages(request),
            answer=Foreign("answer to judge", request.answer or "(nothing)"),
            citations=[
                Foreign(f"answer cites ({number}) {_place(one)}", one.text)
                for number, one in enumerate(request.citations, start=1)
            ],
        )


def settled(verdict: JudgeVerdict, answer: str) -> JudgeVerdict:
    """Without what contradicts itself: an incorrect answer has at most 2, and a sentence is
    unsupported only if the answer says it. What was changed is said in the reasoning."""
    said = _compared(answer)
    unsupported = [one for one in verdict.unsupported if _compared(one) and _compared(one) in said]
    score, reasoning = verdict.score, verdict.reasoning.strip()
    if verdict.incorrect and score > HIGHEST_INCORRECT:
        reasoning = (
            f"{reasoning} [The judge called it incorrect and gave {score}; an incorrect answer "
            f"has at most {HIGHEST_INCORRECT}.]"
        ).strip()
        score = HIGHEST_INCORRECT
    return verdict.model_copy(
        update={"unsupported": unsupported, "score": score, "reasoning": reasoning}
    )


def _compared(text: str) -> str:
    """Letters and digits, without the numbers of citations: a copy may lose its markup."""
    text = re.sub(r"[\[(]\^?\d{1,3}[\])]", " ", text)
    return " ".join(re.findall(r"\w+", text.casefold()))


def _place(passage: ShownPassage) -> str:
    return " › ".join(dict.fromkeys(filter(None, (passage.title, passage.heading))))


def _history(request: JudgeRequest) -> str | Foreign:
    said = "\n\n".join(f"{turn.role}: {turn.content}" for turn in request.history)
    return Foreign("thread before the question", said) if said else ""


def _by_the_expert(request: JudgeRequest) -> list[Foreign]:
    points = listed([*request.facts, *request.rubric], otherwise="")
    parts = (
        ("kind", request.kind),
        ("reference answer", request.reference),
        ("points", points),
        ("instructions", request.instructions),
    )
    about = [Foreign(f"the expert's {name}", text) for name, text in parts if text]
    return about + [
        Foreign(f"the expert's evidence | {_place(one)}", one.text) for one in request.evidence
    ]


def _passages(request: JudgeRequest) -> list[Foreign]:
    """Shuffled alike for every system and in every run: what is read first weighs more."""
    shown, room = [], _LONGEST_PASSAGES
    for one in request.passages:  # best first, so that the last are left out
        shown.append(Foreign(f"passage | {_place(one)}", one.text[: max(0, room)]))
        room -= len(one.text)
        if room <= 0:
            break
    random.Random(request.id).shuffle(shown)  # noqa: S311 - an order, no secret
    return shown


def _example(number: int, one: Correction) -> Foreign:
    misinforms = {True: ", and misinforms", False: ", and misinforms nobody", None: ""}
    lines = (
        f"Question: {one.question[:LONGEST_EXAMPLE]}",
        f"Answer: {one.answer[:LONGEST_EXAMPLE]}",
        f"A judge's score: {one.judge_score}",
        f"A person's score: {one.human_score}{misinforms[one.human_incorrect]}",
        f"Why: {one.note}" if one.note else "",
    )
    return Foreign(f"corrected example {number}", "\n".join(filter(None, lines)))
