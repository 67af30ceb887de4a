"""A stand-in for Slack: real Web API, Socket Mode and signed HTTP delivery, on this machine.

    with SlackStandIn(port=0) as slack:
        app = App(client=WebClient(slack.bot_token, base_url=slack.api_url))
        SocketModeHandler(app, slack.app_token).connect()
        ts = slack.post_as_user("C0SECURITY", f"<@{slack.bot_user_id}> how old may a key get?")
        reply = slack.wait_for_reply("C0SECURITY", ts, timeout=10)

Tell an app about it with SLACK_API_URL=`api_url`, SLACK_BOT_TOKEN, SLACK_APP_TOKEN and
SLACK_SIGNING_SECRET. The page at `url` shows the workspace to people.

Addresses and secrets   url, api_url, bot_token, app_token, signing_secret, bot_user_id, team_id
People do things        post_as_user, post_as_app, edit_message, delete_message, add_reaction,
                        click, click_in_view, submit_view, close_view, open_app, run_shortcut,
                        run_command, compose_link, open_details
Looking                 messages, thread, ephemerals, status, view, home, details,
                        wait_for_reply, wait_for
Delivery                use_http(url), use_socket_mode(), retry_delays, lost,
                        wait_until_delivered
Signing in              sign_in (see `sign_in.SignIn`)
Going wrong             faults (see `slack_faults.SlackFaults`), refresh_sockets(), drop_sockets(),
                        enforce_rate_limits, stream_lifetime, trigger_lifetime, ack_timeout

Methods that reach the app (`click`, `submit_view`, …) return its answer, or raise NoAnswerError
after 3 seconds. Messages are dictionaries as the Web API returns them.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from playground.page.guide import Guide, KindOfReply
from playground.page.page_server import Page
from playground.slack import tidewater
from playground.slack.colleagues import Colleagues
from playground.slack.component_actions import Interactions
from playground.slack.event_delivery import Courier, HttpDelivery, NoAnswerError
from playground.slack.event_payloads import events
from playground.slack.loopback_server import LoopThread, listen
from playground.slack.shared_files import SCOPE as FILES_SCOPE
from playground.slack.shared_files import SharedFiles
from playground.slack.sign_in import SignIn
from playground.slack.slack_faults import RateLimits, SlackFaults
from playground.slack.socket_server import SocketHub
from playground.slack.tidewater import SHOWN_QUESTIONS, ShownQuestion
from playground.slack.web_api.chat_methods import streaming
from playground.slack.web_api.dispatch import WebApi
from playground.slack.web_api.unfurl_methods import Unfurls
from playground.slack.web_api.view_methods import Views
from playground.slack.workspace import Json, SlackError, Workspace, WorkspaceChange

__all__ = [
    "SHOWN_QUESTIONS",
    "Guide",
    "KindOfReply",
    "NoAnswerError",
    "ShownQuestion",
    "SlackError",
    "SlackStandIn",
]


LOOK_SECONDS = 0.2


class SlackStandIn(Colleagues):
    """See the module's docstring. `port` is a wish: the next free one is taken; 0 is any."""

    def __init__(
        self,
        port: int = 0,
        *,
        enforce_rate_limits: bool = True,
        stream_lifetime: float = 300.0,
        shortcuts: Sequence[tuple[str, str]] = (("ask_copilot", "Ask the copilot"),),
    ) -> None:
        self.bot_token = f"xoxb-{secrets.token_hex(12)}"
        self.app_token = f"xapp-1-{tidewater.APP_ID}-{secrets.token_hex(12)}"
        self.signing_secret = secrets.token_hex(16)
        self.bot_user_id = tidewater.BOT_USER_ID
        self.team_id = tidewater.TEAM_ID
        self.shortcuts = list(shortcuts)
        self.faults = SlackFaults()
        self.workspace = Workspace()
        self.workspace.stream_lifetime = stream_lifetime
        self.views = Views(self.workspace)
        self.sockets = SocketHub(self.faults, self._presence_changed)
        self.courier = Courier(self.workspace, self.faults, self.sockets)
        self.interactions = Interactions(self.workspace, self.views, self.courier)
        self.api = WebApi(self.workspace, self.faults, RateLimits(), self.bot_token, self.app_token)
        self.api.enforce_rate_limits = enforce_rate_limits
        self.files = SharedFiles(self._may_read_files)
        self.api.methods |= self.views.methods() | Unfurls(self.views).methods()
        self.api.methods |= self.files.methods()
        self.api.methods["apps.connections.open"] = self.sockets.issue_url
        self.sign_in = SignIn(self.workspace)
        self.page = Page(self)
        self._wished_port = port
        self.port = 0
        self.server: LoopThread

    # Life

    def start(self) -> SlackStandIn:
        bound = listen(self._wished_port)
        self.port = bound.getsockname()[1]
        self.sockets.address = f"ws://127.0.0.1:{self.port}"
        self.interactions.address = self.url.rstrip("/")
        self.server = LoopThread(Starlette(routes=self._routes()), bound)
        self.server.start()
        self.workspace.listen(self._deliver)
        self.workspace.listen(self.page.tell)
        return self

    def stop(self) -> None:
        self.server.wait(self.courier.stop())
        self.server.stop()
        self.use_socket_mode()

    def __enter__(self) -> SlackStandIn:
        return self.start()

    def __exit__(self, *_raised: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def api_url(self) -> str:
        return f"{self.url}api/"

    # Looking

    def messages(self, channel: str) -> list[Json]:
        """Everything in a conversation, replies and metadata too, oldest first."""
        return self.workspace.all(self.workspace.channel(channel).id)

    def thread(self, channel: str, ts: str) -> list[Json]:
        return self.workspace.thread(self.workspace.channel(channel).id, ts)

    def ephemerals(self, user: str = tidewater.YOU) -> list[Json]:
        return [message for _, message in self.workspace.ephemerals(user)]

    def status(self, channel: str, thread_ts: str) -> str:
        """What the app says it is doing in a thread, or nothing."""
        return self.workspace.status(channel, thread_ts)

    def view(self, user: str = tidewater.YOU) -> Json | None:
        """The modal that `user` sees."""
        return self.views.top(user)

    def home(self, user: str = tidewater.YOU) -> Json | None:
        return self.views.homes.get(user)

    def details(self, user: str = tidewater.YOU) -> Json | None:
        """What the app last showed `user` of a Work Object."""
        return self.workspace.details.get(user)

    def wait_for_reply(
        self,
        channel: str,
        thread_ts: str,
        timeout: float = 120.0,
        until: Callable[[Json], bool] = lambda message: True,
    ) -> Json:
        """The app's last message in a thread, once it is no longer streaming and fits `until`.

        An app that posts a placeholder and updates it needs an `until`."""

        def reply() -> Json | None:
            for message in reversed(self.thread(channel, thread_ts)):
                if message.get("bot_id") == tidewater.BOT_ID:
                    done = not streaming(message, self.workspace.clock()) and until(message)
                    return message if done else None
            return None

        found: Json = self.wait_for(reply, timeout, f"no reply to {thread_ts} in {channel}")
        return found

    def wait_for(self, look: Callable[[], Any], timeout: float = 120.0, what: str = "") -> Any:
        """The first truthy result of `look`, tried whenever the workspace changes, and now and
        then, as it may be about something else."""
        deadline = time.monotonic() + timeout
        with self.workspace.changed:
            while not (found := look()) and time.monotonic() < deadline:
                self.workspace.changed.wait(LOOK_SECONDS)
        if not found:
            raise TimeoutError(f"{what or 'nothing happened'} within {timeout:g} s")
        return found

    def wait_until_delivered(self, timeout: float = 120.0) -> None:
        """Until the app has acknowledged, or missed for good, all that happened so far."""
        self.server.wait(self.courier.delivered(), timeout)

    # Delivery and its failures

    @property
    def retry_delays(self) -> tuple[float, ...]:
        """Seconds before each retry of an event that was not acknowledged."""
        return self.courier.retry_delays

    @retry_delays.setter
    def retry_delays(self, delays: tuple[float, ...]) -> None:
        self.courier.retry_delays = delays

    @property
    def lost(self) -> list[Json]:
        """Events given up after the last retry."""
        return self.courier.lost

    def use_http(self, url: str, *, timeout: float = 3.0) -> HttpDelivery:
        """Deliver by signed POSTs to `url` from now on, instead of Socket Mode."""
        self.use_socket_mode()
        delivery = HttpDelivery(url, self.signing_secret, timeout)
        self.courier.transport = delivery
        self._presence_changed()
        return delivery

    def use_socket_mode(self) -> None:
        if isinstance(self.courier.transport, HttpDelivery):
            self.courier.transport.close()
        self.courier.transport = self.sockets

    def refresh_sockets(self, reason: str = "refresh_requested") -> None:
        """Ask every connection to reconnect; `warning` only announces that."""
        self.server.wait(self.sockets.refresh(reason))

    def drop_sockets(self) -> None:
        """Cut every connection without a word."""
        self.server.wait(self.sockets.drop())

    # Inside

    def _routes(self) -> list[BaseRoute]:
        return [
            Route("/openid/connect/authorize", self.sign_in.authorize),
            Route("/api/openid.connect.token", self.sign_in.token, methods=["POST"]),
            Route("/api/{method}", self.api.handle, methods=["GET", "POST"]),
            WebSocketRoute("/link/", self.sockets.serve),
            Route("/files-pri/{place}/{name}", self.files.serve),
            Route("/files-pri/download/{place}/{name}", self.files.serve),
            Route("/respond/{token}", self._respond, methods=["POST"]),
            *self.page.routes(),
        ]

    def share(self, name: str, data: bytes, media_type: str = "image/png") -> Json:
        """A file object to give to `post_as_user`."""
        return self.files.put(self.url, self.workspace.next_id("F"), name, data, media_type)

    def _may_read_files(self, authorization: str) -> bool:
        return authorization == f"Bearer {self.bot_token}" and FILES_SCOPE in self.api.scopes

    async def _respond(self, request: Request) -> Response:
        try:
            self.interactions.respond(request.path_params["token"], await request.json())
        except SlackError as error:
            return JSONResponse({"ok": False, "error": error.code}, 404)
        return JSONResponse({"ok": True})

    def _deliver(self, change: WorkspaceChange) -> None:
        for event in events(change, self.workspace):
            self.server.soon(self.courier.event, event)

    def _presence_changed(self) -> None:
        self.workspace.tell(WorkspaceChange(kind="presence", detail={"online": self.online}))
