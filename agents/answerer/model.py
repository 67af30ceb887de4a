"""Agent 5 with a model: judges the numbered sources and streams an answer from them, or says
what it misses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from re import Match

from agents.answer import CITED
from agents.answerer.reply import Opening, SourceConflict, Verdict, conflicts_between
from agents.context.sources import Source
from agents.extractive.language import glossary_prompt
from agents.plan import Plan
from agents.prompts import render
from agents.requests import LookupRequest, requests_in
from agents.tools.calls import asking_explained, offers_shown
from agents.tools.toolbox import ToolOffer
from config.domain import Domain
from config.errors import InvalidModelOutput
from config.models import ChatModel, Prompt, Usage
from config.prompts import Foreign, listed
from enrichment.chunk import DocumentCard, standing
from enrichment.safety.grounding import GroundingFilter, GroundingText

_LONGEST_REPLY = 20_000
"""Characters; what a model writes beyond that, against its `max_tokens`, is not read."""


@dataclass(frozen=True, kw_only=True)
class ToAnswer:
    """What the answerer gets."""

    plan: Plan
    asked: str
    """The message as it was written."""
    today: str
    sources: Sequence[Source]
    documents: Mapping[str, DocumentCard]
    outline: Sequence[str] = ()
    """Sections of the same documents that are not among the sources, a line each document."""
    looked: Sequence[str] = ()
    """What it asked for before, and what came of it."""
    rounds_left: int = 0
    """How often it may still ask."""
    objections: Sequence[str] = ()
    """Its earlier answer and what was wrong with it."""
    offers: Sequence[ToolOffer] = ()
    """Tools that it may ask."""


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """What the model wrote; `[n]` is `sources[n - 1]`, numbered as first cited."""

    verdict: Verdict
    text: str
    """Of any verdict but `look`; '' when nothing of it may be shown."""
    sources: tuple[Source, ...]
    usage: Usage
    strays: tuple[str, ...] = ()
    """Sentences that stand in no source: shown to nobody."""
    requests: tuple[LookupRequest, ...] = ()
    """Of the verdict `look`."""
    conflicts: tuple[SourceConflict, ...] = ()
    """Of the verdict `answer`."""


def answer_from_sources(
    model: ChatModel, domain: Domain, given: ToAnswer, tell: Callable[[str], None]
) -> ModelAnswer:
    """Raises ModelError, also when nothing at all was written. Only an answer is told as it
    comes: what other verdicts say may yet be thought better of."""
    instructions, glossary = domain.answer.instructions or "none", glossary_prompt(domain.glossary)
    shown = labelled(given.sources, given.documents)
    plan = given.plan
    prompt = render(
        "answer",
        title=domain.title,
        today=given.today,
        instructions=instructions,
        glossary=glossary,
        sources=shown,
        asking=asking_explained(given.offers),
        outline=_outline_and_tools(given),
        looked=_unless_empty("what you looked for, and what it brought", given.looked),
        objections=_unless_empty("your first answer, and what its check found", given.objections),
        asked=Foreign("question as asked", given.asked),
        question=Foreign("question in full", plan.question),
        sub_questions=_unless_empty("parts of the question", plan.sub_questions),
        rounds=_rounds(given),
    )
    read = [f"{source.label}\n{source.text}" for source in shown]
    said = " ".join((given.asked, plan.question, domain.title, instructions, glossary))
    return _streamed(
        model, prompt, given.sources, GroundingFilter(GroundingText(read, question=said)), tell,
        may_ask=bool(given.offers), read=read,
    )  # fmt: skip


def labelled(sources: Sequence[Source], documents: Mapping[str, DocumentCard]) -> list[Foreign]:
    """Sources as a model gets them, numbered from 1."""
    return [
        Foreign(_label(number, source, documents), source.text)
        for number, source in enumerate(sources, start=1)
    ]


def answer_generally(
    model: ChatModel, domain: Domain, plan: Plan, tell: Callable[[str], None]
) -> ModelAnswer:
    """An answer from common knowledge, without sources. Raises ModelError."""
    prompt = render(
        "general",
        title=domain.title,
        instructions=domain.answer.instructions or "none",
        question=Foreign("question", plan.question),
    )
    return _streamed(model, prompt, (), GroundingFilter(None), tell)


def _rounds(given: ToAnswer) -> str:
    if given.objections:
        return (
            "Write the answer again. What the check found is mended from the sources or left out; "
            "what is right stays."
        )
    if given.rounds_left:
        return f"You may LOOK {'once' if given.rounds_left == 1 else f'{given.rounds_left} times'}."
    return "You can't LOOK any further: reply with what the sources hold."


def _outline_and_tools(given: ToAnswer) -> str | Foreign | Sequence[Foreign]:
    outline = _unless_empty("further sections of these documents", given.outline)
    if not given.offers:
        return outline
    return [*([outline] if isinstance(outline, Foreign) else []), *offers_shown(given.offers)]


def _unless_empty(label: str, lines: Iterable[str]) -> str | Foreign:
    said = listed(lines, otherwise="")
    return Foreign(label, said) if said else ""


def _streamed(
    model: ChatModel,
    prompt: Prompt,
    sources: Sequence[Source],
    sieve: GroundingFilter,
    tell: Callable[[str], None],
    *,
    may_ask: bool = False,
    read: Sequence[str] = (),
) -> ModelAnswer:
    numbering = Numbering(shown=sources)
    opening = Opening()
    usage, raw, text = Usage(), "", ""

    def take(piece: str) -> str:
        """What of it may be shown."""
        if opening.verdict == "look" or not piece:
            return ""
        said = numbering.apply(sieve.feed(piece))
        if said and opening.verdict == "answer":
            tell(said)
        return said

    for piece in model.stream(prompt):
        if isinstance(piece, Usage):
            usage = piece
            continue
        piece = piece[: _LONGEST_REPLY - len(raw)]
        raw += piece
        text += take(opening.feed(piece))
    if not raw.strip():
        raise InvalidModelOutput(f"the model wrote nothing for {prompt.name!r}")
    text += take(opening.close())
    verdict = opening.verdict or "answer"
    rest = numbering.apply(sieve.close()) if verdict != "look" else ""
    if rest and verdict == "answer":
        tell(rest)
    text = (text + rest).strip()
    cut = usage.cut or len(raw) >= _LONGEST_REPLY
    return ModelAnswer(
        verdict=verdict,
        text=text + (" …" if cut and text else ""),
        sources=tuple(numbering.sources),
        usage=usage,
        strays=tuple(sieve.ungrounded),
        requests=requests_in(raw, may_ask=may_ask) if verdict == "look" else (),
        conflicts=conflicts_between(opening.conflicts, sources, read)
        if verdict == "answer"
        else (),
    )


@dataclass
class Numbering:
    """Source numbers in the order of their first citation; unknown ones disappear."""

    shown: Sequence[Source]
    sources: list[Source] = field(default_factory=list)

    def apply(self, text: str) -> str:
        return CITED.sub(self._renumbered, text)

    def _renumbered(self, match: Match[str]) -> str:
        number = int(match[1])
        if not 1 <= number <= len(self.shown):
            return ""
        source = self.shown[number - 1]
        if source not in self.sources:
            self.sources.append(source)
        return f"{match[0].partition('[')[0]}[{self.sources.index(source) + 1}]"


def marks_of(source: Source, documents: Mapping[str, DocumentCard]) -> list[str]:
    """What the answerer is told of a source beside its place."""
    card = documents.get(source.first.document_id)
    marks = ["description of a picture, by a model"] if source.from_picture else []
    if card and card.modified_at:
        marks.append(f"modified {card.modified_at:%Y-%m-%d}")
    if card and (status := standing(card, documents)):
        marks.append(status)
    return marks


def _label(number: int, source: Source, documents: Mapping[str, DocumentCard]) -> str:
    return " | ".join((f"source {number}", source.place, *marks_of(source, documents)))
