"""Agent 1: plans the whole retrieval from one message and its thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

from agents.answer import Question
from agents.extractive.conversation import (
    clean_message,
    join_follow_up,
    leans_on,
    plain_reply,
    questions_in,
    self_contained,
    small_talk_reply,
)
from agents.extractive.language import glossary_prompt, other_ways
from agents.plan import Plan
from agents.prompts import render
from agents.state import AgentResult, with_fallback
from agents.thread.turns import in_words, said_at
from config.domain import Domain
from config.models import ChatModel, Usage
from config.prompts import Foreign, listed
from enrichment.language.words import codes, stems, written_out
from enrichment.safety.grounding import adds_little
from enrichment.safety.injection import clean_text
from index.pipelines import Planner, Searches
from index.search import SearchQuery, Snapshot

logger = logging.getLogger(__name__)

_TURNS = 8
_TURN_CHARACTERS = 600
_MOST_PARTS = 4
_MOST_OTHER_WAYS = 8
_MOST_TITLES = 80


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """What the planner sees."""

    question: Question
    snapshot: Snapshot


def query_optimizer(
    domain: Domain, model: ChatModel | None
) -> Callable[[PlanRequest], AgentResult[Plan]]:
    """Small talk is told without asking the model: it needs no plan."""
    plan_question = with_fallback(
        "query_optimizer",
        plan_with_model(domain, model) if model else None,
        plan_without_model(domain),
    )

    def run(asked: PlanRequest) -> AgentResult[Plan]:
        reply = small_talk_reply(clean_message(asked.question.text), domain.title)
        return AgentResult(value=_small_talk(asked, reply)) if reply else plan_question(asked)

    return run


def search_planner(domain: Domain, model: ChatModel | None, snapshot: Snapshot) -> Planner:
    """The same plan, for searching without an answer: all its wordings, whatever its kind, and
    its hypothetical answer, whatever the domain file makes of one."""
    policy = domain.retrieval.model_copy(update={"hyde": True})
    optimize = query_optimizer(domain.model_copy(update={"retrieval": policy}), model)

    def plan(question: str) -> Searches:
        outcome = optimize(PlanRequest(question=Question(text=question), snapshot=snapshot))
        if outcome.note:
            logger.warning(outcome.note)
        made = outcome.value
        wordings = (question, made.question, *made.parts, *made.paraphrases)
        return Searches(
            queries=tuple(dict.fromkeys(wordings)),
            keywords=tuple(made.keywords),
            hypothetical_answer=made.hypothetical_answer,
            model_failed=bool(outcome.fallbacks),
        )

    return plan


def plan_without_model(domain: Domain) -> Callable[[PlanRequest], Plan]:
    """Follow-ups keep the words of the turn they lean on; several questions are told apart; what
    asks nothing of documents is replied to. A model is left to make more of the last."""

    def run(asked: PlanRequest) -> Plan:
        text = clean_message(asked.question.text)
        if reply := plain_reply(text, domain.title):
            return _small_talk(asked, reply)
        previous = leans_on(text, asked.question.history, asked.question.earlier)
        others = [other for _, other in other_ways(domain.glossary, text)][:_MOST_OTHER_WAYS]
        expanded = " ".join([written_out(text), *others])
        return Plan(
            question=join_follow_up(previous, text),
            kind="in_domain",
            sub_questions=questions_in(text),
            paraphrases=[expanded] if expanded != text else [],
            keywords=_distinct([*codes(text), *others]),
            previous=previous,
            reason="planned without a model",
        )

    return run


def plan_with_model(
    domain: Domain, model: ChatModel
) -> Callable[[PlanRequest], tuple[Plan, Usage]]:
    def run(asked: PlanRequest) -> tuple[Plan, Usage]:
        text = clean_message(asked.question.text)
        titles = titles_shown(asked.snapshot, text).values()
        prompt = render(
            "plan",
            title=domain.title,
            today=said_at(asked.question),
            instructions=domain.answer.instructions or "none",
            glossary=glossary_prompt(domain.glossary),
            documents=Foreign(_listing(len(titles), len(asked.snapshot.documents)), listed(titles)),
            history=Foreign("earlier turns", _history(asked.question)),
            question=Foreign("message", text),
        )
        plan, usage = model.structured(prompt, Plan)
        read = " ".join((*titles, _history(asked.question)))
        return _bounded(plan, text, asked.question, domain, read), usage

    return run


def _bounded(plan: Plan, text: str, question: Question, domain: Domain, read: str) -> Plan:
    """The model's plan within our limits; what it left out is filled in.

    Its reply to small talk is shown without a look at the documents, and the planner reads titles
    and what others said in the thread (`read`): it may say little besides the asker's words."""
    reply = plan.small_talk_reply
    if not reply or not adds_little(reply, context=f"{text} {domain.title}", most=8, but=read):
        reply = f"Ask me anything about {domain.title}."
    known = stems(" ".join((text, read, glossary_prompt(domain.glossary))))
    # A name that is only guessed pulls the keyword search away from what is there.
    keywords = [one for one in plan.keywords if stems(one) and stems(one) <= known]
    return plan.model_copy(
        update={
            "question": plan.question.strip() or self_contained(question),
            "sub_questions": _distinct(plan.sub_questions)[:_MOST_PARTS],
            "readings": _distinct(plan.readings)[:_MOST_PARTS],
            "paraphrases": _distinct(plan.paraphrases)[:3],
            "keywords": _distinct([*keywords, *codes(text)])[:12],
            "hypothetical_answer": plan.hypothetical_answer if domain.retrieval.hyde else "",
            "small_talk_reply": reply if plan.kind == "small_talk" else "",
            "previous": "",
        }
    )


def _small_talk(asked: PlanRequest, reply: str) -> Plan:
    return Plan(question=asked.question.text[:200], kind="small_talk", small_talk_reply=reply)


def _history(question: Question) -> str:
    said = [(turn.role, turn.content) for turn in question.history[-_TURNS:]]
    return listed(
        f"{who}: {' '.join(clean_text(words).split())[:_TURN_CHARACTERS]}"
        for who, words in (*said, *in_words(question))
    )


def titles_shown(snapshot: Snapshot, text: str) -> dict[str, str]:
    """Document id → title, of those that a model is told of when it plans: of many, the ones that
    a search for the message finds."""
    documents: Iterable[str] = snapshot.documents
    if len(snapshot.documents) > _MOST_TITLES:
        hits = snapshot.search(SearchQuery(variants=(text,), limit=4 * _MOST_TITLES))
        documents = islice(dict.fromkeys(hit.chunk.document_id for hit in hits), _MOST_TITLES)
    return {card.id: card.title for card in snapshot.cards(documents)}


def _listing(shown: int, there: int) -> str:
    """The label of the list of titles."""
    if shown == there:
        return "documents of this channel"
    return f"documents of this channel, the {shown} of {there} that are most like the message"


def _distinct(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(text.strip() for text in texts if text.strip()))
