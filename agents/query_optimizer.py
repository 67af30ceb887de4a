"""Agent 1: plans the retrieval from one message and its thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
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
from agents.plan import FullPlan, Plan, reply_type
from agents.prompts import render
from agents.state import AgentResult, with_fallback
from agents.thread.turns import question_time, thread_lines
from config.domain import Domain
from config.models import ChatModel, Usage
from config.prompts import Foreign, listed
from enrichment.language.words import codes, stems, written_out
from enrichment.safety.grounding import adds_little
from enrichment.safety.injection import redacted
from index.pipelines import Planner, Searches
from index.search import SearchQuery, Snapshot

logger = logging.getLogger(__name__)

_TURNS = 8
_TURN_CHARACTERS = 600
_MAX_PARTS = 4
_MAX_OTHER_WAYS = 8
_MAX_TITLES = 30
"""Enough to know the documents' words: the search is not limited to them."""
_SUMMARY_CHARS = 80


def query_optimizer(
    domain: Domain, model: ChatModel | None
) -> Callable[[Question, Snapshot], AgentResult[Plan]]:
    """Recognizes small talk without the model."""
    plan_question = with_fallback(
        "query_optimizer",
        plan_with_model(domain, model) if model else None,
        plan_without_model(domain),
    )

    def run(question: Question, snapshot: Snapshot) -> AgentResult[Plan]:
        if reply := small_talk_reply(clean_message(question.text), domain.title):
            return AgentResult(value=_small_talk(question, reply))
        return plan_question(question, snapshot)

    return run


def search_planner(domain: Domain, model: ChatModel | None, snapshot: Snapshot) -> Planner:
    """The plan for a search without an answer: all wordings, for every kind of question, and the
    hypothetical answer even where the domain file turns it off."""
    policy = domain.retrieval.model_copy(update={"hyde": True})
    optimize = query_optimizer(domain.model_copy(update={"retrieval": policy}), model)

    def plan(question: str) -> Searches:
        outcome = optimize(Question(text=question), snapshot)
        if outcome.note:
            logger.warning(outcome.note)
        result = outcome.value
        wordings = (question, result.question, *result.parts, *result.paraphrases)
        return Searches(
            queries=tuple(dict.fromkeys(wordings)),
            keywords=tuple(result.keywords),
            hypothetical_answer=result.hypothetical_answer,
            model_failed=bool(outcome.fallbacks),
            usage=outcome.usage,
        )

    return plan


def plan_without_model(domain: Domain) -> Callable[[Question, Snapshot], Plan]:
    """Follow-ups keep the words of the turn they refer to, and several questions are separated.
    Small talk gets a reply."""

    def run(question: Question, _: Snapshot) -> Plan:
        text = clean_message(question.text)
        if reply := plain_reply(text, domain.title):
            return _small_talk(question, reply)
        previous = leans_on(text, question.history, question.earlier)
        others = [other for _, other in other_ways(domain.glossary, text)][:_MAX_OTHER_WAYS]
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
) -> Callable[[Question, Snapshot], tuple[Plan, Usage]]:
    reply = reply_type(domain.retrieval)
    more = f"\n{render('plan_more').system}" if reply is FullPlan else ""

    def run(question: Question, snapshot: Snapshot) -> tuple[Plan, Usage]:
        text = clean_message(question.text)
        titles = _title_lines(snapshot, planner_titles(snapshot, question))
        label, total = "documents of this channel", len(snapshot.documents)
        if len(titles) != total:
            label += f", the {len(titles)} of {total} that are most like the message"
        prompt = render(
            "plan",
            title=domain.title,
            today=question_time(question),
            instructions=domain.answer.instructions or "none",
            glossary=glossary_prompt(domain.glossary),
            more=more,
            documents=Foreign(label, listed(titles)),
            history=Foreign("earlier turns", _history(question)),
            question=Foreign("message", text),
        )
        plan, usage = model.structured(prompt, reply)
        planner_text = " ".join((*titles, _history(question)))
        return _within_limits(plan, text, question, domain, planner_text), usage

    return run


def _within_limits(
    plan: Plan, text: str, question: Question, domain: Domain, planner_text: str
) -> Plan:
    """The model's plan within limits, missing parts filled in.

    A reply to small talk is displayed unchecked, and the planner reads titles and other people's
    messages (`planner_text`): so the reply may add little to the user's own words."""
    reply, own_words = plan.small_talk_reply, f"{text} {domain.title}"
    if not reply or not adds_little(reply, context=own_words, most=8, but=planner_text):
        reply = f"Ask me anything about {domain.title}."
    known_stems = stems(" ".join((text, planner_text, glossary_prompt(domain.glossary))))
    # A guessed name pulls the keyword search away from the right passages.
    keywords = [one for one in plan.keywords if stems(one) and stems(one) <= known_stems]
    return Plan(**dict(plan)).model_copy(
        update={
            "question": plan.question.strip() or self_contained(question),
            "sub_questions": _distinct(plan.sub_questions)[:_MAX_PARTS],
            "readings": _distinct(plan.readings)[:_MAX_PARTS],
            "paraphrases": _distinct(plan.paraphrases)[:3],
            "keywords": _distinct([*keywords, *codes(text)])[:12],
            "hypothetical_answer": plan.hypothetical_answer if domain.retrieval.hyde else "",
            "small_talk_reply": reply if plan.kind == "small_talk" else "",
            "previous": "",
        }
    )


def _small_talk(question: Question, reply: str) -> Plan:
    return Plan(question=question.text[:200], kind="small_talk", small_talk_reply=reply)


def _history(question: Question) -> str:
    turns = [(turn.role, turn.content) for turn in question.history[-_TURNS:]]
    return listed(
        f"{who}: {' '.join(redacted(words).split())[:_TURN_CHARACTERS]}"
        for who, words in (*turns, *thread_lines(question))
    )


def planner_titles(snapshot: Snapshot, question: Question) -> dict[str, str]:
    """Document id → title, of the documents that the planner reads about. When there are many, a
    search for the message, with the turn that it leans on, selects them."""
    documents: Iterable[str] = snapshot.documents
    if len(snapshot.documents) > _MAX_TITLES:
        text = clean_message(question.text)
        previous = leans_on(text, question.history, question.earlier)
        query = SearchQuery(variants=(join_follow_up(previous, text),), limit=6 * _MAX_TITLES)
        hits = snapshot.search(query)
        documents = islice(dict.fromkeys(hit.chunk.document_id for hit in hits), _MAX_TITLES)
    return {card.id: card.title for card in snapshot.cards(documents)}


def _title_lines(snapshot: Snapshot, documents: Iterable[str]) -> list[str]:
    """Titles, with the summaries that a model wrote."""
    return [
        f"{card.title}: {card.summary[:_SUMMARY_CHARS]}"
        if card.summary and card.enriched_by != "extractive"
        else card.title
        for card in snapshot.cards(documents)
    ]


def _distinct(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(text.strip() for text in texts if text.strip()))
