"""A running bot with documents on the local Google, each with an owner of its own."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bot.app import Bot
from bot.bus.events import Suggestion, SuggestionMade
from bot.feature import PublishedIndex
from bot.features.owner_drafts.store import DraftStore, OwnerDraftRow, key_of
from enrichment.chunk import DocumentCard
from index.search import Snapshot
from loaders.document import Permission
from loaders.google.owners import GoogleOwners
from playground.google_stand_in import GoogleStandIn, StoredFile
from playground.slack import tidewater
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import eventually, running, settings_for
from tests.bot.fakes import CHANNEL, Agents, domain
from tests.bot.shelf import card, chunk, embed

ADMIN = "U0MAREK"
VAULT = "C0VAULT"
"""Private: Marek and Sam are in it."""
TEXT = "# Keys\n\nHow keys are kept.\n\n## Maximum age\n\nSigning keys get 90 days.\n"
WORDS = "In Singapore a signing key gets 60 days."
DOMAINS = {
    "security": domain(admins=[ADMIN]),
    "sealed": domain("sealed", "C0PRIVACY", admins=[ADMIN], access={"audience": "asker"}),
    "orphaned": domain("orphaned", "C0PLATFORM"),
}
_numbers = itertools.count(1)


@dataclass
class Published:
    """What a domain answers from: the cards that tests put here, and one section of each."""

    cards: dict[str, DocumentCard] = field(default_factory=dict)
    generation = 1
    language = "English"
    domain = "security"

    @property
    def documents(self) -> Any:
        return MappingProxyType(self.cards)

    def chunks(self, document_id: str) -> Any:
        url = f"https://docs.google.com/document/d/{document_id}/edit#heading=h.age"
        return [chunk(document_id, "Signing keys get 90 days.", heading="Maximum age", url=url)]


@dataclass
class OwnersOffice:
    slack: SlackStandIn
    google: GoogleStandIn
    bot: Bot
    published: Published
    drafts: DraftStore

    def person(self, **more: Any) -> tidewater.SlackUser:
        """A colleague whom nobody knows yet."""
        number = next(_numbers)
        values = {"id": f"U0OWNER{number}", "handle": f"owner{number}", "name": f"Owner {number}"}
        person = tidewater.SlackUser(**({**values, "title": ""} | more))
        self.slack.workspace.welcome(person, CHANNEL)
        return person

    def document(self, owner: tidewater.SlackUser | None = None, **more: Any) -> str:
        """A published document, in this person's account."""
        name = f"KEYS{next(_numbers)}"
        email = owner.email if owner else "nobody@tidewater.example"
        values = {"id": name, "name": "Key Standard", "content": TEXT, "owner": email}
        self.google.drive.put(StoredFile(**(values | {"owner_email": email} | more)))
        everybody = (Permission(kind="user", value=email),)
        self.published.cards[name] = card(name, "Key Standard", permissions=everybody)
        return name

    def suggest(self, document: str, **more: Any) -> str:
        """The draft's key."""
        values: dict[str, Any] = {
            "id": f"s{next(_numbers)}", "kind": "answer", "domain": "security",
            "document": document, "heading": "Maximum age", "by": "U0DANA", "channel": CHANNEL,
            "question": "how old may a key get in Singapore?", "words": WORDS,
            "permalink": "https://tidewater-pay.slack.com/archives/C0SECURITY/p1",
            "drawn_from": (),
        }  # fmt: skip
        suggestion = Suggestion(**(values | more))
        self.bot.put(suggestion.event_id, SuggestionMade(suggestion=suggestion))
        return key_of(suggestion.id)

    def draft(self, key: str) -> OwnerDraftRow:
        found = self.drafts.get(key)
        assert found
        return found

    def messages(self, user: str, key: str) -> list[dict[str, Any]]:
        """The draft's messages to somebody."""
        return [
            message
            for message in self.slack.messages(f"D{user[1:]}")
            if ((message.get("metadata") or {}).get("event_payload") or {}).get("question_id")
            == key
        ]

    def message(self, user: str, key: str, says: str = "") -> dict[str, Any]:
        """The first of them, once it says this."""

        def look() -> dict[str, Any] | None:
            found = self.messages(user, key)
            return found[0] if found and says in str(found[0]) else None

        return dict(eventually(look))

    def click(self, user: str, key: str, action: str, by: str = "") -> None:
        message = self.messages(user, key)[0]
        self.slack.click(f"D{user[1:]}", message["ts"], action, by or user)

    def form(self, user: str) -> dict[str, Any]:
        return dict(eventually(lambda: self.slack.view(user)))

    def submit(self, user: str, **values: str) -> Any:
        entered = {
            name: {"value": {"type": "plain_text_input", "value": value}}
            for name, value in values.items()
        }
        return self.slack.submit_view(entered, user)

    def decided(self, key: str) -> OwnerDraftRow:
        return eventually(lambda: None if self.draft(key).waits else self.draft(key))

    def settle(self) -> None:
        """Until all that was stored is worked off."""
        quiet = 0
        while quiet < 2:
            self.slack.wait_until_delivered()
            quiet = 0 if self.bot.inbox.backlog() else quiet + 1
            time.sleep(0.02)

    def due(self, kind: str, key: str) -> None:
        """A timer's time has come."""
        about = {"kind": kind, "subject": key}
        self.bot.inbox.put(f"timer-{kind}-{key}-{next(_numbers)}", {"timer": about})

    def tick(self) -> None:
        for feature in self.bot.features:
            if feature.plan:
                feature.plan()
        self.settle()


@contextmanager
def open_owners_office(data_dir: Path, **settings: Any) -> Iterator[OwnersOffice]:
    published = Published()

    def snapshot(name: str) -> Snapshot:
        return published  # type: ignore[return-value] # as much of one as is looked at

    with SlackStandIn(enforce_rate_limits=False) as slack, GoogleStandIn([]) as google:
        vault = tidewater.Channel(id=VAULT, name="vault", kind="group")
        vault.members = {slack.bot_user_id, ADMIN, tidewater.YOU, "U0DANA"}
        slack.workspace.add_channel(vault)
        more: dict[str, Any] = {
            "google_credentials": google.write_credentials(data_dir / "key.json"),
            "google_api_url": google.url,
            "google_comments": True,
            **settings,
        }
        configured = settings_for(slack, data_dir).model_copy(update=more)
        quick = GoogleOwners(configured, attempts=3, sleep=lambda seconds: time.sleep(0.01))
        with running(
            slack, data_dir, Agents(), DOMAINS, more,
            published=PublishedIndex(snapshot=snapshot, embed=embed),
            owners=quick,
        ) as bot:  # fmt: skip
            yield OwnersOffice(slack, google, bot, published, DraftStore(bot.engine))


def guest(person: tidewater.SlackUser) -> tidewater.SlackUser:
    return replace(person, guest="single_channel")
