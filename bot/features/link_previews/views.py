"""The preview of a link: blocks, or a Work Object where the workspace has them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from agents.context.linked_section import LinkedSection
from bot.blocks.kit import Json, age, context, link, section, short
from bot.blocks.markdown import excerpt
from bot.blocks.sanitize.text import sanitize_mrkdwn, sanitize_plain
from enrichment.chunk import is_out_of_force, standing

MAX_CHARS = 280
"""Characters of the document's text, below a link."""
MAX_PANE_CHARS = 1_500
"""Characters in the pane that opens with a click on the preview."""
ENTITY = "slack#/entities/content_item"


def preview(linked: LinkedSection, now: datetime) -> Json:
    """Blocks below a link, for `chat.unfurl`."""
    text = excerpt(linked.text, MAX_CHARS)
    quoted = "\n".join(f"> {sanitize_mrkdwn(line)}" for line in text.splitlines())
    title = f"*{link(linked.url, _name(linked))}*"
    below = [sanitize_mrkdwn(fact) for fact in _facts(linked, now)]
    blocks = [section("\n".join(filter(None, (title, quoted))))]
    if warning := _warning(linked):
        blocks.append(context([warning]))
    return {"blocks": [*blocks, *([context([" · ".join(below)])] if below else [])]}


def entity(
    linked: LinkedSection, now: datetime, *, posted: str = "", max_chars: int = MAX_CHARS
) -> Json:
    """A Work Object. `posted`: the link as it is written in the message; empty in the pane."""
    card = linked.card
    fields: dict[str, Any] = {}
    if text := excerpt(linked.text, max_chars):
        fields["description"] = {"value": sanitize_plain(text), "long": True}
    if card.owner:
        fields["created_by"] = {
            "type": "string",
            "label": "Owner",
            "value": sanitize_plain(short(card.owner, 80)),
        }
    more = list(_custom(linked, now))
    payload: Json = {
        "attributes": {
            "title": {"text": sanitize_plain(short(card.title, 200))},
            "display_type": "Document",
        },
        "fields": fields,
        "custom_fields": more,
        "display_order": [
            name
            for name in ("section", "description", "standing", "age", "created_by")
            if name in {*fields, *(field["key"] for field in more)}
        ],
    }
    if card.modified_at:
        changed = int(_utc(card.modified_at).timestamp())
        payload["attributes"]["metadata_last_modified"] = changed
    place = linked.url.partition("#")[2]
    return {
        "entity_type": ENTITY,
        "entity_payload": payload,
        "external_ref": {"id": f"{card.id}#{place}" if place else card.id, "type": "document"},
        "url": linked.url,
        **({"app_unfurl_url": posted} if posted else {}),
    }


def _custom(linked: LinkedSection, now: datetime) -> Iterator[Json]:
    if linked.heading:
        yield _text("section", "Section", sanitize_plain(short(linked.heading, 200)))
    if is_out_of_force(linked.card):
        yield _text("standing", "Status", sanitize_plain(_standing(linked)))
    if when := age(linked.card.modified_at, now).removeprefix("updated "):
        yield _text("age", "Updated", when)


def _text(key: str, label: str, value: str) -> Json:
    return {"key": key, "label": label, "type": "string", "value": value}


def _name(linked: LinkedSection) -> str:
    heading = linked.heading if linked.heading != linked.card.title else ""
    return " › ".join(short(part, 120) for part in (linked.card.title, heading) if part)


def _facts(linked: LinkedSection, now: datetime) -> Iterator[str]:
    if when := age(linked.card.modified_at, now):
        yield when
    if linked.card.owner:
        yield f"owner: {short(linked.card.owner, 80)}"


def _warning(linked: LinkedSection) -> str:
    if not is_out_of_force(linked.card):
        return ""
    if linked.successor:
        title = short(linked.successor.title, 120)
        return f":warning: superseded by {link(linked.successor.url, title)}"
    return f":warning: {sanitize_mrkdwn(_standing(linked))}"


def _standing(linked: LinkedSection) -> str:
    named = {linked.successor.id: linked.successor} if linked.successor else {}
    return short(standing(linked.card, named), 160)


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
