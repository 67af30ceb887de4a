"""The page: its files, what it shows, what people do on it, and live updates."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from playground import slack_tidewater as tidewater
from playground.slack_delivery import NoAnswerError
from playground.slack_markup import Markup
from playground.slack_render import Render
from playground.slack_workspace import Change, Json, SlackError

if TYPE_CHECKING:
    from playground.slack import SlackStandIn

FOLDER = Path(__file__).parent / "page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}
LOCAL = re.compile(r"(127\.0\.0\.1|localhost)(:\d+)?")
COMMAND = re.compile(r"/[a-z][a-z0-9_-]*(\s|$)")
RECENT = 400
"""Messages of a channel that the page starts with."""


@dataclass(eq=False)
class Viewer:
    """One open page and the person it acts as."""

    user: str
    queue: asyncio.Queue[Json] = field(default_factory=lambda: asyncio.Queue(2000))


class Page:
    def __init__(self, slack: SlackStandIn) -> None:
        self.slack = slack
        self.render = Render(Markup(slack.workspace))
        self.viewers: set[Viewer] = set()
        self.actions: dict[str, Callable[[str, Json], Awaitable[Json | None]]] = {
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

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/", self._index),
            Route("/archives/{channel}", self._index),
            Route("/archives/{channel}/{message}", self._index),
            Mount("/page", StaticFiles(directory=FOLDER)),
            Route("/do/state", self._state),
            Route("/do/{action}", self._do, methods=["POST"]),
            WebSocketRoute("/do/live", self._live),
        ]

    # What it shows

    async def _index(self, request: Request) -> Response:
        return FileResponse(FOLDER / "index.html", headers=HEADERS)

    async def _state(self, request: Request) -> Response:
        if not _local(request):
            return Response(status_code=403)
        return JSONResponse(
            self.state(request.query_params.get("user", tidewater.YOU)), headers=HEADERS
        )

    def state(self, user: str) -> Json:
        """Everything that `user` may see."""
        space = self.slack.workspace
        with space.changed:
            if user not in space.people or space.people[user].bot_id:
                user = tidewater.YOU
            seen = [c for c in space.channels.values() if user in c.members]
            whispers = [self.ephemeral(c, m) for c, m in space.ephemerals(user)]
            return {
                "team": tidewater.TEAM_NAME,
                "user": user,
                "bot": self.slack.bot_user_id,
                "online": self.slack.online,
                "people": [_person(person) for person in space.people.values()],
                "groups": [
                    {"id": g.id, "handle": g.handle, "name": g.name} for g in space.groups.values()
                ],
                "channels": [_channel(channel) for channel in seen],
                "messages": {
                    c.id: [self.render.message(m) for m in space.all(c.id)[-RECENT:]] for c in seen
                },
                "ephemerals": whispers,
                "statuses": [
                    {**detail, "channel": channel, "thread_ts": ts}
                    for (channel, ts), detail in space.statuses.items()
                ],
                "prompts": space.prompts,
                "titles": [
                    {"channel": c, "thread_ts": ts, "title": t}
                    for (c, ts), t in space.titles.items()
                ],
                "view": self.render.decorated(self.slack.views.top(user)),
                "home": self.render.decorated(self.slack.views.homes.get(user)),
                "shortcuts": [{"id": name, "title": title} for name, title in self.slack.shortcuts],
            }

    def ephemeral(self, channel: str, message: Json) -> Json:
        return {**self.render.message(message), "channel": channel}

    # Live updates

    def tell(self, change: Change) -> None:
        """Called under the workspace's lock, from any thread."""
        update = self._update(change)
        self.slack.server.soon(self._spread, change, update)

    def _update(self, change: Change) -> Json:
        if change.kind in ("posted", "changed", "streamed", "reaction_added", "reaction_removed"):
            shown = self.render.message(change.message)
            return {"kind": "message", "channel": change.channel, "message": shown}
        if change.kind == "ephemeral":
            return {"kind": "ephemeral", "message": self.ephemeral(change.channel, change.message)}
        if change.kind == "deleted":
            return {"kind": "deleted", "channel": change.channel, "ts": change.previous["ts"]}
        detail = self.render.decorated(change.detail)
        return {"kind": change.kind, "channel": change.channel, "detail": detail}

    def _spread(self, change: Change, update: Json) -> None:
        channel = self.slack.workspace.channels.get(change.channel)
        private = change.kind in ("ephemeral", "view", "home") or (
            change.kind == "deleted" and change.user
        )
        for viewer in self.viewers:
            if private and change.user != viewer.user:
                continue
            if channel and viewer.user not in channel.members:
                continue
            if not viewer.queue.full():
                viewer.queue.put_nowait(update)

    async def _live(self, socket: WebSocket) -> None:
        if not _local(socket):
            await socket.close(code=1008)
            return
        await socket.accept()
        viewer = Viewer(socket.query_params.get("user", tidewater.YOU))
        self.viewers.add(viewer)
        sender = asyncio.create_task(self._send_updates(socket, viewer))
        try:
            while True:
                await socket.receive_text()
        except (WebSocketDisconnect, RuntimeError):
            pass  # the page was closed
        finally:
            self.viewers.discard(viewer)
            sender.cancel()

    async def _send_updates(self, socket: WebSocket, viewer: Viewer) -> None:
        await socket.send_text(json.dumps({"kind": "state", "state": self.state(viewer.user)}))
        while True:
            await socket.send_text(json.dumps(await viewer.queue.get()))

    # What people do

    async def _do(self, request: Request) -> Response:
        """JSON bodies only, so that no other site's form can act here."""
        action = self.actions.get(request.path_params["action"])
        is_json = request.headers.get("content-type", "").startswith("application/json")
        if not _local(request) or not is_json or action is None:
            return Response(status_code=404 if action is None else 403)
        try:
            body = await request.json()
            answer = await action(body["user"], body)
        except SlackError as error:
            return JSONResponse({"error": _refusal(error)}, 400)
        except NoAnswerError:
            return JSONResponse({"error": "Copilot didn't answer in time. Try again."}, 504)
        except (ValueError, KeyError, TypeError):
            return JSONResponse({"error": "That request made no sense here."}, 400)
        return JSONResponse(answer or {})

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


def _local(connection: HTTPConnection) -> bool:
    """Only this machine's own page: other sites, and names that lead here, are refused."""
    host = connection.headers.get("host", "")
    origin = connection.headers.get("origin")
    return bool(LOCAL.fullmatch(host)) and origin in (None, f"http://{host}")


def _person(person: tidewater.Person) -> Json:
    return {
        "id": person.id,
        "name": person.name,
        "title": person.title,
        "bot": bool(person.bot_id),
    }


def _channel(channel: tidewater.Channel) -> Json:
    return {
        "id": channel.id,
        "name": channel.name,
        "topic": channel.topic,
        "kind": channel.kind,
        "questions": channel.questions,
        "members": len(channel.members),
        "hasBot": tidewater.BOT_USER_ID in channel.members,
    }


def _refusal(error: SlackError) -> str:
    known = {
        "message_not_found": "That message is gone.",
        "not_in_channel": "You are not in that channel.",
        "cant_update_message": "Only its author can change a message.",
        "channel_not_found": "That channel doesn't exist.",
        "action_not_found": "That button is no longer there.",
        "already_reacted": "You already reacted with that.",
    }
    return known.get(error.code, f"Slack would refuse this: {error.code}")
