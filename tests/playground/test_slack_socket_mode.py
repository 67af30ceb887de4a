"""Real Bolt over a real WebSocket: events, buttons, modals, streams, and what goes wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from playground.slack.workspace import Workspace
from playground.slack_stand_in import NoAnswerError, SlackStandIn

CHANNEL = "C0SECURITY"
REASON = {
    "type": "input",
    "block_id": "reason",
    "label": {"type": "plain_text", "text": "Reason"},
    "element": {"type": "plain_text_input", "action_id": "text"},
}
MODAL = {
    "type": "modal",
    "callback_id": "why",
    "private_metadata": "question-1",
    "notify_on_close": True,
    "title": {"type": "plain_text", "text": "What went wrong?"},
    "submit": {"type": "plain_text", "text": "Send"},
    "blocks": [REASON],
}
FEEDBACK = {
    "type": "context_actions",
    "elements": [
        {
            "type": "feedback_buttons",
            "action_id": "feedback",
            "positive_button": {"text": {"type": "plain_text", "text": "Good"}, "value": "up"},
            "negative_button": {"text": {"type": "plain_text", "text": "Bad"}, "value": "down"},
        }
    ],
}


@dataclass
class Bot:
    """A Bolt app that notes what it hears."""

    slack: SlackStandIn
    heard: list[dict[str, Any]] = field(default_factory=list)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def hear(self, body: dict[str, Any]) -> None:
        with self.arrived:
            self.heard.append(body)
            self.arrived.notify_all()

    def wait(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            return next((body for body in self.heard if wanted(body)), None)

        with self.arrived:
            body = self.arrived.wait_for(found, 10)
        assert body is not None, [b.get("type") for b in self.heard]
        return body

    def event(self, kind: str, **wanted: Any) -> dict[str, Any]:
        def fits(body: dict[str, Any]) -> bool:
            event = body.get("event", {})
            return bool(event.get("type") == kind and wanted.items() <= event.items())

        return self.wait(fits)


def bolt(bot: Bot) -> App:
    client = WebClient(bot.slack.bot_token, base_url=bot.slack.api_url)
    app = App(client=client)

    @app.event("app_mention")
    def mention(body: dict[str, Any], event: dict[str, Any], client: WebClient) -> None:
        bot.hear(body)
        where = {"channel": event["channel"], "thread_ts": event["ts"]}
        stream = client.chat_stream(
            **where,
            recipient_team_id=body["team_id"],
            recipient_user_id=event["user"],
            buffer_size=1,
        )
        stream.append(markdown_text="Every **90")
        stream.append(markdown_text=" days** [1]")
        stream.stop(blocks=[FEEDBACK])

    for kind in ("message", "reaction_added", "app_home_opened"):

        @app.event(kind)
        def listen(body: dict[str, Any]) -> None:
            bot.hear(body)

    @app.action("feedback")
    def feedback(ack: Any, body: dict[str, Any], client: WebClient) -> None:
        ack()
        bot.hear(body)
        if body["actions"][0]["value"] == "down":
            client.views_open(trigger_id=body["trigger_id"], view=MODAL)

    @app.view("why")
    def submitted(ack: Any, body: dict[str, Any], view: dict[str, Any]) -> None:
        bot.hear(body)
        if not view["state"]["values"]["reason"]["text"]["value"]:
            ack(response_action="errors", errors={"reason": "Say a little more"})
        else:
            ack()

    @app.view_closed("why")
    def closed(ack: Any, body: dict[str, Any]) -> None:
        ack()
        bot.hear(body)

    @app.shortcut("ask_copilot")
    def shortcut(ack: Any, body: dict[str, Any], respond: Any) -> None:
        ack()
        bot.hear(body)
        respond(text="On it", response_type="ephemeral")

    @app.command("/copilot")
    def command(ack: Any, body: dict[str, Any]) -> None:
        bot.hear(body)
        ack("Ask me in a help channel")

    return app


@pytest.fixture(scope="module")
def bot() -> Iterator[Bot]:
    with SlackStandIn(enforce_rate_limits=False) as slack:
        heard = Bot(slack)
        handler = SocketModeHandler(bolt(heard), slack.app_token)
        handler.connect()  # type: ignore[no-untyped-call]  # Bolt leaves it untyped
        yield heard
        handler.close()  # type: ignore[no-untyped-call]  # Bolt leaves it untyped


@pytest.fixture
def slack(bot: Bot) -> Iterator[SlackStandIn]:
    bot.heard.clear()
    yield bot.slack
    bot.slack.faults.clear()


def ask(slack: SlackStandIn) -> tuple[str, dict[str, Any]]:
    ts = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> how old may a key get?")
    return ts, slack.wait_for_reply(CHANNEL, ts, 10)


def test_a_mention_is_answered_by_a_stream(slack: SlackStandIn, bot: Bot) -> None:
    ts, reply = ask(slack)
    assert reply["text"] == "Every **90 days** [1]"
    assert reply["thread_ts"] == ts
    assert [block["type"] for block in reply["blocks"]] == ["markdown", "context_actions"]
    body = bot.event("app_mention", ts=ts)
    assert body["event"]["user"] == "U0YOU"
    assert body["authorizations"][0]["user_id"] == slack.bot_user_id
    bot.event("message", ts=ts)


def test_a_mention_inside_code_is_no_mention(slack: SlackStandIn, bot: Bot) -> None:
    ts = slack.post_as_user(CHANNEL, f"write `<@{slack.bot_user_id}>` to ask")
    bot.event("message", ts=ts)
    assert not [b for b in bot.heard if b["event"]["type"] == "app_mention"]


def test_direct_messages_arrive_as_im(slack: SlackStandIn, bot: Bot) -> None:
    ts = slack.post_as_user("D0YOU", "hello")
    assert bot.event("message", ts=ts)["event"]["channel_type"] == "im"


def test_edits_deletions_and_reactions_are_told(slack: SlackStandIn, bot: Bot) -> None:
    ts = slack.post_as_user(CHANNEL, "frist")
    slack.edit_message(CHANNEL, ts, "first")
    changed = bot.event("message", subtype="message_changed")["event"]
    assert (changed["message"]["text"], changed["previous_message"]["text"]) == ("first", "frist")
    slack.add_reaction(CHANNEL, ts, "white_check_mark", user="U0INES")
    item = bot.event("reaction_added")["event"]
    assert (item["item"]["ts"], item["user"], item["item_user"]) == (ts, "U0INES", "U0YOU")
    slack.delete_message(CHANNEL, ts)
    assert bot.event("message", subtype="message_deleted")["event"]["deleted_ts"] == ts


def test_an_alert_arrives_with_its_attachments(slack: SlackStandIn, bot: Bot) -> None:
    ts = slack.post_as_app(CHANNEL, attachments=[{"text": "disk 96% full"}])
    event = bot.event("message", ts=ts)["event"]
    assert event["bot_id"] == "B0BEACON"
    assert event["attachments"][0]["text"] == "disk 96% full"


def test_channels_without_the_app_stay_private(slack: SlackStandIn, bot: Bot) -> None:
    slack.post_as_user("C0QUIET", "nobody listens here")
    ts = slack.post_as_user(CHANNEL, "but here")
    bot.event("message", ts=ts)
    assert {body["event"]["channel"] for body in bot.heard} == {CHANNEL}


def test_opening_the_app_is_told_with_its_tab(slack: SlackStandIn, bot: Bot) -> None:
    slack.open_app("messages", user="U0INES")
    event = bot.event("app_home_opened")["event"]
    assert (event["tab"], event["channel"]) == ("messages", "D0INES")


def test_a_feedback_button_opens_a_modal_that_can_be_corrected_and_sent(
    slack: SlackStandIn, bot: Bot
) -> None:
    _, reply = ask(slack)
    slack.click(CHANNEL, reply["ts"], "feedback", chosen={"value": "down"})
    slack.wait_for(slack.view, 10)
    pressed = bot.wait(lambda body: body["type"] == "block_actions")
    assert pressed["actions"][0]["text"]["text"] == "Bad"
    assert pressed["container"]["message_ts"] == reply["ts"]
    empty = {"reason": {"text": {"type": "plain_text_input", "value": None}}}
    answer = slack.submit_view(empty)
    assert answer == {"response_action": "errors", "errors": {"reason": "Say a little more"}}
    assert slack.view()
    full = {"reason": {"text": {"type": "plain_text_input", "value": "wrong table"}}}
    assert slack.submit_view(full) == {}
    assert slack.view() is None
    submissions = [b for b in bot.heard if b["type"] == "view_submission"]
    assert submissions[-1]["view"]["private_metadata"] == "question-1"
    assert submissions[-1]["view"]["state"]["values"] == full


def test_dismissing_a_modal_is_told(slack: SlackStandIn, bot: Bot) -> None:
    _, reply = ask(slack)
    slack.click(CHANNEL, reply["ts"], "feedback", chosen={"value": "down"})
    slack.wait_for(slack.view, 10)
    slack.close_view()
    assert bot.wait(lambda body: body["type"] == "view_closed")["is_cleared"] is False
    assert slack.view() is None


def test_a_trigger_works_once_and_not_for_long(slack: SlackStandIn) -> None:
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    trigger = slack.views.trigger("U0MAREK")
    client.views_open(trigger_id=trigger, view=MODAL)
    with pytest.raises(SlackApiError, match="invalid_trigger_id"):
        client.views_open(trigger_id=trigger, view=MODAL)
    slack.views.trigger_lifetime = -1
    with pytest.raises(SlackApiError, match="expired_trigger_id"):
        client.views_open(trigger_id=slack.views.trigger("U0MAREK"), view=MODAL)
    slack.views.trigger_lifetime = 3.0
    slack.views.close("U0MAREK", every=True)


def test_a_modal_with_inputs_needs_a_submit_button(slack: SlackStandIn) -> None:
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    view = {name: value for name, value in MODAL.items() if name != "submit"}
    with pytest.raises(SlackApiError, match="invalid_arguments"):
        client.views_open(trigger_id=slack.views.trigger("U0YOU"), view=view)


def test_the_app_home_is_published_for_one_person(slack: SlackStandIn) -> None:
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    blocks = [{"type": "markdown", "text": "# Hello Ines"}]
    client.views_publish(user_id="U0INES", view={"type": "home", "blocks": blocks})
    home = slack.home("U0INES")
    assert home
    assert home["blocks"][0]["text"] == "# Hello Ines"
    assert slack.home("U0MAREK") is None


def test_a_shortcut_can_be_answered_through_its_response_url(slack: SlackStandIn, bot: Bot) -> None:
    ts = slack.post_as_user(CHANNEL, "how old may a key get?", user="U0INES")
    slack.run_shortcut("ask_copilot", CHANNEL, ts)
    slack.wait_for(lambda: [m for m in slack.ephemerals() if m["text"] == "On it"], 10)
    assert bot.wait(lambda body: body["type"] == "message_action")["message"]["ts"] == ts


def test_a_slash_command_is_answered_in_its_acknowledgement(slack: SlackStandIn) -> None:
    answer = slack.run_command("/copilot", "help", CHANNEL)
    assert answer["text"] == "Ask me in a help channel"
    assert slack.ephemerals()[-1]["text"] == "Ask me in a help channel"


def test_a_lost_acknowledgement_brings_the_event_again(slack: SlackStandIn, bot: Bot) -> None:
    slack.sockets.ack_timeout = 0.2
    slack.retry_delays = (0.0,)
    slack.faults.drop_acks = 50  # own messages are acknowledged as well
    ts = slack.post_as_user("C0GENERAL", "hello?")
    first = bot.event("message", ts=ts)
    twice = bot.wait(lambda b: b is not first and b.get("event_id") == first["event_id"])
    assert twice["event"]["ts"] == ts
    slack.sockets.ack_timeout = 3.0


def test_an_event_can_arrive_several_times(slack: SlackStandIn, bot: Bot) -> None:
    slack.faults.deliver_times = 3
    slack.faults.scatter = 0.05
    ts = slack.post_as_user("C0GENERAL", "thrice")

    def copies() -> int:
        return len([b for b in bot.heard if b["event"]["ts"] == ts])

    with bot.arrived:
        assert bot.arrived.wait_for(lambda: copies() == 3, 10)
    assert len({b["event_id"] for b in bot.heard}) == 1


def test_a_press_that_nobody_acknowledges_is_an_error(slack: SlackStandIn) -> None:
    _, reply = ask(slack)
    slack.sockets.ack_timeout = 0.2
    slack.faults.drop_acks = 50  # own messages are acknowledged as well
    with pytest.raises(NoAnswerError):
        slack.click(CHANNEL, reply["ts"], "feedback", chosen={"value": "up"})
    slack.sockets.ack_timeout = 3.0


def test_events_wait_while_the_app_reconnects(slack: SlackStandIn, bot: Bot) -> None:
    slack.sockets.refresh_grace = 0.2
    slack.refresh_sockets()
    ts = slack.post_as_user("C0GENERAL", "anybody there?")
    bot.event("message", ts=ts)
    assert slack.online


def test_a_ticket_opens_one_connection_only(slack: SlackStandIn) -> None:
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    client = WebClient(base_url=slack.api_url)
    url = client.apps_connections_open(app_token=slack.app_token)["url"]
    with connect(url) as opened:
        assert '"hello"' in str(opened.recv())
    with pytest.raises(InvalidStatus), connect(url):
        pass


def test_event_ids_are_not_used_again_after_a_restart() -> None:
    ids = {Workspace().next_id("Ev") for _ in range(20)}
    assert len(ids) == 20


def test_it_stops_at_once_when_the_app_dies_at_that_moment() -> None:
    from websockets.sync.client import connect

    with SlackStandIn() as slack:
        client = WebClient(base_url=slack.api_url)
        with connect(client.apps_connections_open(app_token=slack.app_token)["url"]) as app:
            app.recv()  # hello
            slack.post_as_user(CHANNEL, "an event that is never acknowledged")
            app.recv()

            async def dies_and_stop() -> None:
                """The connection is lost and the delivery cancelled in one turn of the loop."""
                for connection in slack.sockets.connections:
                    for acknowledgement in connection.waiting.values():
                        acknowledgement.set_exception(ConnectionError("connection closed"))
                await slack.courier.stop()

            slack.server.wait(dies_and_stop(), timeout=60)
