"""The baseline: plain RAG, as a competent engineer writes it in an afternoon.

Pieces of at most 800 characters with their document's title, vector search, one prompt. The search
query includes the user's previous turn, so that follow-ups find something; the model reads the
whole thread."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np

from agents.answer import CITATION, Answer, AnswerPath, Citation, Question
from agents.answerer.citations import read_citations
from agents.context.sections import section_text
from config.errors import InvalidModelOutput, ModelUnavailable
from config.models import ChatModel, Prompt, Usage, Vectors
from enrichment.chunk import Chunk, Unit
from enrichment.language.words import sentences
from index.search import Snapshot

PIECE, OVERLAP = 800, 100
"""Characters."""
_BORDERS = ("\n\n", "\n", ". ", " ")
"""Separators at which text is cut, best first."""
NO_ANSWER = "NO_ANSWER"
SYSTEM = f"""\
You are an on-call assistant. Answer the colleague's question from the numbered sources below and \
from nothing else. Be correct and brief. Cite the sources you use by number in square brackets, \
like [2]. If the question can be understood in several ways that have different answers, ask which \
one is meant. If the sources do not contain the answer, reply {NO_ANSWER}."""


class PlainRag:
    """Chunks, vectors, one prompt."""

    def __init__(
        self,
        documents: Sequence[tuple[str, str, str]],
        embed: Callable[[Sequence[str]], Vectors],
        *,
        model: ChatModel | None,
        characters: int,
    ) -> None:
        """`documents`: (id, title, Markdown). `characters`: budget of all sources together."""
        self._chunks = [chunk for one in documents for chunk in _chunks(*one)]
        self._vectors = embed([chunk.index_text for chunk in self._chunks])
        self._embed, self._model, self._characters = embed, model, characters

    def ask(self, question: Question) -> Answer:
        context = self.retrieve(question)
        if self._model is None:
            return Answer(text="", path="no_answer_found", confidence=0.0, context=context)
        prompt = Prompt(
            name="plain", version="1", system=SYSTEM, user=_user(question, context),
            max_tokens=2_000,
        )  # fmt: skip
        try:
            pieces = list(self._model.stream(prompt))
        except (ModelUnavailable, InvalidModelOutput):
            return Answer(
                text="", path="no_answer_found", confidence=0.0, context=context,
                degraded=("answer",),
            )  # fmt: skip
        text = "".join(piece for piece in pieces if isinstance(piece, str)).strip()
        usage = next((piece for piece in pieces if isinstance(piece, Usage)), Usage())
        path: AnswerPath = "company_specific_rag_success"
        if NO_ANSWER in text:
            path = "no_answer_found"
            text = text.replace(NO_ANSWER, "").strip() or "The documents don't say."
        text = read_citations(text, [chunk.text for chunk in context])
        valid = range(1, len(context) + 1)
        cited = (int(match[1]) for match in CITATION.finditer(text))
        numbers = list(dict.fromkeys(number for number in cited if number in valid))
        text = CITATION.sub(lambda match: _renumbered(match, numbers), text)
        return Answer(
            text=text,
            path=path,
            confidence=1.0,
            citations=tuple(
                _citation(place, context[number - 1])
                for place, number in enumerate(numbers, start=1)
            ),
            context=context,
            usage=usage,
        )

    def retrieve(self, question: Question) -> tuple[Chunk, ...]:
        """The nearest pieces, best first, that fit the budget."""
        turns = [turn.content for turn in question.history if turn.role == "user"]
        vector = self._embed(["\n".join([*turns[-1:], question.text])])[0]
        room, chunks = self._characters, []
        for place in np.argsort(-(self._vectors @ vector)):
            chunk = self._chunks[place]
            room -= len(chunk.text)
            if room < 0:
                break
            chunks.append(chunk)
        return tuple(chunks)


def documents_in(snapshot: Snapshot) -> Iterator[tuple[str, str, str]]:
    """Yield (id, title, Markdown) of each published document, reassembled from its chunks."""
    for card in snapshot.documents.values():
        chunks = snapshot.chunks(card.id)
        parts: list[str] = []
        for path, group in groupby(chunks, key=lambda chunk: chunk.heading_path):
            if path:
                parts.append(f"{'#' * min(6, len(path) + 1)} {path[-1]}")
            section = list(group)
            parts.append(section_text(section, section))
        yield card.id, card.title, "\n\n".join(parts)


def pieces(text: str) -> Iterator[str]:
    """Split into pieces of at most 800 characters, cut at the best separator in their second half.

    Neighbors overlap by 100 characters."""
    start = 0
    while len(text) - start > PIECE:
        window = text[start : start + PIECE]
        cuts = (window.rfind(border) + len(border) for border in _BORDERS)
        cut = next((each for each in cuts if each > PIECE // 2), PIECE)
        yield window[:cut].strip()
        start += cut - OVERLAP
    if text[start:].strip():
        yield text[start:].strip()


def _chunks(document: str, title: str, markdown: str) -> Iterator[Chunk]:
    for position, text in enumerate(pieces(markdown)):
        yield Chunk(
            id=f"{document}#{position}",
            document_id=document,
            document_title=title,
            kind="text",
            position=position,
            heading_path=(),
            text=text,
            index_text=f"{title}\n{text}",
            tokens=0,
            units=tuple(Unit(kind="sentence", text=one, index_text=one) for one in sentences(text)),
        )


def _user(question: Question, context: Sequence[Chunk]) -> str:
    sources = [f"[{n}] {one.document_title}\n{one.text}" for n, one in enumerate(context, start=1)]
    thread = [f"{turn.role}: {turn.content}" for turn in question.history]
    parts = ["Sources:", *sources]
    if thread:
        parts += ["Thread so far:", *thread]
    return "\n\n".join([*parts, f"Question: {question.text}"])


def _renumbered(match: re.Match[str], numbers: Sequence[int]) -> str:
    """Renumber citations by first mention; unknown ones are removed."""
    number = int(match[1])
    if number not in numbers:
        return ""
    return f"{match[0].partition('[')[0]}[{numbers.index(number) + 1}]"


def _citation(number: int, chunk: Chunk) -> Citation:
    headings = re.findall(r"^#+ (.+)$", chunk.text, re.M)
    return Citation(
        number=number,
        document=chunk.document_id,
        title=chunk.document_title,
        heading=headings[0] if headings else "",
        url="",
        quote=chunk.text,
        chunk_id=chunk.id,
    )
