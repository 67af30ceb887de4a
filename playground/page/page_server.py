"""The page: its files, what it shows, what people do on it, and live updates."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from playground.page.guide import Guide
from playground.page.page_actions import PageActions, refusal
from playground.page.safe_markup import Markup
from playground.page.shown_messages import Render
from playground.slack import tidewater
from playground.slack.colleagues import Colleagues
from playground.slack.event_delivery import NoAnswerError
from playground.slack.workspace import Json, SlackError, WorkspaceChange

FOLDER = Path(__file__).parent / "assets"
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
RECENT = 400
"""Messages of a channel that the page starts with."""


@dataclass(eq=False)
class Viewer:
    """One open page and the person it acts as."""

    user: str
    queue: asyncio.Queue[Json] = field(default_factory=lambda: asyncio.Queue(2000))


class Page:
    def __init__(self, slack: Colleagues) -> None:
        self.slack = slack
        self.render = Render(Markup(slack.workspace))
        self.viewers: set[Viewer] = set()
        self.actions = PageActions(slack).by_name()
        self.guide = Guide()

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
                "guide": self.guide.shown(),
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

    def show(self, guide: Guide) -> None:
        """On every open page, and on those that are opened later."""
        self.guide = guide
        self.tell(WorkspaceChange(kind="guide", detail=guide.shown()))

    def tell(self, change: WorkspaceChange) -> None:
        """Called under the workspace's lock, from any thread."""
        if not self.viewers:
            return
        update = self._update(change)
        self.slack.server.soon(self._spread, change, update)

    def _update(self, change: WorkspaceChange) -> Json:
        if change.kind in ("posted", "changed", "streamed", "reaction_added", "reaction_removed"):
            shown = self.render.message(change.message)
            return {"kind": "message", "channel": change.channel, "message": shown}
        if change.kind == "ephemeral":
            return {"kind": "ephemeral", "message": self.ephemeral(change.channel, change.message)}
        if change.kind == "deleted":
            return {"kind": "deleted", "channel": change.channel, "ts": change.previous["ts"]}
        detail = self.render.decorated(change.detail)
        return {"kind": change.kind, "channel": change.channel, "detail": detail}

    def _spread(self, change: WorkspaceChange, update: Json) -> None:
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
            return JSONResponse({"error": refusal(error)}, 400)
        except NoAnswerError:
            return JSONResponse({"error": "Copilot didn't answer in time. Try again."}, 504)
        except (ValueError, KeyError, TypeError, AttributeError):
            return JSONResponse({"error": "That request made no sense here."}, 400)
        return JSONResponse(answer or {})


def _local(connection: HTTPConnection) -> bool:
    """Only this machine's own page: other sites, and names that lead here, are refused."""
    host = connection.headers.get("host", "")
    origin = connection.headers.get("origin")
    return bool(LOCAL.fullmatch(host)) and origin in (None, f"http://{host}")


def _person(person: tidewater.SlackUser) -> Json:
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
