"""Agent 5 with a model: streams an answer from numbered sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agents.plan import Plan
from agents.prompting import fenced, listed, neutral, new_fence, render
from config.domain import Domain
from config.errors import InvalidModelOutput
from config.models import ChatModel, Prompt, Usage
from enrichment.chunk import Chunk, DocumentCard

NO_ANSWER = "NO_ANSWER"
_OPEN_BRACKET = re.compile(r"\s?\[\d{0,3}$")
_CITATION = re.compile(r"\[(\d{1,3})\]")


@dataclass(frozen=True, kw_only=True)
class Written:
    """What the model wrote; `[n]` is `sources[n - 1]`, numbered as first cited."""

    text: str
    """'' when the sources hold no answer."""
    sources: tuple[Chunk, ...]
    usage: Usage


def answer_from_sources(
    model: ChatModel,
    domain: Domain,
    plan: Plan,
    asked: str,
    context: Sequence[Chunk],
    documents: Mapping[str, DocumentCard],
    tell: Callable[[str], None],
) -> Written:
    """Raises ModelError, also when nothing at all was written."""
    fence = new_fence()
    prompt = render(
        "answer",
        title=domain.title,
        instructions=domain.answer.instructions or "none",
        fence=fence,
        sources="\n\n".join(
            fenced(fence, _label(number, chunk, documents), chunk.text)
            for number, chunk in enumerate(context, start=1)
        ),
        asked=neutral(asked, fence),
        question=neutral(plan.question, fence),
        sub_questions=listed(neutral(part, fence) for part in plan.sub_questions),
    )
    return _streamed(model, prompt, context, tell)


def answer_generally(
    model: ChatModel, domain: Domain, plan: Plan, tell: Callable[[str], None]
) -> Written:
    """An answer from common knowledge, without sources. Raises ModelError."""
    fence = new_fence()
    prompt = render(
        "general",
        title=domain.title,
        instructions=domain.answer.instructions or "none",
        fence=fence,
        question=neutral(plan.question, fence),
    )
    return _streamed(model, prompt, (), tell)


def _streamed(
    model: ChatModel, prompt: Prompt, context: Sequence[Chunk], tell: Callable[[str], None]
) -> Written:
    numbering = Numbering(context=context)
    usage = Usage()
    text = ""
    for piece in _held_back(model.stream(prompt)):
        if isinstance(piece, Usage):
            usage = piece
            continue
        shown = numbering.apply(piece)
        text += shown
        tell(shown)
    text = text.strip()
    if not text:
        raise InvalidModelOutput(f"the model wrote nothing for {prompt.name!r}")
    refused = text.strip("*_`. \n").upper().startswith(NO_ANSWER)
    return Written(text="" if refused else text, sources=tuple(numbering.sources), usage=usage)


def _held_back(pieces: Iterator[str | Usage]) -> Iterator[str | Usage]:
    """The same text, but never half a citation; the refusal word is not let through at all."""
    waiting, opened = "", False
    for piece in pieces:
        if isinstance(piece, Usage):
            yield piece
            continue
        waiting += piece
        if not opened and NO_ANSWER.startswith(waiting.lstrip("*_` \n")[: len(NO_ANSWER)]):
            continue
        opened = True
        half = _OPEN_BRACKET.search(waiting)
        ready = waiting[: half.start()] if half else waiting
        waiting = waiting[len(ready) :]
        if ready:
            yield ready
    if waiting:
        yield waiting


@dataclass
class Numbering:
    """Source numbers in the order of their first citation; unknown ones disappear."""

    context: Sequence[Chunk]
    sources: list[Chunk] = field(default_factory=list)

    def apply(self, text: str) -> str:
        return _CITATION.sub(lambda match: self._renumbered(int(match[1])), text)

    def _renumbered(self, number: int) -> str:
        if not 1 <= number <= len(self.context):
            return ""
        chunk = self.context[number - 1]
        if chunk not in self.sources:
            self.sources.append(chunk)
        return f"[{self.sources.index(chunk) + 1}]"


def _label(number: int, chunk: Chunk, documents: Mapping[str, DocumentCard]) -> str:
    card = documents.get(chunk.document_id)
    parts = [f"source {number}", " › ".join((chunk.document_title, *chunk.heading_path))]
    if card and card.modified_at:
        parts.append(f"modified {card.modified_at:%Y-%m-%d}")
    if card and card.superseded_by:
        successor = documents.get(card.superseded_by)
        parts.append(f"superseded by {successor.title if successor else card.superseded_by}")
    elif card and card.status and card.status != "current":
        parts.append(card.status)
    return " | ".join(parts)
