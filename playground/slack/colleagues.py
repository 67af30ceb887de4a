"""What people in the workspace do, for tests and demos that have no page open."""

from __future__ import annotations

import secrets
from collections.abc import Coroutine, Sequence
from typing import Any

from playground.slack import tidewater
from playground.slack.component_actions import Interactions
from playground.slack.event_delivery import Courier, HttpDelivery
from playground.slack.event_payloads import entity_details, home_opened
from playground.slack.loopback_server import LoopThread
from playground.slack.shared_links import composed
from playground.slack.socket_server import SocketHub
from playground.slack.web_api.view_methods import Views
from playground.slack.wire_text import rich_text, typed
from playground.slack.workspace import Json, SlackError, Workspace


class Colleagues:
    """The half of `SlackStandIn` that acts; callable from any thread but the server's own."""

    bot_user_id: str
    shortcuts: list[tuple[str, str]]
    """Message shortcuts of the app: callback id and title."""
    workspace: Workspace
    views: Views
    courier: Courier
    interactions: Interactions
    server: LoopThread
    sockets: SocketHub

    @property
    def online(self) -> bool:
        """Whether the app can be reached."""
        return isinstance(self.courier.transport, HttpDelivery) or self.sockets.open > 0

    def post_as_user(
        self,
        channel: str,
        text: str,
        thread_ts: str | None = None,
        user: str = tidewater.YOU,
        files: Sequence[Json] = (),
    ) -> str:
        """Post what `user` typed, mentions written as `<@U…>`; returns its `ts`."""
        where = self.workspace.channel(channel)
        if user not in where.members:
            raise SlackError("not_in_channel")
        wire = typed(text)
        fields: Json = {
            "user": user,
            "text": wire,
            "team": self.workspace.people[user].team_id,
            "client_msg_id": secrets.token_hex(8),
            "blocks": rich_text(wire),
        }
        if thread_ts:
            fields["thread_ts"] = thread_ts
        if files:
            fields |= {"files": list(files), "subtype": "file_share"}
        return str(self.workspace.post(where.id, fields)["ts"])

    def post_as_app(
        self,
        channel: str,
        text: str = "",
        *,
        blocks: Sequence[Json] = (),
        attachments: Sequence[Json] = (),
        thread_ts: str | None = None,
        user: str = "U0BEACON",
    ) -> str:
        """Post as another app, such as the alerting bot Beacon; returns its `ts`."""
        person = self.workspace.people[user]
        fields: Json = {
            "user": user,
            "bot_id": person.bot_id,
            "subtype": "bot_message",
            "text": text,
            "team": tidewater.TEAM_ID,
        }
        optional = {"blocks": blocks, "attachments": attachments, "thread_ts": thread_ts}
        fields |= {name: value for name, value in optional.items() if value}
        return str(self.workspace.post(self.workspace.channel(channel).id, fields)["ts"])

    def edit_message(self, channel: str, ts: str, text: str) -> None:
        """Its author changes a typed message."""
        wire = typed(text)
        author = self.workspace.message(channel, ts)["user"]
        edited = {"user": author, "ts": self.workspace.next_ts()}
        fields = {"text": wire, "blocks": rich_text(wire), "edited": edited}
        self.workspace.edit(channel, ts, fields)

    def delete_message(self, channel: str, ts: str) -> None:
        self.workspace.delete(channel, ts)

    def add_reaction(self, channel: str, ts: str, name: str, user: str = tidewater.YOU) -> None:
        self.workspace.react(channel, ts, name, user)

    def click(
        self,
        channel: str,
        ts: str,
        action_id: str,
        user: str = tidewater.YOU,
        *,
        chosen: Json | None = None,
        state: Json | None = None,
    ) -> Json:
        """Press a button (`chosen={"value": …}` picks one of two feedback buttons) or choose
        from a menu (`chosen={"option": value}` or `{"options": […]}`)."""
        work = self.interactions.click(channel, ts, action_id, user, chosen or {}, state or {})
        return self._answer(work)

    def click_in_view(
        self, action_id: str, user: str = tidewater.YOU, *, chosen: Json | None = None
    ) -> Json:
        return self._answer(self.interactions.click_in_view(user, action_id, chosen or {}, {}))

    def submit_view(self, values: Json, user: str = tidewater.YOU) -> Json:
        """Submit the modal that `user` sees. `values`: block id → action id → value, e.g.
        `{"reason": {"text": {"type": "plain_text_input", "value": "wrong table"}}}`."""
        return self._answer(self.interactions.submit(user, values))

    def close_view(self, user: str = tidewater.YOU) -> None:
        self._answer(self.interactions.close(user))

    def open_app(self, tab: str = "messages", user: str = tidewater.YOU) -> None:
        """Open the app's `home` or `messages` tab."""
        event = home_opened(user, tab, self.workspace, self.views.homes.get(user))
        self.server.soon(self.courier.event, event)

    def compose_link(self, url: str, user: str = tidewater.YOU) -> None:
        """Type a link, and not send it."""
        self.server.soon(self.courier.event, composed(user, url, self.workspace))

    def open_details(self, channel: str, ts: str, url: str, user: str = tidewater.YOU) -> None:
        """Click on the Work Object that stands for a link of a message."""
        where = self.workspace.channel(channel)
        if user not in where.members:
            raise SlackError("not_in_channel")
        message = self.workspace.message(where.id, ts)
        trigger = self.views.trigger(user)
        event = entity_details(user, url, message, where.id, trigger, self.workspace)
        self.server.soon(self.courier.event, event)

    def run_shortcut(
        self, callback_id: str, channel: str, ts: str, user: str = tidewater.YOU
    ) -> Json:
        return self._answer(self.interactions.shortcut(callback_id, channel, ts, user))

    def run_command(self, command: str, text: str, channel: str, user: str = tidewater.YOU) -> Json:
        return self._answer(self.interactions.command(command, text, channel, user))

    def _answer(self, work: Coroutine[Any, Any, Json | None]) -> Json:
        answer = self.server.wait(work)
        return answer or {}
