"""The page in a real browser, with a real Bolt app behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient

from playground.slack_stand_in import SlackStandIn
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium

ANSWER = (
    "Every **90 days** [[1]](https://docs.google.com/document/d/1)\n\n| EU | SG |\n|-|-|\n|90|60|"
)
CITATION = "https://docs.google.com/document/d/1"
FEEDBACK = {
    "type": "context_actions",
    "elements": [
        {
            "type": "feedback_buttons",
            "action_id": "feedback",
            "positive_button": {"text": {"type": "plain_text", "text": "Helpful"}, "value": "up"},
            "negative_button": {
                "text": {"type": "plain_text", "text": "Not helpful"},
                "value": "no",
            },
        }
    ],
}
MODAL = {
    "type": "modal",
    "callback_id": "why",
    "title": {"type": "plain_text", "text": "What went wrong?"},
    "submit": {"type": "plain_text", "text": "Send"},
    "blocks": [
        {
            "type": "input",
            "block_id": "reason",
            "label": {"type": "plain_text", "text": "Reason"},
            "element": {"type": "plain_text_input", "action_id": "text"},
        }
    ],
}


def bolt(slack: SlackStandIn) -> App:
    app = App(client=WebClient(slack.bot_token, base_url=slack.api_url))

    @app.event("app_mention")
    def answer(event: dict[str, Any], client: WebClient) -> None:
        where = {"channel": event["channel"], "thread_ts": event["ts"]}
        client.chat_postMessage(
            **where,
            text="answer",
            blocks=[
                {"type": "markdown", "text": ANSWER},
                FEEDBACK,
            ],
        )

    @app.event("message")
    def direct(event: dict[str, Any], client: WebClient) -> None:
        if event.get("channel_type") == "im" and "bot_id" not in event:
            ts = event.get("thread_ts", event["ts"])
            client.chat_postMessage(channel=event["channel"], thread_ts=ts, text="*Hello* yourself")

    @app.event("app_home_opened")
    def home(event: dict[str, Any], client: WebClient) -> None:
        blocks = [{"type": "header", "text": {"type": "plain_text", "text": "Ask me things"}}]
        client.views_publish(user_id=event["user"], view={"type": "home", "blocks": blocks})

    @app.action("feedback")
    def feedback(ack: Any, body: dict[str, Any], client: WebClient) -> None:
        ack()
        if body["actions"][0]["value"] == "no":
            client.views_open(trigger_id=body["trigger_id"], view=MODAL)

    @app.view("why")
    def why(ack: Any, view: dict[str, Any], client: WebClient) -> None:
        if len(view["state"]["values"]["reason"]["text"]["value"]) < 5:
            ack(response_action="errors", errors={"reason": "A little longer, please"})
        else:
            ack()

    return app


@pytest.fixture(scope="module")
def slack() -> Iterator[SlackStandIn]:
    with SlackStandIn(enforce_rate_limits=False) as stand_in:
        handler = SocketModeHandler(bolt(stand_in), stand_in.app_token)
        handler.connect()  # type: ignore[no-untyped-call]  # Bolt leaves it untyped
        yield stand_in
        handler.close()  # type: ignore[no-untyped-call]  # Bolt leaves it untyped


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as opened:
        yield opened


@pytest.fixture
def page(browser: Any) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    yield opened
    context.close()
    assert complaints == []


def test_a_clicked_example_is_answered_with_a_citation_and_takes_feedback(
    slack: SlackStandIn, page: Page
) -> None:
    page.goto(slack.url)
    page.get_by_role(
        "button", name="what is the overlap window of a merchant webhook secret?"
    ).click()
    thread = page.get_by_role("complementary", name="Thread")
    expect(thread.get_by_role("link", name="1")).to_have_attribute("href", CITATION)
    expect(thread.get_by_role("link", name="1")).to_have_attribute("target", "_blank")
    expect(thread.get_by_role("cell", name="60")).to_be_visible()
    thread.get_by_role("button", name="Helpful", exact=True).click()
    pressed = thread.get_by_role("button", name="Helpful", exact=True)
    expect(pressed).to_have_attribute("aria-pressed", "true")


def test_a_modal_is_filled_in_corrected_and_sent(slack: SlackStandIn, page: Page) -> None:
    ts = slack.post_as_user("C0PRIVACY", f"<@{slack.bot_user_id}> how long?")
    page.goto(f"{slack.url}archives/C0PRIVACY?thread_ts={ts}")
    page.get_by_role("button", name="Not helpful").click()
    dialog = page.get_by_role("dialog", name="What went wrong?")
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("alert")).to_have_text("Please fill this in.")
    dialog.get_by_label("Reason").fill("no")
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("alert")).to_have_text("A little longer, please")
    dialog.get_by_label("Reason").fill("The number is wrong")
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)


def test_the_keyboard_alone_is_enough_to_ask(slack: SlackStandIn, page: Page) -> None:
    page.goto(f"{slack.url}archives/C0PLATFORM")
    page.get_by_label("Message #help-platform").focus()
    page.keyboard.type("@co")
    expect(page.get_by_role("option", name="Copilot")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.keyboard.type("is a freeze on?")
    page.keyboard.press("Enter")
    thread = page.get_by_role("complementary", name="Thread")
    expect(thread.get_by_text("90 days")).to_be_visible()
    sent = [m["text"] for m in slack.messages("C0PLATFORM")]
    assert f"<@{slack.bot_user_id}> is a freeze on?" in sent
    page.keyboard.press("Escape")
    expect(thread).to_be_hidden()


def test_a_stream_and_its_status_show_live(slack: SlackStandIn, page: Page) -> None:
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    ts = slack.post_as_user("C0GENERAL", "tell me slowly")
    page.goto(f"{slack.url}archives/C0GENERAL?thread_ts={ts}")
    thread = page.get_by_role("complementary", name="Thread")
    client.assistant_threads_setStatus(
        channel_id="C0GENERAL", thread_ts=ts, status="is reading 3 documents…"
    )
    expect(thread.get_by_text("is reading 3 documents…")).to_be_visible()
    started = client.chat_startStream(
        channel="C0GENERAL",
        thread_ts=ts,
        recipient_team_id=slack.team_id,
        recipient_user_id="U0YOU",
        markdown_text="It takes ",
    )
    expect(thread.locator(".writing")).to_be_visible()
    expect(thread.get_by_text("is reading 3 documents…")).to_have_count(0)
    client.chat_appendStream(channel="C0GENERAL", ts=started["ts"], markdown_text="**45 days**")
    expect(thread.get_by_text("It takes 45 days")).to_be_visible()
    client.chat_stopStream(channel="C0GENERAL", ts=started["ts"])
    expect(thread.locator(".writing")).to_have_count(0)


def test_editing_deleting_and_reacting(slack: SlackStandIn, page: Page) -> None:
    ts = slack.post_as_user("C0GENERAL", "frist")
    page.goto(f"{slack.url}archives/C0GENERAL")
    message = page.locator(f"#channel [data-key='{ts}']")
    message.hover()
    message.get_by_role("button", name="React with eyes").click()
    expect(message.locator(".reaction")).to_have_text("👀1")
    page.get_by_label("Message #general").press("ArrowUp")
    page.get_by_label("Edit message").fill("first")
    page.keyboard.press("Enter")
    expect(message.get_by_text("(edited)")).to_be_visible()
    message.hover()
    message.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete message").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(message).to_have_count(0)


def test_markup_in_a_message_stays_text(slack: SlackStandIn, page: Page) -> None:
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    evil = "<img src=x onerror=document.title='owned'>"
    client.chat_postMessage(channel="C0GENERAL", text=evil)
    blocks = [{"type": "markdown", "text": evil}]
    client.chat_postMessage(channel="C0GENERAL", text="x", blocks=blocks)
    page.goto(f"{slack.url}archives/C0GENERAL")
    expect(page.get_by_text("onerror=document").first).to_be_visible()
    expect(page.locator("#channel .stream img")).to_have_count(0)
    assert "owned" not in page.title()


def test_the_app_has_a_home_and_a_private_chat(slack: SlackStandIn, page: Page) -> None:
    page.goto(slack.url)
    page.get_by_role("button", name="Copilot").first.click()
    page.get_by_role("tab", name="Home").click()
    expect(page.get_by_role("heading", name="Ask me things")).to_be_visible()
    page.get_by_role("tab", name="Messages").click()
    page.get_by_label("Ask Copilot anything").fill("hi")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Hello yourself")).to_be_visible()


def test_acting_as_somebody_else(slack: SlackStandIn, page: Page) -> None:
    page.goto(f"{slack.url}archives/C0GENERAL")
    page.get_by_label("Act as somebody else").select_option("U0DANA")
    page.get_by_label("Message #general").fill("Dana was here")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Dana was here")).to_be_visible()
    assert slack.messages("C0GENERAL")[-1]["user"] == "U0DANA"


def test_who_acts_as_another_finds_their_own_chat_with_the_app(
    slack: SlackStandIn, page: Page
) -> None:
    page.goto(f"{slack.url}archives/C0GENERAL")
    page.get_by_label("Act as somebody else").evaluate(
        """(choice) => {  // and opens the app before the page knows what this person may see
            choice.value = "U0DANA";
            choice.dispatchEvent(new Event("change"));
            document.querySelector(".place[data-channel^=D]").click();
        }"""
    )
    expect(page.get_by_label("Ask Copilot anything")).to_be_visible()
    expect(page.locator(".place[data-channel=D0DANA]")).to_have_attribute("aria-current", "page")


def test_a_phone_shows_one_pane_at_a_time(slack: SlackStandIn, browser: Any) -> None:
    ts = slack.post_as_user("C0SECURITY", "a thread on a phone")
    slack.post_as_user("C0SECURITY", "its reply", ts)
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(f"{slack.url}archives/C0SECURITY")
    page.get_by_role("button", name="1 reply").last.click()
    expect(page.get_by_text("its reply")).to_be_visible()
    expect(page.locator("#channel")).to_be_hidden()
    page.go_back()
    expect(page.locator("#channel")).to_be_visible()
    page.get_by_role("button", name="Channels").click()
    expect(page.get_by_role("navigation")).to_be_visible()
    overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert overflow <= 0
    context.close()


def test_a_table_is_sorted_and_turned_over_and_stays_so(slack: SlackStandIn, page: Page) -> None:
    client = WebClient(slack.bot_token, base_url=slack.api_url)

    def row(number: int) -> list[dict[str, Any]]:
        amount = {"type": "raw_number", "value": number, "text": f"{number} days"}
        return [{"type": "raw_text", "text": f"key {number:02}"}, amount]

    head = [{"type": "raw_text", "text": name} for name in ("Key", "Age")]
    rows = [head, *(row(number) for number in (9, 100, 3, 27, 41, 8, 12))]
    table = {"type": "data_table", "caption": "How old keys get", "rows": rows}
    ts = client.chat_postMessage(channel="C0PRIVACY", text="keys", blocks=[table])["ts"]
    page.goto(f"{slack.url}archives/C0PRIVACY?thread_ts={ts}")
    pane = page.get_by_role("complementary", name="Thread")
    labels = pane.get_by_role("rowheader")
    expect(labels).to_have_count(5)  # what Slack shows unless told otherwise
    expect(pane.get_by_text("1–5 of 7")).to_be_visible()
    expect(pane.get_by_role("button", name="Rows before")).to_be_disabled()
    pane.get_by_role("button", name="Age").click()
    expect(labels.first).to_have_text("key 03")
    pane.get_by_role("button", name="Age").click()
    expect(labels).to_have_text(["key 100", "key 41", "key 27", "key 12", "key 09"])
    pane.get_by_role("button", name="Rows after").click()
    expect(labels).to_have_text(["key 08", "key 03"])
    client.reactions_add(channel="C0PRIVACY", timestamp=ts, name="eyes")
    expect(pane.locator(".reaction")).to_have_count(1)
    expect(labels).to_have_text(["key 08", "key 03"])


def test_a_plan_is_opened_and_closed(slack: SlackStandIn, page: Page) -> None:
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    said = {"type": "rich_text_section", "elements": [{"type": "text", "text": "Two <b> of them"}]}
    source = {"type": "url", "url": "https://docs.example/x", "text": "The standard"}
    tasks = [
        {"task_id": "1", "title": "Searching", "status": "complete", "sources": [source]},
        {"task_id": "2", "title": "Reading", "status": "error",
         "details": {"type": "rich_text", "elements": [said]}},
        {"task_id": "3", "title": "Writing", "status": "pending"},
    ]  # fmt: skip
    plan = {"type": "plan", "title": "Looking <i>", "tasks": tasks}
    ts = client.chat_postMessage(channel="C0PRIVACY", text="plan", blocks=[plan])["ts"]
    page.goto(f"{slack.url}archives/C0PRIVACY?thread_ts={ts}")
    shown = page.get_by_role("complementary", name="Thread").locator(".plan")
    expect(shown.locator("summary")).to_have_text("Looking <i>")
    expect(shown.get_by_role("img")).to_have_count(3)
    expect(shown.locator(".task.error")).to_contain_text("Two <b> of them")
    source_link = shown.get_by_role("link", name="The standard")
    expect(source_link).to_have_attribute("href", "https://docs.example/x")
    shown.locator("summary").click()
    expect(shown.locator(".task.error")).to_be_hidden()
