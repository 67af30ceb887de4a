"""Previews of links to documents in the index, in channels whose members may all read them.

See docs/decisions/116-link-previews.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import structlog

from agents.context.linked_section import LinkedSection, find
from bot.blocks.kit import Json
from bot.feature import FeatureContext
from bot.features.link_previews.views import MAX_PANE_CHARS, entity, preview
from bot.slack.client import ABOUT_THE_TOKEN, SlackBusy, SlackRefused, SlackUnsure
from bot.slack.events import LinksShared
from config.domain import Domain, domain_of
from config.errors import CopilotError
from index.audit import AuditEntry
from index.permissions.acts import Act
from index.permissions.rules import readers_of, visible_to

log = structlog.get_logger()

PATIENCE = 60.0
"""Seconds until a preview is abandoned: a later one is of no use."""
WORK_OBJECTS = "work_objects"
PLAIN_SECONDS = 3_600.0
"""Seconds for which previews are plain blocks after a workspace refused a Work Object."""
NO_WORK_OBJECTS = frozenset(
    {"error_processing_metadata", "feature_not_enabled", "invalid_arg_name", "invalid_arguments"}
    | {"invalid_metadata_format", "invalid_metadata_schema", "missing_unfurls"}
)


@dataclass
class LinkPreviews:
    """Ignores links that lead to no document of the channel's domain."""

    context: FeatureContext
    problem: str = field(default="", init=False)
    """Why previews fail, for admins; empty while they work."""

    def unfurl(self, event_id: str, event: LinksShared) -> None:
        """Preview links below their message, for everyone in the channel. Safe to repeat."""
        domain = domain_of(self.context.domains().values(), event.channel)
        if domain is None or not domain.answer.link_previews:
            return
        if not self.context.gate.open_to(Act.LINK, event.user, [domain]):
            return
        sections = dict(self._sections(domain, event))
        if not sections:
            return
        self._record(domain, sections, asker=event.user, place=event.channel, showing=event_id)
        try:
            self._show(event, {url: linked for url, (linked, _) in sections.items()})
            self.problem = ""
        except SlackRefused as refused:
            self._refused(refused)
        except (SlackBusy, SlackUnsure) as error:
            log.info("no link preview", reason=str(error))

    def details(self, event: Mapping[str, Any]) -> None:
        """Fill the pane of a person who clicked on a preview, by their own permissions."""
        content = self._details(event)
        try:
            self.context.web.once(
                "entity.presentDetails", trigger_id=event.get("trigger_id"), **content
            )
        except (SlackRefused, SlackBusy, SlackUnsure) as error:
            log.info("no details of a linked document", reason=str(error))

    def _details(self, event: Mapping[str, Any]) -> dict[str, Json]:
        """A document that is missing and one that they may not read get the same refusal."""
        user, channel = str(event.get("user") or ""), str(event.get("channel") or "")
        url = str(event.get("app_unfurl_url") or event.get("entity_url") or "")
        domain = domain_of(self.context.domains().values(), channel)
        nothing: dict[str, Json] = {"error": {"status": "not_found"}}
        if domain is None or not self.context.gate.open_to(Act.LINK_DETAILS, user, [domain]):
            return nothing
        readers = readers_of(
            domain.access.audience,
            lambda: self.context.identities(domain, self.context.gate.people.person(user)),
        )
        try:
            snapshot = visible_to(self.context.snapshot(domain.domain), readers)
            linked = find(snapshot, url)
        except CopilotError as error:
            log.info("no details of a linked document", reason=str(error))
            return {"error": {"status": "internal_error"}}
        if linked is None:
            return nothing
        section = {url: (linked, snapshot.generation)}
        self._record(domain, section, asker=user, place=channel, showing="")
        return {"metadata": entity(linked, datetime.now(UTC), max_chars=MAX_PANE_CHARS)}

    def _sections(
        self, domain: Domain, event: LinksShared
    ) -> Iterator[tuple[str, tuple[LinkedSection, int]]]:
        """(URL, (section, generation)) of documents that everyone in the channel may read: all of
        them where the domain answers from all of them, else those that are open to everyone."""
        try:
            snapshot = self.context.snapshot(domain.domain)
            for url in event.urls:
                if linked := find(snapshot, url):
                    yield url, (linked, snapshot.generation)
        except CopilotError as error:
            log.info("no link preview", reason=str(error), domain=domain.domain)

    def _record(
        self,
        domain: Domain,
        sections: Mapping[str, tuple[LinkedSection, int]],
        *,
        asker: str,
        place: str,
        showing: str,
    ) -> None:
        generation = next(number for _, number in sections.values())
        cited = sorted({linked.card.id for linked, _ in sections.values()})
        entry = AuditEntry(
            door="link",
            place=place,
            asker=asker,
            domain=domain.domain,
            generation=generation,
            documents={"cited": cited},
            showing=showing,
        )
        self.context.audit(entry, domain)

    def _show(self, event: LinksShared, sections: Mapping[str, LinkedSection]) -> None:
        now = datetime.now(UTC)
        where = {"channel": event.channel, "ts": event.ts}
        if not self.context.web.unsupported.any_of([WORK_OBJECTS]):
            entities = [entity(linked, now, posted=url) for url, linked in sections.items()]
            try:
                self.context.web.call(
                    "chat.unfurl", patience=PATIENCE, metadata={"entities": entities}, **where
                )
                return
            except SlackRefused as refused:
                if refused.code not in NO_WORK_OBJECTS:
                    raise
                self.context.web.unsupported.note([WORK_OBJECTS], PLAIN_SECONDS)
                log.info("work objects are not supported here", reason=refused.code)
        unfurls = {url: preview(linked, now) for url, linked in sections.items()}
        self.context.web.call("chat.unfurl", patience=PATIENCE, unfurls=unfurls, **where)

    def _refused(self, refused: SlackRefused) -> None:
        log.info("no link preview", reason=refused.code)
        if refused.code in ABOUT_THE_TOKEN:
            self.problem = (
                f"Slack refuses to preview links to documents ({refused.code}); "
                "install the app again with manifest.yaml"
            )
