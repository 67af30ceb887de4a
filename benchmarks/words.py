"""What it costs to decide who sees stored words, from memory: `python -m benchmarks.words`."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from slack_sdk import WebClient

from agents.answer import EarlierTurn, Question, Turn
from agents.thread.turns import restated_from
from benchmarks.access import print_times
from bot.access.gate import Gate
from bot.showing import Readers
from bot.slack.client import SlackClient
from config.domain import Domain
from enrichment.chunk import DocumentCard
from index.permissions.rules import Guarded, PermissionIndex, by_email
from index.permissions.words import Words
from loaders.document import Permission
from playground.slack.tidewater import TEAM_ID, YOU, Channel
from playground.slack_stand_in import SlackStandIn

DOCUMENTS, TITLES, THREAD = 5_000, 80, 30
EMAIL = "sam.rivers@tidewater.example"
CHANNEL = "C1WORDS"


def index() -> Guarded:
    """Every second document is the reader's alone, the others are everyone's."""
    only, all_ = (Permission(kind="user", value=EMAIL),), (Permission(kind="anyone"),)
    cards = {}
    for number in range(DOCUMENTS):
        name, permissions = f"d{number}", only if number % 2 else all_
        cards[name] = DocumentCard(
            id=name, title=f"Title {number}", url="", summary="", permissions=permissions
        )
    permissions = PermissionIndex({name: card.permissions for name, card in cards.items()})
    whole = SimpleNamespace(documents=cards, domain="words", generation=1, language="English")
    return Guarded(cast("Any", whole), permissions)


def main() -> None:
    snapshot, ids = index(), frozenset(f"d{number}" for number in range(TITLES))
    text = "What do contractors get from the payout of Project Heron in the end?"
    own = "what do contractors get in the end?"
    words = Words(text=text, own=own, domain="words", author="U0", place=CHANNEL, drawn_from=ids)
    turn = EarlierTurn(
        id="t", asker="U0", asked=own, question=text, path="", documents=("d1", "d3"),
        restated_from=tuple(sorted(ids)),
    )  # fmt: skip
    question = Question(
        text="and at 2 o'clock?", history=(Turn(role="user", content=own * 10),) * THREAD,
        earlier=(turn,) * 12,
    )  # fmt: skip
    with SlackStandIn(enforce_rate_limits=False) as slack:
        slack.workspace.add_channel(Channel(id=CHANNEL, name="words", members={YOU}))
        web = SlackClient(WebClient(token=slack.bot_token, base_url=slack.api_url))
        domain = Domain.model_validate({
            "domain": "words", "title": "W", "channels": [CHANNEL], "sources": {},
            "access": {"audience": "asker"},
        })  # fmt: skip
        readers = Readers(
            gate=Gate(web, frozenset({TEAM_ID})), domains=lambda: {"words": domain},
            snapshot=lambda name: snapshot, identities=by_email, audit=lambda entry, of: None,
        )  # fmt: skip

        def shown() -> str:
            return readers.showing(readers.person(YOU), "home").text(words)

        showing = readers.showing(readers.person(YOU), "home")
        assert shown() == text
        checks: dict[str, Callable[[], object]] = {
            "sources of a restated question": lambda: restated_from(
                question, text, snapshot.documents, lambda: ids
            ),
            "words to a new reader": shown,
            "more words to the same reader": lambda: showing.text(words),
        }
        print(f"{DOCUMENTS:,} documents, {TITLES} titles read, {THREAD} messages in the thread\n")
        print_times("decision", checks)


if __name__ == "__main__":
    main()
