"""What people do on the page, as the stand-in carries it out."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from playground.slack.colleagues import Colleagues
from playground.slack.workspace import Json, SlackError

COMMAND = re.compile(r"/[a-z][a-z0-9_-]*(\s|$)")
Action = Callable[[str, Json], Awaitable[Json | None]]
"""Takes who acts and what the page sent."""


class PageActions:
    def __init__(self, slack: Colleagues) -> None:
        self.slack = slack

    def by_name(self) -> dict[str, Action]:
        return {
            "send": self._send,
            "edit": self._edit,
            "delete": self._delete,
            "react": self._react,
            "open": self._open,
            "click": self._click,
            "click_in_view": self._click_in_view,
            "submit": self._submit,
            "close": self._close,
            "shortcut": self._shortcut,
        }

    async def _send(self, user: str, body: Json) -> Json | None:
        text = body["text"].strip()
        channel, thread_ts = body["channel"], body.get("thread_ts")
        if COMMAND.match(text):
            command, _, rest = text.partition(" ")
            await self.slack.interactions.command(command, rest, channel, user)
            return None
        if not text:
            return None
        named = self._named(text)
        return {"ts": self.slack.post_as_user(channel, named, thread_ts, user)}

    async def _edit(self, user: str, body: Json) -> None:
        self._own(user, body)
        self.slack.edit_message(body["channel"], body["ts"], self._named(body["text"].strip()))

    async def _delete(self, user: str, body: Json) -> None:
        self._own(user, body)
        self.slack.delete_message(body["channel"], body["ts"])

    async def _react(self, user: str, body: Json) -> None:
        channel, ts, name = body["channel"], body["ts"], body["name"]
        self.slack.workspace.react(channel, ts, name, user, add=body["add"])

    async def _open(self, user: str, body: Json) -> None:
        self.slack.open_app(body["tab"], user)

    async def _click(self, user: str, body: Json) -> None:
        where = (body["channel"], body["ts"], body["action_id"], user)
        await self.slack.interactions.click(*where, body["chosen"], body.get("state", {}))

    async def _click_in_view(self, user: str, body: Json) -> None:
        state = body.get("state", {})
        await self.slack.interactions.click_in_view(user, body["action_id"], body["chosen"], state)

    async def _submit(self, user: str, body: Json) -> Json:
        answer = await self.slack.interactions.submit(user, body["values"])
        return {"errors": answer["errors"]} if "errors" in answer else {}

    async def _close(self, user: str, body: Json) -> None:
        await self.slack.interactions.close(user)

    async def _shortcut(self, user: str, body: Json) -> None:
        await self.slack.interactions.shortcut(body["id"], body["channel"], body["ts"], user)

    def _own(self, user: str, body: Json) -> None:
        if self.slack.workspace.message(body["channel"], body["ts"]).get("user") != user:
            raise SlackError("cant_update_message")

    def _named(self, text: str) -> str:
        """`@Name` and `#channel`, as people type them, become references."""
        space = self.slack.workspace
        names = {f"@{p.name}": f"<@{p.id}>" for p in space.people.values()}
        names |= {f"@{g.handle}": f"<!subteam^{g.id}>" for g in space.groups.values()}
        names |= {f"#{c.name}": f"<#{c.id}>" for c in space.channels.values() if c.kind != "im"}
        longest_first = sorted(map(re.escape, names), key=len, reverse=True)
        pattern = re.compile(rf"(?<![\w<])({'|'.join(longest_first)})(?![\w-])")
        return pattern.sub(lambda match: names[match[1]], text)


def refusal(error: SlackError) -> str:
    """A sentence for the person at the page."""
    known = {
        "message_not_found": "That message is gone.",
        "not_in_channel": "You are not in that channel.",
        "cant_update_message": "Only its author can change a message.",
        "channel_not_found": "That channel doesn't exist.",
        "action_not_found": "That button is no longer there.",
        "already_reacted": "You already reacted with that.",
    }
    return known.get(error.code, f"Slack would refuse this: {error.code}")
