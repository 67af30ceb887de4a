"""Web API: what an app shows for links, as attachments or Work Objects, and the details of one."""

from __future__ import annotations

from typing import Any

from playground.slack import tidewater
from playground.slack.rules import block_rules as block_kit
from playground.slack.shared_links import links_in
from playground.slack.web_api.call import Call, Method
from playground.slack.web_api.chat_methods import numbered
from playground.slack.web_api.view_methods import Views
from playground.slack.wire_text import posted
from playground.slack.workspace import Json, SlackError, WorkspaceChange, duplicate

ENTITY_TYPES = {
    f"slack#/entities/{name}" for name in ("task", "file", "item", "incident", "content_item")
}


class Unfurls:
    """`views` hands out the triggers by which details may be shown."""

    def __init__(self, views: Views) -> None:
        self._views = views

    def methods(self) -> dict[str, Method]:
        return {"chat.unfurl": self.unfurl, "entity.presentDetails": self.present}

    def unfurl(self, call: Call) -> Json:
        """Attaches to the message, once for each link: a second call changes what is there."""
        call.demand("links:write")
        channel, ts = _target(call)
        message = _message(call, channel, ts)
        urls = links_in(str(message.get("text") or ""))
        shown = [*_attachments(call, urls), *_work_objects(call, urls)]
        if not shown:
            raise SlackError("missing_unfurls")
        new = {attachment["app_unfurl_url"] for attachment in shown}
        kept = [
            one for one in message.get("attachments", []) if one.get("app_unfurl_url") not in new
        ]
        call.workspace.edit(channel, ts, {"attachments": _counted([*kept, *shown])})
        return {}

    def present(self, call: Call) -> Json:
        """Fills the pane beside the conversation, for whoever opened it."""
        user = self._views.redeem(call)
        error = call.data("error", dict, "invalid_arguments")
        entity = call.data("metadata", dict, "invalid_metadata")
        if entity is None and error is None and not call.flag("user_auth_required"):
            raise SlackError("invalid_arguments", ["[ERROR] missing required field: metadata"])
        if entity is not None:
            _check(entity, "invalid_metadata")
        shown = {"metadata": duplicate(entity), "error": error}
        call.workspace.details[user] = shown
        call.workspace.tell(WorkspaceChange(kind="details", user=user, detail=shown))
        return {}


def _target(call: Call) -> tuple[str, str]:
    """Channel and ts, or what an `unfurl_id` stands for."""
    if call.given("unfurl_id") or call.given("source"):
        if not call.given("source"):
            raise SlackError("missing_source")
        if not call.given("unfurl_id"):
            raise SlackError("missing_unfurl_id")
        if call.text("source") not in ("composer", "conversations_history"):
            raise SlackError("invalid_source")
        channel, _, rest = call.text("unfurl_id").partition(".")
        ts = ".".join(rest.split(".")[:2])
        if channel not in call.workspace.channels or not ts:
            raise SlackError("invalid_unfurl_id")
        return channel, ts
    for name in ("channel", "ts"):
        if not call.text(name):
            raise SlackError(f"missing_{name}")
    if call.text("channel") not in call.workspace.channels:
        raise SlackError("cannot_find_channel")
    return call.text("channel"), call.text("ts")


def _message(call: Call, channel: str, ts: str) -> Json:
    try:
        return call.workspace.message(channel, ts)
    except SlackError as error:
        raise SlackError("cannot_find_message") from error


def _attachments(call: Call, urls: list[str]) -> list[Json]:
    unfurls = call.data("unfurls", dict, "invalid_unfurls_format") or {}
    return [_attachment(call, url, shown, urls) for url, shown in unfurls.items()]


def _attachment(call: Call, url: str, shown: Any, urls: list[str]) -> Json:
    _belongs(url, urls)
    if not isinstance(shown, dict) or not (shown.get("blocks") or shown.get("text")):
        raise SlackError("cannot_parse_attachment")
    if block_kit.problems(shown.get("blocks", [])):
        raise SlackError("cannot_parse_attachment")
    blocks = numbered(call, duplicate(shown["blocks"])) if "blocks" in shown else None
    return {**shown, **({"blocks": blocks} if blocks else {}), **_marks(url)}


def _work_objects(call: Call, urls: list[str]) -> list[Json]:
    metadata = call.data("metadata", dict, "invalid_metadata_format") or {}
    entities = metadata.get("entities", [])
    if not isinstance(entities, list) or (metadata and not entities):
        raise SlackError("invalid_metadata_format")
    if entities and not call.workspace.work_objects:
        # Slack's reference names no error of its own for an app whose previews are off.
        raise SlackError("error_processing_metadata")
    return [_work_object(entity, urls) for entity in entities]


def _work_object(entity: Any, urls: list[str]) -> Json:
    _check(entity, "error_processing_metadata")
    url = entity.get("app_unfurl_url")
    if not isinstance(url, str):
        raise SlackError("error_processing_metadata")
    _belongs(url, urls)
    payload, attributes = entity["entity_payload"], entity["entity_payload"]["attributes"]
    fields = {
        **payload.get("fields", {}),
        **{field["key"]: field for field in payload.get("custom_fields", [])},
    }
    order = payload.get("display_order") or list(fields)
    wide = [str(fields[name].get("value", "")) for name in order if _is_wide(fields, name)]
    return {
        "title": attributes["title"]["text"],
        "title_link": entity["url"],
        "text": posted("\n".join(wide)),
        "footer": attributes.get("product_name", "Copilot"),
        "fields": [
            {"title": fields[name].get("label", name.replace("_", " ").capitalize()),
             "value": str(fields[name].get("value", ""))}
            for name in order
            if name in fields and not _is_wide(fields, name)
        ],
        "work_object": duplicate(entity),
        **_marks(url),
    }  # fmt: skip


def _is_wide(fields: Json, name: str) -> bool:
    """Takes the whole width, as Slack draws it."""
    return name in fields and bool(fields[name].get("long"))


def _check(entity: Any, refusal: str) -> None:
    """What every Work Object has to have."""
    payload = entity.get("entity_payload") if isinstance(entity, dict) else None
    attributes = payload.get("attributes") if isinstance(payload, dict) else None
    fits = (
        isinstance(attributes, dict)
        and isinstance(attributes.get("title"), dict)
        and bool(attributes["title"].get("text"))
        and entity.get("entity_type") in ENTITY_TYPES
        and bool((entity.get("external_ref") or {}).get("id"))
        and isinstance(entity.get("url"), str)
    )
    if not fits:
        raise SlackError(refusal)


def _belongs(url: str, urls: list[str]) -> None:
    if url not in urls:
        raise SlackError("cannot_unfurl_message")


def _marks(url: str) -> Json:
    return {
        "from_url": url,
        "original_url": url,
        "app_unfurl_url": url,
        "is_app_unfurl": True,
        "app_id": tidewater.APP_ID,
        "bot_id": tidewater.BOT_ID,
    }


def _counted(attachments: list[Json]) -> list[Json]:
    return [{**one, "id": number} for number, one in enumerate(attachments, start=1)]
