"""Agent 5 with a model: streams an answer from the numbered sources, or says what is missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from agents.answerer.citations import CitationReader, Numbering, unprotected
from agents.answerer.opening import Opening, Verdict
from agents.answerer.reply import SourceConflict, conflicts_between
from agents.context.sources import Source, names_of_equals
from agents.extractive.language import glossary_prompt
from agents.plan import Plan
from agents.prompts import render
from agents.requests import LookupRequest, ToolOffer, requests_in
from agents.tools.calls import describe_offers, explain_tools
from config.domain import Domain
from config.errors import InvalidModelOutput
from config.models import ChatModel, Prompt, Usage, lose
from config.prompts import Foreign, listed
from enrichment.chunk import DocumentCard, standing
from enrichment.language.foreign_words import language_of
from enrichment.safety.grounding import GroundingFilter, GroundingText
from enrichment.safety.injection import with_marks

_MAX_EDITS = 5
"""Documents that may be edited on one day, of up to 50."""
_AGAIN = (
    "You said NOTHING, so all documents were searched once more; what that brought is marked `new`."
    " If it doesn't hold the answer either, NOTHING is final. "
)
_MAX_REPLY_CHARS = 20_000
"""Characters; the rest of a reply that ignores `max_tokens` is dropped."""


@dataclass(frozen=True, kw_only=True)
class AnswerRequest:
    plan: Plan
    message: str
    """As the user wrote it."""
    own_words: str
    """What the answer may repeat without a source: the message, and the plan's question where the
    planner put nothing into it that others wrote."""
    today: str
    sources: Sequence[Source]
    documents: Mapping[str, DocumentCard]
    outline: Sequence[str] = ()
    """Sections of the same documents that are not in the sources, one line per document."""
    lookup_notes: Sequence[str] = ()
    """Its earlier lookups and their outcome."""
    rounds_left: int = 0
    """Of lookups."""
    requested: frozenset[str] = frozenset()
    """Ids of the chunks that lookups brought."""
    searched_again: bool = False
    """Whether these were brought because its first reply was NOTHING."""
    objections: Sequence[str] = ()
    """Its earlier answer and the problems that the check found."""
    offers: Sequence[ToolOffer] = ()


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """The model's reply; `[n]` is `sources[n - 1]`, numbered by first citation."""

    verdict: Verdict
    text: str
    """For every verdict except `look`; '' when no sentence is grounded."""
    sources: tuple[Source, ...]
    usage: Usage
    ungrounded: tuple[str, ...] = ()
    """Sentences without support in any source; never displayed."""
    requests: tuple[LookupRequest, ...] = ()
    """For the verdict `look`."""
    conflicts: tuple[SourceConflict, ...] = ()
    """For the verdict `answer`."""


def answer_from_sources(
    model: ChatModel, domain: Domain, request: AnswerRequest, report: Callable[[str], None]
) -> ModelAnswer:
    """Raises ModelError, also for an empty reply. Only text of the verdict `answer` is reported
    while it streams: other verdicts may still be replaced."""
    instructions, glossary = domain.answer.instructions or "none", glossary_prompt(domain.glossary)
    blocks = label_sources(request.sources, request.documents, request.requested)
    prompt = render(
        "answer",
        title=domain.title,
        today=request.today,
        instructions=instructions,
        glossary=glossary,
        sources=blocks,
        asking=explain_tools(request.offers),
        outline=_outline_and_tools(request),
        looked=_unless_empty("what you looked for, and what it brought", request.lookup_notes),
        objections=_unless_empty("your first answer, and what its check found", request.objections),
        question=_question(request),
        rounds=_rounds(request),
    )
    source_texts = [f"{source.label}\n{source.text}" for source in blocks]
    asker_text = " ".join((request.own_words, domain.title, instructions, glossary))
    rules = prompt.system.replace(instructions, "").replace(glossary, "")
    return _stream(
        model,
        prompt,
        request.sources,
        GroundingFilter(
            GroundingText(
                source_texts,
                question=asker_text,
                prompt=rules,
                language=language_of(f"{request.message} {request.plan.question}"),
            )
        ),
        report,
        may_ask=bool(request.offers),
        source_texts=source_texts,
        other=asker_text,
    )


def label_sources(
    sources: Sequence[Source],
    documents: Mapping[str, DocumentCard],
    requested: Collection[str] = (),
) -> list[Foreign]:
    """Numbered from 1. `requested`: ids of chunks that a lookup brought."""
    names = names_of_equals(documents)

    def place(source: Source) -> str:
        title = source.first.document_title
        name = names.get(source.first.document_id, title)
        return name + source.place.removeprefix(title)

    labels = (
        " | ".join(
            (
                f"source {number}",
                place(source),
                *marks_of(source, documents),
                *["new"] * any(chunk.id in requested for chunk in source.chunks),
            )
        )
        for number, source in enumerate(sources, start=1)
    )
    return [
        Foreign(label, with_marks(one.text)) for label, one in zip(labels, sources, strict=True)
    ]


def answer_generally(
    model: ChatModel, domain: Domain, plan: Plan, report: Callable[[str], None]
) -> ModelAnswer:
    """An answer without sources. Raises ModelError."""
    prompt = render(
        "general",
        title=domain.title,
        instructions=domain.answer.instructions or "none",
        question=Foreign("question", plan.question),
    )
    return _stream(model, prompt, (), GroundingFilter(None), report)


def _question(request: AnswerRequest) -> list[Foreign]:
    """As asked and, where an earlier turn or the planner says more, in full."""
    full = request.plan.question
    if " ".join(request.message.split()) == " ".join(full.split()):
        return [Foreign("question", full)]
    return [Foreign("question as asked", request.message), Foreign("question in full", full)]


def _rounds(request: AnswerRequest) -> str:
    if request.objections:
        return (
            "Write the answer again. What the check found is mended from the sources or left out; "
            "what is right stays."
        )
    before = _AGAIN if request.searched_again else ""
    if request.rounds_left:
        left = request.rounds_left
        return f"{before}You may LOOK {'once' if left == 1 else f'{left} times'}."
    return f"{before}You can't LOOK any further: reply with what the sources hold."


def _outline_and_tools(request: AnswerRequest) -> str | Foreign | Sequence[Foreign]:
    outline = _unless_empty("further sections of these documents", request.outline)
    if not request.offers:
        return outline
    return [*([outline] if isinstance(outline, Foreign) else []), *describe_offers(request.offers)]


def _unless_empty(label: str, lines: Iterable[str]) -> str | Foreign:
    text = listed(lines, otherwise="")
    return Foreign(label, text) if text else ""


def _stream(
    model: ChatModel,
    prompt: Prompt,
    sources: Sequence[Source],
    grounding: GroundingFilter,
    report: Callable[[str], None],
    *,
    may_ask: bool = False,
    source_texts: Sequence[str] = (),
    other: str = "",
) -> ModelAnswer:
    """`other`: what the reply may repeat that is in no source."""
    opening, numbering = Opening(), Numbering(numbered=sources)
    citations = CitationReader(source_texts, other=other)
    usage, raw, text, requests = Usage(), "", "", ""

    def take(read: str, *, is_end: bool = False) -> str:
        """The grounded part of what was read."""
        if opening.verdict == "look":
            return ""
        cited = citations.feed(read) + (citations.close() if is_end else "")
        visible = numbering.apply(grounding.feed(cited) + (grounding.close() if is_end else ""))
        if visible and opening.verdict == "answer":
            report(visible)
        return visible

    for piece in model.stream(prompt):
        if isinstance(piece, Usage):
            usage = piece
            continue
        piece = piece[: _MAX_REPLY_CHARS - len(raw)]
        raw += piece
        requests += (read := opening.feed(piece))
        text += take(read)
    if not raw.strip():
        lose(usage)
        raise InvalidModelOutput(f"the model wrote nothing for {prompt.name!r}")
    requests += (read := opening.close())
    text = (text + take(read, is_end=True)).strip()
    verdict = opening.verdict or "answer"
    cut = usage.cut or len(raw) >= _MAX_REPLY_CHARS
    return ModelAnswer(
        verdict=verdict,
        text=text + (" …" if cut and text else ""),
        sources=tuple(numbering.sources),
        usage=usage,
        ungrounded=tuple(map(unprotected, grounding.ungrounded)),
        requests=requests_in(requests, may_ask=may_ask) if verdict == "look" else (),
        conflicts=conflicts_between(opening.conflicts, sources, source_texts)
        if verdict == "answer"
        else (),
    )


def marks_of(source: Source, documents: Mapping[str, DocumentCard]) -> list[str]:
    """The remarks in a source's label: origin, date and validity."""
    card = documents.get(source.first.document_id)
    marks = ["description of a picture, by a model"] if source.from_picture else []
    if card and card.modified_at and not _is_copy_date(card.modified_at.date(), documents):
        marks.append(f"modified {card.modified_at:%Y-%m-%d}")
    if card and (status := standing(card, documents)):
        marks.append(status)
    return marks


def _is_copy_date(day: date, documents: Mapping[str, DocumentCard]) -> bool:
    """Whether so many documents have it that it is the day of a copy or a move, not of an edit."""
    same = sum(
        o.modified_at is not None and o.modified_at.date() == day for o in documents.values()
    )
    return same > max(_MAX_EDITS, len(documents) // 10)
