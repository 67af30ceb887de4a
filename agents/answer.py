"""What the agents are asked, and what they answer. The bot and the HTTP API know only this."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from agents.plan import Trace
from agents.steps import Progress
from config.models import Usage
from enrichment.chunk import Chunk

AnswerPath = Literal[
    "company_specific_rag_success",
    "company_specific_rag_failure",
    "passages_found",
    "general_llm_knowledge",
    "ambiguous_query",
    "no_answer_found",
    "small_talk",
    "cached",
]

_LEFT_OUT = "\n…\n"
CITED = re.compile(r"\s?\[(\d{1,3})\]")
"""A `[n]` in an answer's text, with the space before it."""
FOUND_NOTHING: frozenset[AnswerPath] = frozenset(("no_answer_found",))
FROM_DOCUMENTS: frozenset[AnswerPath] = frozenset(
    ("company_specific_rag_success", "company_specific_rag_failure", "cached")
)
UNSURE: frozenset[AnswerPath] = frozenset(
    ("no_answer_found", "company_specific_rag_failure", "passages_found")
)
"""What people are offered a human for before anything else."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One earlier message of the thread."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True)
class Cited:
    """A section that an earlier answer cited."""

    document: str
    heading: str


@dataclass(frozen=True, kw_only=True)
class EarlierTurn:
    """What the agents keep of a question, for those that follow it in its thread: no word of the
    answer, only where it came from."""

    id: str
    """Of the asking message: asked again, it is the same turn."""
    asker: str
    """See `Conversation.asker`."""
    asked: str
    """The asker's own words."""
    question: str
    """The same, self-contained."""
    path: str
    documents: tuple[str, ...] = ()
    """See `Answer.drawn_from`."""
    cited: tuple[Cited, ...] = ()
    options: tuple[str, ...] = ()
    """The readings that were offered, in order."""


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """The thread that a question is part of."""

    place: str
    """The same for all its questions and for no other's; who may ask in it may lean on it."""
    message: str
    """The id of this question's own message."""
    asker: str
    """Slack user id, e-mail address or name of a token; what is kept is handed out and erased by
    it."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What somebody asked, with what the agents may know about it."""

    text: str
    history: tuple[Turn, ...] = ()
    """Earlier turns, oldest first."""
    readers: frozenset[str] | None = None
    """See SearchQuery.readers."""
    asked_at: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)
    """UTC."""
    time_zone: str = "UTC"
    """Where the asker is, as IANA names it; see `agents/thread/turns.py`."""
    conversation: Conversation | None = None
    """None: nothing is kept of it."""
    earlier: tuple[EarlierTurn, ...] = ()
    """What is kept of the thread, oldest first; not what was said."""
    by_bot: bool = False
    """Posted by a bot that is there to post alerts."""


LONGEST_QUESTION = 8_000
"""Characters, behind every door. A longer paste keeps its beginning and its end: the question is
at one of them."""
_MOST_TURNS = 30
_LONGEST_HISTORY = 24_000
"""Characters of all turns."""


def bounded(text: str) -> str:
    """Both ends of a text that is longer than a question may be."""
    if len(text) <= LONGEST_QUESTION:
        return text
    half = (LONGEST_QUESTION - len(_LEFT_OUT)) // 2
    return f"{text[:half]}{_LEFT_OUT}{text[-half:]}"


def bounded_history(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Oldest first. The root always stays (an alert, or the first question); of the rest the
    newest."""
    short = [
        replace(turn, content=bounded(turn.content))
        for turn in (*turns[:1], *turns[1:][1 - _MOST_TURNS :])
    ]
    room = _LONGEST_HISTORY - sum(len(turn.content) for turn in short[:1])
    kept: list[Turn] = []
    for turn in reversed(short[1:]):
        room -= len(turn.content)
        if room < 0:
            break
        kept.append(turn)
    return (*short[:1], *reversed(kept))


@dataclass(frozen=True, kw_only=True)
class Citation:
    """A source of the answer; `[number]` in the text points here."""

    number: int
    document: str
    """Empty: what a tool of others said, see `agents/tools/`; the title names it."""
    title: str
    heading: str
    url: str
    quote: str
    """The words that support the answer, verbatim."""
    modified_at: datetime | None = None
    page: int | None = None
    chunk_id: str = ""
    from_picture: bool = False
    """A model described a picture in these words; `url` opens where the picture is."""


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A place where the documents speak of what was asked; no answer by itself."""

    citation: Citation
    """Where it opens; its quote is the most telling sentence or row."""
    text: str
    """Markdown: sentences and list items verbatim, or rows as a table with its header; the words
    that tell are bold, and … stands for what is left out."""


@dataclass(frozen=True, kw_only=True)
class AlternativeDomain:
    """Another domain that may be the one that is meant; see `agents/routing/`."""

    domain: str
    title: str
    generation: int = 0
    passages: tuple[Passage, ...] = ()
    """What its documents say, numbered on from the answer's own; none where it is only named."""


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """Two sources in force that say different things about the same, met while answering."""

    about: str
    """In a few words."""
    one: Citation
    """Its number is that of the answer's `[n]`; 0 where the answer doesn't cite it."""
    other: Citation


@dataclass(frozen=True, kw_only=True)
class Fallback:
    """An agent that took its second way."""

    node: str
    reason: str
    """A kind, of which there are few: `config.errors.ModelFailure`; `held_back`, what the model
    wrote stands in no source; `empty`, it wrote nothing; `kept_looking`, it never answered."""
    outage: bool = True
    """It went on without its model; False: the model was there, and was not followed."""


RefusalReason = Literal["", "nothing_found", "too_little", "not_in_documents"]
"""Why there is no answer: nothing was found, what was found speaks too little of the question, or
a model read it and says that the documents don't say."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The outcome of one question. Always present, also when nothing was found."""

    text: str
    """Markdown with inline `[n]`."""
    path: AnswerPath
    confidence: float
    """0–1."""
    confidence_parts: Mapping[str, float] = field(default_factory=dict)
    citations: tuple[Citation, ...] = ()
    passages: tuple[Passage, ...] = ()
    """Of path `passages_found`: at most three, most telling first. `text` holds them too, each
    with its title and `[n]`, after a line that says why there is no answer: `lead`."""
    lead: str = ""
    context: tuple[Chunk, ...] = ()
    """What the answerer saw, in order."""
    documents: frozenset[str] = frozenset()
    """Ids of every document whose words or title the answer, its options or the question back
    were made from: more than it cites."""
    options: tuple[str, ...] = ()
    """Self-contained questions to choose from, when the question was ambiguous."""
    nearest: tuple[Citation, ...] = ()
    """Where a human would look next, when nothing was found."""
    from_title: str = ""
    """Of the domain that answers, where it was chosen among several."""
    beside: tuple[AlternativeDomain, ...] = ()
    """Of path `passages_found`, a second domain that may be meant as well; of `ambiguous_query`,
    all that the asker is to choose from. `text` names them, and holds their passages."""
    degraded: tuple[str, ...] = ()
    """Agents that fell back to their deterministic version although a model is configured."""
    fallbacks: tuple[Fallback, ...] = ()
    """Each with its reason; beside those of `degraded`, where a model was not followed."""
    refusal: RefusalReason = ""
    """Of path `no_answer_found`."""
    contradictions: tuple[Contradiction, ...] = ()
    """For people to settle: an answer is never changed by them."""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    generation: int = 0
    standalone_question: str = ""
    """The question after the thread was resolved into it."""
    cut: bool = False
    """A model wrote it and came to the limit of its length."""
    of_the_moment: bool = False
    """A tool of others was asked for it, whether it is cited or not."""
    cache_similarity: float | None = None
    """Cosine of the question with the one that was answered before (path `cached`), or else with
    the nearest one that is kept; None where none is, or nothing is kept."""
    trace: Trace | None = field(default=None, repr=False, compare=False)
    """The steps taken; for `--explain`."""

    @property
    def drawn_from(self) -> frozenset[str]:
        """Documents that the reader of any of it has to be allowed to read."""
        named = (one.document for one in (*self.citations, *self.nearest) if one.document)
        return self.documents.union(named)

    @property
    def from_documents(self) -> bool:
        """What it says stands in the documents, and is cited."""
        return self.path in FROM_DOCUMENTS

    @property
    def found_nothing(self) -> bool:
        """The documents don't say."""
        return self.path in FOUND_NOTHING

    @property
    def unsure(self) -> bool:
        """A human may know better."""
        return self.path in UNSURE


def shown_by(answer: Answer) -> dict[str, list[str]]:
    """How → ids of the documents that an answer shows or, beyond those, was drawn from."""
    cited, nearest = (
        [c.document for c in found if c.document] for found in (answer.citations, answer.nearest)
    )
    rest = answer.drawn_from - {*cited, *nearest}
    return {"cited": cited, "nearest": nearest, "drawn_from": sorted(rest)}


def shown_of_each(answer: Answer, domain: str) -> Iterator[tuple[str, int, dict[str, list[str]]]]:
    """(domain, generation, documents as `shown_by` has them) of each domain that it shows;
    `domain`: the one that answers."""
    yield domain, answer.generation, shown_by(answer)
    for one in answer.beside:
        if one.passages:
            documents = [passage.citation.document for passage in one.passages]
            yield one.domain, one.generation, {"cited": documents, "nearest": [], "drawn_from": []}


Ask = Callable[[Question, Progress | None], Answer]
"""The agents of one domain. Raises IndexUnavailable while nothing is published."""
AskWrapper = Callable[[Ask], Ask]
"""Adds one behavior to `Ask`. The factories of wrappers are named `with_…`."""
