"""The three tools and their arguments."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.answer import (
    MAX_QUESTION_CHARS,
    Ask,
    Question,
)
from agents.answerer.lookups import document_meant
from agents.ledger.ledger import QuestionOrigin
from agents.routing.router import DomainRouter
from agents.steps import Progress, SilentProgress
from api.auth.routes import RequestRejected
from api.mcp.results import (
    AskResult,
    DocumentResult,
    RetrieveResult,
    as_markdown,
    ask_result,
    ask_text,
    chunks_under,
    document_text,
    headings_of,
    retrieve_result,
    retrieve_text,
)
from api.schemas.questions import TimeZone
from api.scope import RequestScope
from config.domain import Domain
from config.errors import CopilotError
from enrichment.chunk import standing
from index.page_links import page_query, page_target
from index.permissions.acts import Act
from index.permissions.rules import visible_to
from index.search import Snapshot

MOST_PASSAGES = 50
LONGEST_PIECE = 30_000
"""Characters of a document per call."""
MOST_HEADINGS = 200


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    domain: str = Field("", max_length=64)


class AskArguments(_Arguments):
    question: str = Field(
        min_length=1,
        max_length=MAX_QUESTION_CHARS,
        description="One question in whole sentences, in the user's language, with every name, "
        "region, class or date that its answer depends on",
    )
    conversation_id: str = Field(
        "",
        max_length=200,
        description="Your own id of the conversation: under it a follow-up may lean on what was "
        "asked before (`and for contractors?`). Without one nothing is kept",
    )
    time_zone: TimeZone = Field(
        "UTC", description="The user's, as IANA names it, e.g. Europe/Berlin"
    )


class RetrieveArguments(_Arguments):
    query: str = Field(min_length=1, max_length=MAX_QUESTION_CHARS, description="What to look for")
    top_k: int | None = Field(
        None, ge=1, le=MOST_PASSAGES, description="Passages; the domain's own number without one"
    )
    search_type: Literal["hybrid", "semantic", "keyword"] = "hybrid"


class DocumentArguments(_Arguments):
    document: str = Field(
        min_length=1,
        max_length=2_000,
        description="Its id, title or address, as `ask` and `retrieve` give them",
    )
    heading: str = Field(
        "", max_length=500, description="Only this heading, with all that is below it"
    )
    start: int = Field(0, ge=0, le=100_000_000, description="Character to go on from: `next_start`")


@dataclass(frozen=True, kw_only=True)
class McpParts:
    """Dependencies of the tools."""

    ask: Callable[[str], Ask]
    answering: DomainRouter
    retrieve: Callable[..., dict[str, Any]]
    snapshot: Callable[[str], Snapshot]


@dataclass(frozen=True, kw_only=True)
class McpTool:
    name: str
    act: Act
    title: str
    description: str
    takes: type[BaseModel]
    gives: type[BaseModel]
    run: Callable[[McpParts, RequestScope, Any, Progress], tuple[BaseModel, str]]
    """Raises RequestRejected and CopilotError."""


def _ask(
    parts: McpParts, opened: RequestScope, arguments: AskArguments, progress: Progress
) -> tuple[AskResult, str]:
    mark = secrets.token_hex(8)
    question = QuestionOrigin(id=mark, door="mcp", text=arguments.question)
    origin, domains = opened.admitted(parts.answering, question, arguments.domain)
    # The number of documents is disclosed only if every asker may read all of them.
    open_to_all = all(one.access.audience == "channel" for one in domains)
    reported = progress if open_to_all else SilentProgress(lambda: progress.delta(""))
    answer, domain = opened.answered(
        domains,
        lambda: parts.answering(
            origin,
            domains,
            lambda domain: _question(arguments, opened, domain, mark),
            lambda domain, question: parts.ask(domain.domain)(question, reported),
        ),
    )
    result = ask_result(answer, domain, arguments.conversation_id)
    return result, ask_text(result)


def _question(arguments: AskArguments, opened: RequestScope, domain: Domain, mark: str) -> Question:
    return Question(
        text=arguments.question,
        readers=opened.readers(domain),
        time_zone=arguments.time_zone,
        conversation=opened.conversation(arguments.conversation_id, mark),
    )


def _retrieve(
    parts: McpParts, opened: RequestScope, arguments: RetrieveArguments, progress: Progress
) -> tuple[RetrieveResult, str]:
    domain = _likeliest(parts, opened, arguments)
    response = parts.retrieve(
        domain.domain,
        arguments.query,
        top_k=arguments.top_k,
        search_type=arguments.search_type,
        readers=opened.readers(domain),
    )
    passages = response["documents"][:MOST_PASSAGES]
    listed = {"passages": [one["source"] for one in passages]}
    opened.showing(domain, response.get("generation", 0), listed)
    result = retrieve_result(passages, response["notices"], domain)
    return result, retrieve_text(result)


def _likeliest(parts: McpParts, opened: RequestScope, arguments: RetrieveArguments) -> Domain:
    """Returns the named domain, or the one whose documents match the query best."""
    domains = opened.candidates(arguments.domain)
    if len(domains) == 1:
        return domains[0]
    evidence, unavailable = parts.answering.score(
        domains, lambda domain: Question(text=arguments.query, readers=opened.readers(domain))
    )
    if not evidence:
        raise unavailable or RequestRejected(422, "no domain is configured")
    return evidence[0].domain


def _document(
    parts: McpParts, opened: RequestScope, arguments: DocumentArguments, progress: Progress
) -> tuple[DocumentResult, str]:
    domain, inside, document = _find_document(parts, opened, arguments)
    card, chunks = inside.documents[document], inside.chunks(document)
    section = chunks_under(chunks, arguments.heading)
    opened.showing(domain, inside.generation, {"listed": [document]})
    headings = headings_of(chunks)
    if not section:
        choices = "; ".join(headings[:MOST_HEADINGS]) or "none"
        raise RequestRejected(404, f"the document has no such heading; its headings: {choices}")
    text = as_markdown(section)
    end = arguments.start + LONGEST_PIECE
    result = DocumentResult(
        document=document,
        title=card.title,
        url=card.url,
        domain=domain.domain,
        modified_at=card.modified_at.isoformat() if card.modified_at else "",
        standing=standing(card, inside.documents),
        headings=headings[:MOST_HEADINGS],
        text=text[arguments.start : end],
        next_start=end if end < len(text) else None,
    )
    return result, document_text(result)


def _find_document(
    parts: McpParts, opened: RequestScope, arguments: DocumentArguments
) -> tuple[Domain, Snapshot, str]:
    """Raises the same RequestRejected for an unknown and an unreadable document."""
    unavailable: CopilotError | None = None
    for domain in opened.candidates(arguments.domain):
        try:
            inside = visible_to(parts.snapshot(domain.domain), opened.readers(domain))
            document = _meant(arguments.document, inside)
            if document in inside.documents and inside.cards([document]):
                return domain, inside, document
        except CopilotError as error:
            unavailable = error
    raise unavailable or RequestRejected(
        404, "no such document for you; `retrieve` finds documents"
    )


def _meant(named: str, inside: Snapshot) -> str:
    """Returns a document's id, found by id, by URL without its fragment, or by title."""
    if "://" in named:
        address = _address(named)
        cards = inside.documents.values()
        return next((c.id for c in cards if _address(c.url) == address), "")
    return document_meant(named.strip(), inside)


def _address(url: str) -> str:
    """Without the heading."""
    own = page_target(url)
    return page_query(*own) if own else url.partition("#")[0].rstrip("/")


TOOLS: Sequence[McpTool] = (
    McpTool(
        name="ask",
        act=Act.MCP_ASK,
        title="Ask the on-call copilot",
        description=(
            "Answers one question from the team's own documents (policies, standards, runbooks, "
            "registers), with a citation for every fact. Use it first: it searches, reads, "
            "follows references and checks what it says against its sources, in 5 to 60 seconds. "
            "`how` and `path` say what you got. An answer is worth as much as its `confidence`; "
            "at low, read the sources before you rely on it. `no_answer_found` means that the "
            "documents don't say: do not fill the gap from your own knowledge, say that it isn't "
            "documented. `passages_found` is no answer either, only where to read. "
            "`ambiguous_query` asks back: choose from `options`, or ask your user. Documents that "
            "you may not read don't exist here. Ask one thing at a time."
        ),
        takes=AskArguments,
        gives=AskResult,
        run=_ask,
    ),
    McpTool(
        name="retrieve",
        act=Act.MCP_RETRIEVE,
        title="Find passages",
        description=(
            "Finds passages of the team's documents, verbatim and best first, without an answer. "
            "For when you want to read and judge for yourself, compare wordings, or look further "
            "after `ask`. There are always some passages: that one is returned does not mean that "
            "it fits. Searches one domain: the named one, or else the one whose documents speak "
            "most of the query."
        ),
        takes=RetrieveArguments,
        gives=RetrieveResult,
        run=_retrieve,
    ),
    McpTool(
        name="document",
        act=Act.MCP_DOCUMENT,
        title="Read a document",
        description=(
            "One document, or one heading of it, as markdown: for when a passage needs what "
            "stands around it. It is the text that was last ingested, not the live file. A "
            "document that you may not read and one that doesn't exist look alike."
        ),
        takes=DocumentArguments,
        gives=DocumentResult,
        run=_document,
    ),
)
