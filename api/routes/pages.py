"""`/document`: the page that a citation of a document without a web address opens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime

from fastapi import APIRouter, Request
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import HTTPConnection
from starlette.responses import Response

from api.auth.routes import NotIdentified, RequestRejected
from api.auth.sign_in import SlackSignIn
from api.auth.tokens import Caller
from api.errors import failure, retry_after
from api.pages.document import link_resolver, outline, part_of, parts, sections
from api.pages.html import notice, page
from api.scope import RequestScopes
from config.domain import Domain
from config.errors import CopilotError
from enrichment.chunk import DocumentCard, is_out_of_force, standing
from index.page_links import PAGE_PATH, SIGNED_IN_PATH, address, anchor_of, page_query
from index.permissions.acts import Act
from index.permissions.rules import visible_to
from index.search import Snapshot

NO_PAGE = "there is no such document here: it was removed or renamed, or it isn't shared with you"
NO_SIGN_IN = (
    "reading this needs a sign-in that isn't set up here; whoever runs the copilot can do so, see "
    "“Pages of documents” in docs/slack-setup.md"
)


class PageReaders:
    """See `api.auth.middleware.Readers`. Without `sign_in`, only tokens and this machine count."""

    def __init__(self, sign_in: SlackSignIn | None) -> None:
        self.sign_in = sign_in

    @property
    def everywhere(self) -> bool:
        return self.sign_in is not None

    def caller(self, request: HTTPConnection) -> Caller | None:
        return self.sign_in.caller(request.cookies) if self.sign_in else None

    def rejection(self, request: HTTPConnection, refused: RequestRejected) -> Response:
        if isinstance(refused, NotIdentified):
            if self.sign_in:
                return self.sign_in.start(request.query_params, request.cookies)
            refused = RequestRejected(401, NO_SIGN_IN)
        response = notice(refused.status, refused.detail, retry_after=refused.retry_after)
        if self.sign_in and refused.status == 403:
            self.sign_in.forget(response)
        return response


def document_pages(
    served: RequestScopes, snapshot: Callable[[str], Snapshot], readers: PageReaders
) -> APIRouter:
    routes = APIRouter(include_in_schema=False)

    @routes.get(PAGE_PATH)
    def document(request: Request) -> Response:
        try:
            return _document(request, served, snapshot)
        except RequestRejected as refused:
            return readers.rejection(request, refused)
        except (CopilotError, SQLAlchemyError) as error:
            status, body = failure(error, local=request.state.caller.local)
            reference = f" ({body['reference']})" if "reference" in body else ""
            return notice(status, f"{body['detail']}{reference}", retry_after=retry_after(error))

    @routes.get(SIGNED_IN_PATH)
    def signed_in(request: Request) -> Response:
        if readers.sign_in is None:
            return notice(404, NO_SIGN_IN)
        try:
            return readers.sign_in.finish(request.query_params, request.cookies)
        except RequestRejected as refused:
            return notice(refused.status, refused.detail, retry_after=refused.retry_after)

    return routes


def _document(
    request: Request, served: RequestScopes, snapshot: Callable[[str], Snapshot]
) -> Response:
    """One generation is read, whatever is published meanwhile."""
    named = {name: request.query_params.get(name, "") for name in ("domain", "id", "at", "part")}
    opened = served.to(request.state.caller, Act.PAGE)
    try:
        domain = opened.one(named["domain"])
    except RequestRejected as refused:
        # A browser is not told which domains there are.
        raise RequestRejected(404, NO_PAGE) if refused.status == 422 else refused from None
    inside = visible_to(snapshot(domain.domain), opened.readers(domain))
    card = next(iter(inside.cards([named["id"]])), None)
    if card is None:
        raise RequestRejected(404, NO_PAGE)
    chunks = inside.chunks(card.id)
    count = parts(chunks)
    part = int(named["part"]) if named["part"].isdecimal() and len(named["part"]) < 6 else 0
    part = min(part or part_of(chunks, named["at"]), count)
    opened.showing(domain, inside.generation, {"listed": [card.id]})

    resolve = link_resolver(card, inside.documents, frozenset(map(anchor_of, chunks)))

    def url(number: int) -> str:
        return "?" + page_query(domain.domain, card.id, part=str(number))

    return page(
        "document.html",
        title=card.title or card.id,
        facts=list(_facts(card, domain)),
        warnings=list(_warnings(card, inside)),
        outline=outline(chunks),
        part=part,
        parts=count,
        url=url,
        sections=list(sections(chunks, part, resolve)),
    )


def _facts(card: DocumentCard, domain: Domain) -> Iterator[str]:
    yield domain.title
    yield card.path or card.id
    if card.modified_at:
        yield f"last changed on {_day(card.modified_at)}"
    if card.owner:
        yield f"owner: {card.owner}"


def _warnings(card: DocumentCard, inside: Snapshot) -> Iterator[tuple[str, str, str]]:
    """(text, a document that it names, that document's URL)."""
    if is_out_of_force(card):
        successor = next(iter(inside.cards([card.superseded_by])), None)
        if successor:
            yield "No longer in force: superseded by ", successor.title, address(successor.url)
        else:
            yield f"No longer in force: {standing(card)}", "", ""
    elif status := standing(card):
        yield f"Status: {status}", "", ""
    if card.review_by and card.review_by < datetime.now(UTC).date():
        yield f"Its review was due on {_day(card.review_by)}", "", ""
    if count := len(card.withheld):
        places = "1 passage is" if count == 1 else f"{count} passages are"
        yield f"{places} left out here, as they address an AI and not people", "", ""


def _day(moment: date) -> str:
    return f"{moment.day} {moment:%B %Y}"
