"""What people do with buttons, menus, modals and shortcuts, and how the app may answer."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from playground.slack import tidewater
from playground.slack.event_delivery import Courier
from playground.slack.event_payloads import (
    VERIFICATION_TOKEN,
    channel_reference,
    interaction,
    public,
)
from playground.slack.rules.block_rules import INTERACTIVE
from playground.slack.web_api.call import Call
from playground.slack.web_api.chat_methods import BOT, content
from playground.slack.web_api.view_methods import Views
from playground.slack.workspace import Json, SlackError, Workspace

MAX_RESPONSES = 5


class Interactions:
    """Lives on the server's event loop; `address` is where response URLs point."""

    def __init__(self, workspace: Workspace, views: Views, courier: Courier) -> None:
        self.workspace = workspace
        self.views = views
        self.courier = courier
        self.address = ""
        self._responses: dict[str, Json] = {}

    async def click(
        self, channel: str, ts: str, action_id: str, user: str, chosen: Json, state: Json
    ) -> Json:
        """A press or choice in a message. `chosen` holds what an element adds to its action:
        `value`, `selected_option`, … ; a button's own value is filled in."""
        message = self.workspace.any_message(channel, ts)
        ephemeral = "ephemeral_to" in message
        container = {"type": "message", "message_ts": ts, "channel_id": channel}
        if "thread_ts" in message:
            container["thread_ts"] = message["thread_ts"]
        payload = interaction(
            "block_actions",
            user,
            self.workspace,
            container={**container, "is_ephemeral": ephemeral},
            trigger_id=self.views.trigger(user),
            channel=channel_reference(self.workspace.channel(channel)),
            message=public(message),
            state={"values": state},
            response_url=self._response_url(channel, user, message),
            actions=[self._action(message.get("blocks", []), action_id, chosen)],
        )
        return await self.courier.interaction(payload)

    async def click_in_view(self, user: str, action_id: str, chosen: Json, state: Json) -> Json:
        """A press or choice in the open modal or, when there is none, in the App Home."""
        view = self.views.top(user) or self.views.homes.get(user)
        if view is None:
            raise SlackError("not_found")
        payload = interaction(
            "block_actions",
            user,
            self.workspace,
            container={"type": "view", "view_id": view["id"]},
            trigger_id=self.views.trigger(user),
            view={**view, "state": {"values": state}},
            actions=[self._action(view["blocks"], action_id, chosen)],
        )
        return await self.courier.interaction(payload)

    async def submit(self, user: str, values: Json) -> Json:
        """Submit the open modal; `values` is Slack's `state.values`. The answer that counts:
        `{}` (closed) or a `response_action` with its errors or view."""
        view = self._open_view(user)
        payload = interaction(
            "view_submission",
            user,
            self.workspace,
            trigger_id=self.views.trigger(user),
            view={**view, "state": {"values": values}},
            response_urls=[],
        )
        answer = await self.courier.interaction(payload)
        self._after_submission(user, view, answer)
        return answer

    async def close(self, user: str) -> None:
        """Dismiss the open modal; the app is told when it asked for that."""
        view = self._open_view(user)
        self.views.close(user, every=view["clear_on_close"])
        if view["notify_on_close"]:
            cleared = bool(view["clear_on_close"])
            await self.courier.interaction(
                interaction("view_closed", user, self.workspace, view=view, is_cleared=cleared)
            )

    async def shortcut(self, callback_id: str, channel: str, ts: str, user: str) -> Json:
        """A message shortcut, from the menu of a message."""
        message = self.workspace.message(channel, ts)
        payload = interaction(
            "message_action",
            user,
            self.workspace,
            callback_id=callback_id,
            trigger_id=self.views.trigger(user),
            response_url=self._response_url(channel, user, message),
            message_ts=ts,
            action_ts=self.workspace.next_ts(),
            channel=channel_reference(self.workspace.channel(channel)),
            message=public(message),
        )
        return await self.courier.interaction(payload)

    async def command(self, command: str, text: str, channel: str, user: str) -> Json:
        """A slash command; an answer in the acknowledgement is shown to the user alone."""
        where = self.workspace.channel(channel)
        person = self.workspace.people[user]
        payload = {
            "type": "slash_commands",
            "token": VERIFICATION_TOKEN,
            "team_id": tidewater.TEAM_ID,
            "team_domain": tidewater.TEAM_DOMAIN,
            "channel_id": where.id,
            "channel_name": channel_reference(where)["name"],
            "user_id": user,
            "user_name": person.handle,
            "command": command,
            "text": text,
            "api_app_id": tidewater.APP_ID,
            "is_enterprise_install": "false",
            "response_url": self._response_url(channel, user, {}),
            "trigger_id": self.views.trigger(user),
        }
        answer = await self.courier.interaction(payload)
        if answer.get("text") or answer.get("blocks"):
            self._say(channel, user, {}, answer)
        return answer

    def respond(self, token: str, answer: Mapping[str, Any]) -> None:
        """What arrives at a response URL; raises SlackError when it can't be done."""
        target = self._responses.get(token)
        if target is None or target["left"] == 0:
            raise SlackError("expired_url" if target is None else "used_url")
        target["left"] -= 1
        channel, message = target["channel"], target["message"]
        ephemeral = "ephemeral_to" in message
        if answer.get("delete_original") and message:
            if ephemeral:
                self.workspace.edit_whisper(channel, message["ts"], None)
            else:
                self.workspace.delete(channel, message["ts"])
        elif answer.get("replace_original") and message:
            fields = content(Call(self.workspace, answer), 40_000)
            fields.setdefault("blocks", [])
            if ephemeral:
                self.workspace.edit_whisper(channel, message["ts"], fields)
            else:
                self.workspace.edit(channel, message["ts"], fields)
        else:
            self._say(channel, target["user"], message, answer)

    def _say(self, channel: str, user: str, message: Json, answer: Mapping[str, Any]) -> None:
        fields = {**BOT, **content(Call(self.workspace, answer), 40_000), "type": "message"}
        thread_ts = answer.get("thread_ts") or message.get("thread_ts")
        if thread_ts:
            fields["thread_ts"] = thread_ts
        if answer.get("response_type") == "in_channel":
            self.workspace.post(channel, fields)
        else:
            self.workspace.whisper(channel, user, fields)

    def _response_url(self, channel: str, user: str, message: Json) -> str:
        token = secrets.token_hex(16)
        self._responses[token] = {
            "channel": channel,
            "user": user,
            "message": message,
            "left": MAX_RESPONSES,
        }
        return f"{self.address}/respond/{token}"

    def _open_view(self, user: str) -> Json:
        view = self.views.top(user)
        if view is None:
            raise SlackError("not_found")
        return view

    def _after_submission(self, user: str, view: Json, answer: Json) -> None:
        action = answer.get("response_action")
        stack = self.views.stack(user)
        place = next((n for n, v in enumerate(stack) if v["id"] == view["id"]), None)
        if action == "errors" or place is None:
            return
        if action == "update":
            self.views.replace(user, place, answer["view"])
        elif action == "push":
            self.views.show(user, answer["view"], push=True)
        else:
            self.views.close(user, every=action == "clear")

    def _action(self, blocks: list[Json], action_id: str, chosen: Json) -> Json:
        for block in blocks:
            for element in [
                *block.get("elements", []),
                block.get("accessory"),
                block.get("element"),
            ]:
                if not isinstance(element, dict) or element.get("action_id") != action_id:
                    continue
                if element.get("type") not in INTERACTIVE:
                    continue
                kept = {k: element[k] for k in ("text", "value", "style") if k in element}
                return {
                    "action_id": action_id,
                    "block_id": block["block_id"],
                    "type": element["type"],
                    "action_ts": self.workspace.next_ts(),
                    **kept,
                    **_chosen(element, chosen),
                }
        raise SlackError("action_not_found")


def _chosen(element: Json, chosen: Json) -> Json:
    """Whole option objects for values that were picked, and the label of a feedback button."""
    if element["type"] == "feedback_buttons":
        buttons = [element["positive_button"], element["negative_button"]]
        value = chosen.get("value", buttons[0]["value"])
        pressed = next((b for b in buttons if b["value"] == value), buttons[0])
        return {"text": pressed["text"], "value": pressed["value"]}
    if "option" in chosen or "options" in chosen:
        groups = [group["options"] for group in element.get("option_groups", [])]
        known = {
            o["value"]: o for options in [element.get("options", []), *groups] for o in options
        }
        if "option" in chosen:
            return {"selected_option": known[chosen["option"]]}
        return {"selected_options": [known[value] for value in chosen["options"]]}
    return chosen
