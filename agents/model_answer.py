"""Agent 5 with a model: streams an answer from numbered sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from re import Match

from agents.answer import CITED
from agents.context.source import Source
from agents.extractive.glossary import explained
from agents.plan import Plan
from agents.prompts import render
from config.domain import Domain
from config.errors import InvalidModelOutput
from config.models import ChatModel, Prompt, Usage
from config.prompts import Foreign, listed
from enrichment.chunk import DocumentCard
from enrichment.standing import standing
from enrichment.trust.grounding import Grounds
from enrichment.trust.sieve import Sieve

NO_ANSWER = "NO_ANSWER"


@dataclass(frozen=True, kw_only=True)
class Written:
    """What the model wrote; `[n]` is `sources[n - 1]`, numbered as first cited."""

    text: str
    """'' when the sources hold no answer."""
    sources: tuple[Source, ...]
    usage: Usage
    strays: tuple[str, ...] = ()
    """Sentences that stand in no source: shown to nobody."""


def answer_from_sources(
    model: ChatModel,
    domain: Domain,
    plan: Plan,
    asked: str,
    sources: Sequence[Source],
    documents: Mapping[str, DocumentCard],
    tell: Callable[[str], None],
) -> Written:
    """Raises ModelError, also when nothing at all was written."""
    instructions, glossary = domain.answer.instructions or "none", explained(domain.glossary)
    shown = [
        Foreign(_label(number, source, documents), source.text)
        for number, source in enumerate(sources, start=1)
    ]
    prompt = render(
        "answer",
        title=domain.title,
        instructions=instructions,
        glossary=glossary,
        sources=shown,
        asked=Foreign("question as asked", asked),
        question=Foreign("question in full", plan.question),
        sub_questions=Foreign("parts of the question", listed(plan.sub_questions)),
    )
    read = [f"{source.label}\n{source.text}" for source in shown]
    said = " ".join((asked, plan.question, domain.title, instructions, glossary))
    return _streamed(model, prompt, sources, Sieve(Grounds(read, asked=said)), tell)


def answer_generally(
    model: ChatModel, domain: Domain, plan: Plan, tell: Callable[[str], None]
) -> Written:
    """An answer from common knowledge, without sources. Raises ModelError."""
    prompt = render(
        "general",
        title=domain.title,
        instructions=domain.answer.instructions or "none",
        question=Foreign("question", plan.question),
    )
    return _streamed(model, prompt, (), Sieve(None), tell)


def _streamed(
    model: ChatModel,
    prompt: Prompt,
    sources: Sequence[Source],
    sieve: Sieve,
    tell: Callable[[str], None],
) -> Written:
    numbering = Numbering(shown=sources)
    usage, text, waiting, declined = Usage(), "", "", True
    for piece in model.stream(prompt):
        if isinstance(piece, Usage):
            usage = piece
            continue
        waiting += piece
        declined = declined and _may_decline(waiting)
        if not declined:
            text += _told(numbering.apply(sieve.feed(waiting)), tell)
            waiting = ""
    if not declined:
        text += _told(numbering.apply(sieve.close()), tell)
    elif not waiting.strip():
        raise InvalidModelOutput(f"the model wrote nothing for {prompt.name!r}")
    return Written(
        text=text.strip() + (" …" if usage.cut and text.strip() else ""),
        sources=tuple(numbering.sources),
        usage=usage,
        strays=tuple(sieve.strays),
    )


def _may_decline(text: str) -> bool:
    """Whether this is, or may still become, the word of refusal: then nobody is shown it."""
    begun = text.lstrip("*_`# \n")[: len(NO_ANSWER)]
    return NO_ANSWER.startswith(begun.upper())


def _told(text: str, tell: Callable[[str], None]) -> str:
    if text:
        tell(text)
    return text


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


def _label(number: int, source: Source, documents: Mapping[str, DocumentCard]) -> str:
    card = documents.get(source.first.document_id)
    parts = [f"source {number}", source.place]
    if card and card.modified_at:
        parts.append(f"modified {card.modified_at:%Y-%m-%d}")
    if card and (status := standing(card, documents)):
        parts.append(status)
    return " | ".join(parts)
