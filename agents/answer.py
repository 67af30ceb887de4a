"""Questions and answers: all that the bot and the HTTP API know of the agents."""

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
    "company_specific_rag_success", "company_specific_rag_failure", "passages_found",
    "general_llm_knowledge", "ambiguous_query", "no_answer_found", "small_talk", "cached",
]  # fmt: skip

_LEFT_OUT = "\n…\n"
CITATION = re.compile(r"(?:\s|(?<!\w))\[(\d{1,3})\]")
"""A `[n]` in an answer's text, with the space before it. `args[1]` is none."""
FOUND_NOTHING: frozenset[AnswerPath] = frozenset(("no_answer_found",))
FROM_DOCUMENTS: frozenset[AnswerPath] = frozenset(
    ("company_specific_rag_success", "company_specific_rag_failure", "cached")
)
UNSURE: frozenset[AnswerPath] = frozenset(
    ("no_answer_found", "company_specific_rag_failure", "passages_found")
)
"""Paths whose answers offer a human first."""


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
    """A question as stored for follow-ups: with the answer's sources, not its text."""

    id: str
    """Id of the message; asked again, it is the same turn."""
    asker: str
    """See `Conversation.asker`."""
    asked: str
    """The user's own words."""
    question: str
    """The same, self-contained."""
    path: str
    documents: tuple[str, ...] = ()
    """See `Answer.drawn_from`."""
    cited: tuple[Cited, ...] = ()
    options: tuple[str, ...] = ()
    """The readings that the answer offered, in order."""
    restated_from: tuple[str, ...] | None = None
    """Of `question`; see `Answer.restated_from`."""


@dataclass(frozen=True, kw_only=True)
class Conversation:
    place: str
    """Identifies the thread. Anyone who may ask in it may refer to its earlier turns."""
    message: str
    """The id of this question's own message."""
    asker: str
    """Slack user id, e-mail address or name of a token: the key for exports and erasure."""


@dataclass(frozen=True, kw_only=True)
class Question:
    text: str
    history: tuple[Turn, ...] = ()
    """Earlier turns, oldest first."""
    readers: frozenset[str] | None = None
    """See SearchQuery.readers."""
    asked_at: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)
    """UTC."""
    time_zone: str = "UTC"
    """IANA zone of the user; see `agents/thread/turns.py`."""
    conversation: Conversation | None = None
    """None: nothing is stored."""
    earlier: tuple[EarlierTurn, ...] = ()
    """Stored turns of the thread, oldest first."""
    by_bot: bool = False
    """Posted by an alerting bot."""
    quotes: bool = False
    """No model may be called for it: a budget is spent."""

    @property
    def stands_alone(self) -> bool:
        """Nothing was said before it: the agents have its own words only."""
        return not (self.history or self.earlier)


MAX_QUESTION_CHARS = 8_000
"""Limit for every entry point. A longer text is cut in the middle: its ends hold the question."""
_MAX_TURNS = 30
_MAX_HISTORY_CHARS = 24_000


def shorten(text: str) -> str:
    """Both ends of a text above MAX_QUESTION_CHARS."""
    if len(text) <= MAX_QUESTION_CHARS:
        return text
    half = (MAX_QUESTION_CHARS - len(_LEFT_OUT)) // 2
    return f"{text[:half]}{_LEFT_OUT}{text[-half:]}"


def shorten_history(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Oldest first. Keeps the root (an alert, or the first question) and the newest turns."""
    short = [
        replace(turn, content=shorten(turn.content))
        for turn in (*turns[:1], *turns[1:][1 - _MAX_TURNS :])
    ]
    room = _MAX_HISTORY_CHARS - sum(len(turn.content) for turn in short[:1])
    recent: list[Turn] = []
    for turn in reversed(short[1:]):
        room -= len(turn.content)
        if room < 0:
            break
        recent.append(turn)
    return (*short[:1], *reversed(recent))


@dataclass(frozen=True, kw_only=True)
class Citation:
    """A source of the answer: `[number]` in its text."""

    number: int
    document: str
    """Empty for the result of a third-party tool, see `agents/tools/`; the title names the tool."""
    title: str
    heading: str
    url: str
    quote: str
    """The supporting words, verbatim."""
    modified_at: datetime | None = None
    page: int | None = None
    chunk_id: str = ""
    from_picture: bool = False
    """The quote is a model's description of a picture; `url` opens the picture's place."""


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A place in the documents that mentions the question's subject; no answer by itself."""

    citation: Citation
    """Its quote is the best matching sentence or row."""
    text: str
    """Markdown: sentences and list items verbatim, or table rows with their header. Matching words
    are bold, `…` stands for omitted text."""


@dataclass(frozen=True, kw_only=True)
class AlternativeDomain:
    """Another domain that may be the one that is meant; see `agents/routing/`."""

    domain: str
    title: str
    generation: int = 0
    passages: tuple[Passage, ...] = ()
    """From its documents, numbered on from the answer's citations; none when it is only named."""


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """Two sources in force that disagree, noticed while answering."""

    about: str
    """In a few words."""
    one: Citation
    """Its number is the answer's `[n]`; 0 when the answer does not cite it."""
    other: Citation


@dataclass(frozen=True, kw_only=True)
class Fallback:
    """An agent that did not follow its model."""

    node: str
    reason: str
    """One of few kinds: `config.errors.ModelFailure`; `held_back` (no sentence is grounded);
    `empty` (an empty reply); `kept_looking` (no answer after all lookups)."""
    outage: bool = True
    """The model failed; False: its reply was rejected."""


Budget = Literal["domain", "person"]
"""Whose tokens or dollars of a day; see `limits` in the domain file."""
BUDGET_NOTICES: Mapping[Budget, str] = {
    "domain": "The daily budget for the language model is used up: the documents were searched and "
    "quoted without it.",
    "person": "Your daily budget for the language model is used up: the documents were searched "
    "and quoted without it.",
}


def unread_notice(what: str, since: datetime) -> str:
    """`what` was drawn from a source that can't be read. `since`: UTC."""
    return (
        f"A source of {what} can't be read since {since:%Y-%m-%d %H:%M} UTC: its documents may "
        "have changed since, or be withdrawn."
    )


RefusalReason = Literal["", "nothing_found", "too_little", "not_in_documents"]
"""Why there is no answer: no passages, passages with too little on the question, or a model that
read them and found no answer."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The outcome of one question, also when the documents don't answer it."""

    text: str
    """Markdown with inline `[n]`."""
    path: AnswerPath
    confidence: float
    """0–1."""
    confidence_parts: Mapping[str, float] = field(default_factory=dict)
    citations: tuple[Citation, ...] = ()
    passages: tuple[Passage, ...] = ()
    """For the path `passages_found`: best first. `text` contains them too, each with
    title and `[n]`, below the `lead`, which says why there is no answer."""
    lead: str = ""
    context: tuple[Chunk, ...] = ()
    """The answerer's passages, in order."""
    documents: frozenset[str] = frozenset()
    """Ids of all documents whose text or title went into answer or options, cited or not."""
    options: tuple[str, ...] = ()
    """Self-contained questions to choose from when the question is ambiguous."""
    nearest: tuple[Citation, ...] = ()
    """The nearest places, for a refusal."""
    from_title: str = ""
    """Title of the answering domain, when it was chosen among several."""
    beside: tuple[AlternativeDomain, ...] = ()
    """For the path `passages_found` a second likely domain, for `ambiguous_query` all domains to
    choose from. `text` names them and contains their passages."""
    degraded: tuple[str, ...] = ()
    """Agents that used their deterministic version although a model is configured."""
    fallbacks: tuple[Fallback, ...] = ()
    """With reasons; includes rejected replies, which `degraded` does not."""
    refusal: RefusalReason = ""
    """For the path `no_answer_found`."""
    contradictions: tuple[Contradiction, ...] = ()
    """Contradictions for people to settle; the answer does not depend on them."""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    generation: int = 0
    standalone_question: str = ""
    """The question with the thread resolved into it."""
    query_kind: str = ""
    """See `Plan.query_kind`; `general` or `small_talk` where no document was searched; empty where
    nothing was planned."""
    strategy: str = ""
    """Of the last planned search: `semantic`, `keyword` or `hybrid`; empty without one."""
    searches: int = 0
    """Planned searches and rounds of lookups. Of a cached answer: when it was made, as `drafts`."""
    drafts: int = 0
    """Times that the answerer was asked."""
    cut: bool = False
    """The model reached its length limit."""
    of_the_moment: bool = False
    """A third-party tool was called for it, cited or not."""
    cache_similarity: float | None = None
    """Cosine with the question of the cached answer (path `cached`), else with the nearest cached
    question; None without any."""
    trace: Trace | None = field(default=None, repr=False, compare=False)
    """For `--explain`."""
    restated_from: frozenset[str] | None = None
    """Documents whose title or text may occur in `standalone_question`; empty: all its naming words
    are people's. None: unknown, as in answers of older releases."""
    spent: Budget | None = None
    """The budget that kept the model from answering; `degraded` then names the answerer."""

    unread_since: datetime | None = None
    """UTC. Since then a source of `documents` can't be read; None: all sources can."""
    original_path: AnswerPath | None = None
    """Path of the answer that is given again (path `cached`)."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What every reader has to know of how it was made, one sentence each."""
        notices = []
        if self.spent:
            notices.append(BUDGET_NOTICES[self.spent])
        if self.unread_since:
            notices.append(unread_notice("this answer", self.unread_since))
        return tuple(notices)

    @property
    def drawn_from(self) -> frozenset[str]:
        """Documents that a reader of the answer must be allowed to read."""
        documents = (one.document for one in (*self.citations, *self.nearest) if one.document)
        return self.documents.union(documents)

    @property
    def from_documents(self) -> bool:
        """Its statements are cited from documents."""
        return self.path in FROM_DOCUMENTS

    @property
    def found_nothing(self) -> bool:
        """The documents don't say."""
        return self.path in FOUND_NOTHING

    @property
    def unsure(self) -> bool:
        """Whether to offer a human first."""
        return self.path in UNSURE


def document_uses(answer: Answer) -> dict[str, list[str]]:
    """How a document is used → ids of the documents."""
    cited, nearest = (
        [c.document for c in group if c.document] for group in (answer.citations, answer.nearest)
    )
    rest = answer.drawn_from - {*cited, *nearest}
    return {"cited": cited, "nearest": nearest, "drawn_from": sorted(rest)}


def document_uses_by_domain(
    answer: Answer, domain: str
) -> Iterator[tuple[str, int, dict[str, list[str]]]]:
    """(domain, generation, `document_uses`) of each domain in the answer. `domain`: the answering
    one."""
    yield domain, answer.generation, document_uses(answer)
    for one in answer.beside:
        if one.passages:
            documents = [passage.citation.document for passage in one.passages]
            yield one.domain, one.generation, {"cited": documents, "nearest": [], "drawn_from": []}


Ask = Callable[[Question, Progress | None], Answer]
"""The agents of one domain. Raises IndexUnavailable while nothing is published."""
AskWrapper = Callable[[Ask], Ask]
"""Adds one behavior to `Ask`. The factories of wrappers are named `with_…`."""
