"""The judge: scores one answer with reasons, by a model.

The prompt contains the question, the expert's material and the answerer's passages. The code then
resolves contradictions within the verdict. Answers are judged one at a time, so that none comes
before another."""

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
"""The lowest score of an answer fit for the help channel."""
HIGHEST_INCORRECT = 2
"""The highest score of an answer that misinforms."""


@dataclass(frozen=True, kw_only=True)
class JudgePassage:
    """A place in the documents, as the reader saw it."""

    title: str
    heading: str
    text: str
    """Markdown."""
    document: str = ""
    """Its id."""


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """One answer with the judge's material, but not the system that gave it."""

    id: str
    """Of the question; orders the passages."""
    kind: str
    """Of the golden question: `lookup`, `table`, …"""
    question: str
    history: tuple[Turn, ...] = ()
    reference: str = ""
    """One good answer, by an expert."""
    instructions: str = ""
    """The expert's notes for the judge."""
    rubric: tuple[str, ...] = ()
    """Points that an answer should make, in any words."""
    facts: tuple[str, ...] = ()
    """Points that the documents contain literally."""
    evidence: tuple[JudgePassage, ...] = ()
    """Where the expert found the answer."""
    passages: tuple[JudgePassage, ...] = ()
    """The answerer's context, in order."""
    answer: str
    """Markdown, with the options to choose from."""
    citations: tuple[JudgePassage, ...] = ()
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
    """A judge's score with a person's score: an example for the next answers."""

    question_id: str
    question: str
    answer: str
    judge_score: int
    human_score: int
    human_incorrect: bool | None = None
    """None: the person did not say."""
    note: str = ""
    """Why, in the person's words."""


RULES = Path(__file__).with_name("judging_rules.md")
"""The meaning of scores, for the model and for people who judge."""
_EXAMPLES = (
    "First come answers to other questions that a judge scored and a person then corrected. Learn "
    "from them what these people let stand; their facts say nothing about this question."
)
_MAX_PASSAGES_CHARS = 48_000
"""Characters of all passages: twice the largest context."""
MAX_EXAMPLE_CHARS = 2_000
"""Of the question, and of the answer."""
MAX_VERDICTS = 20_000
"""The newest: about 40 MB."""

Examples = Callable[[JudgeRequest], Sequence[Correction]]
"""Corrections to learn from for one answer, nearest first; never one of the same question."""


def no_examples(request: JudgeRequest) -> Sequence[Correction]:
    """No corrections: for a judge without any."""
    return ()


def verdict_cache(engine: Engine) -> ReplyCache:
    """Cache for all domains and judges: an unchanged answer is never judged twice."""
    return ReplyCache(engine, table="evaluation_verdicts", most=MAX_VERDICTS)


@dataclass(frozen=True, kw_only=True)
class AnswerJudge:
    """With `verdicts`, an unchanged answer is not judged again."""

    model: ChatModel
    examples: Examples = no_examples
    """See `agents.judging.corrections`."""
    verdicts: ReplyCache | None = None
    """See `verdict_cache`."""

    @property
    def name(self) -> str:
        return self.model.name

    def __call__(self, request: JudgeRequest) -> tuple[JudgeVerdict, Usage]:
        """A usage without calls means a cached verdict. Raises ModelUnavailable or
        InvalidModelOutput."""
        prompt = self.prompt(request)
        # Covers the model, the prompt's wording, the examples and the material.
        key = cache_key(prompt, self.name)
        cached = self.verdicts.find(key, JudgeVerdict) if self.verdicts else None
        if cached:
            return settle(cached, request.answer), Usage()
        verdict, usage = self.model.structured(prompt, JudgeVerdict)
        if self.verdicts:
            places = (*request.evidence, *request.passages, *request.citations)
            verdicts = self.verdicts.drawn_from(one.document for one in places if one.document)
            verdicts.save(key, prompt, self.name, verdict)
        return settle(verdict, request.answer), usage

    def prompt(self, request: JudgeRequest) -> Prompt:
        examples = list(self.examples(request))
        return render(
            "score_answer",
            rules=RULES.read_text(encoding="utf-8").strip(),
            examples_explained=_EXAMPLES if examples else "",
            examples=[_example(number, one) for number, one in enumerate(examples, start=1)],
            history=_history(request),
            question=Foreign("question", request.question),
            expert=_expert_parts(request),
            passages=_passages(request),
            answer=Foreign("answer to judge", request.answer or "(nothing)"),
            citations=[
                Foreign(f"answer cites ({number}) {_place(one)}", one.text)
                for number, one in enumerate(request.citations, start=1)
            ],
        )


def settle(verdict: JudgeVerdict, answer: str) -> JudgeVerdict:
    """Resolves contradictions: an incorrect answer has at most 2, and only sentences of the answer
    are unsupported. The reasoning names the changes."""
    answer_words = _normalize(answer)
    unsupported = [
        one for one in verdict.unsupported if _normalize(one) and _normalize(one) in answer_words
    ]
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


def _normalize(text: str) -> str:
    """Letters and digits without citation numbers: a copy may lose its markup."""
    text = re.sub(r"[\[(]\^?\d{1,3}[\])]", " ", text)
    return " ".join(re.findall(r"\w+", text.casefold()))


def _place(passage: JudgePassage) -> str:
    return " › ".join(dict.fromkeys(filter(None, (passage.title, passage.heading))))


def _history(request: JudgeRequest) -> str | Foreign:
    text = "\n\n".join(f"{turn.role}: {turn.content}" for turn in request.history)
    return Foreign("thread before the question", text) if text else ""


def _expert_parts(request: JudgeRequest) -> list[Foreign]:
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
    """Shuffled, the same for every system and run: the first passages weigh more."""
    blocks, room = [], _MAX_PASSAGES_CHARS
    for one in request.passages:  # best first, so that the last are left out
        blocks.append(Foreign(f"passage | {_place(one)}", one.text[: max(0, room)]))
        room -= len(one.text)
        if room <= 0:
            break
    random.Random(request.id).shuffle(blocks)  # noqa: S311 - an order, no secret
    return blocks


def _example(number: int, one: Correction) -> Foreign:
    misinforms = {True: ", and misinforms", False: ", and misinforms nobody", None: ""}
    lines = (
        f"Question: {one.question[:MAX_EXAMPLE_CHARS]}",
        f"Answer: {one.answer[:MAX_EXAMPLE_CHARS]}",
        f"A judge's score: {one.judge_score}",
        f"A person's score: {one.human_score}{misinforms[one.human_incorrect]}",
        f"Why: {one.note}" if one.note else "",
    )
    return Foreign(f"corrected example {number}", "\n".join(filter(None, lines)))
