"""Every question that the demo suggests or asks, asked as a click on its page does it: what is
offered to a newcomer is what the copilot answers well without a model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen

import pytest

from bot.app import Bot
from bot.features.home.service import suggested_prompts
from config.domain_files import load_domains
from oncall import Copilot
from playground.google_stand_in import GoogleStandIn
from playground.slack import tidewater
from playground.slack_stand_in import SlackStandIn
from tests.demo_index import CONFIG, copy_demo_index
from tests.stand_ins import connected_settings

CHANNELS = {channel.id: channel for channel in tidewater.channels() if channel.questions}
ANSWER, PASSAGES, NOTHING = "company_specific_rag_success", "passages_found", "no_answer_found"


@dataclass(frozen=True)
class Promised:
    path: str
    fact: str
    """Words of the document that answer the question; the reply has them."""
    document: str = ""


PROMISED = {
    # Of the start of the demo: one for each kind of reply.
    "what is the overlap window of a merchant webhook secret?": Promised(
        ANSWER, "14 days", "key-rotation-standard"
    ),
    "who gets a written update of a P1, and how often?": Promised(
        PASSAGES, "Every business day", "vulnerability-management-standard"
    ),
    "what does the cafeteria serve on Fridays?": Promised(NOTHING, "found nothing that answers"),
    # In the channels.
    "may a contractor own the fix of a P2?": Promised(
        ANSWER, "Yes, an employee reviews", "vulnerability-management-standard"
    ),
    "what is the longest time for the role ledger-dba?": Promised(
        ANSWER, "4 hours in total", "privileged-access-break-glass"
    ),
    "how long do we keep failed onboarding applications in the US?": Promised(
        ANSWER, "12 mo", "data-retention-schedule"
    ),
    "what is the turnaround of Tally for a subject request?": Promised(
        ANSWER, "5 business days", "subject-request-runbook"
    ),
    "how long do we keep recorded support calls in the US?": Promised(
        ANSWER, "180 d", "data-retention-schedule"
    ),
    "what is the RTO of a T1 service?": Promised(
        ANSWER, "1 hour to full service", "service-tier-register"
    ),
    "what does a POST to /v2/refunds cost?": Promised(ANSWER, "5 units a call", "quay-rate-limits"),
    "Pilot said FROZEN and exited 41, what does that mean?": Promised(
        PASSAGES, "pilot freeze list", "change-freeze-calendar"
    ),
    # On App Home and in the agent pane.
    "how old may an API signing key get in Singapore": Promised(
        PASSAGES, "60 days", "key-rotation-standard"
    ),
    "who approves ledger access for a contractor": Promised(
        PASSAGES, "Ledger system owner", "access-control-policy"
    ),
    "who owns the fix of a P1": Promised(
        ANSWER, "An employee of the owning team", "vulnerability-management-standard"
    ),
    "how long do we keep a dismissed sanctions hit in the US": Promised(
        PASSAGES, "5 y", "data-retention-schedule"
    ),
    "who do I tell about a personal data breach": Promised(
        PASSAGES, "privacy-desk", "personal-data-breach-runbook"
    ),
    "what is the turnaround of Ledger for a subject request": Promised(
        ANSWER, "3 business days", "subject-request-runbook"
    ),
    "how many partitions does a T1 topic have at start": Promised(
        ANSWER, "12 partitions", "sluice-topic-standard"
    ),
    "how do I roll back a deploy": Promised(PASSAGES, "pilot rollback", "production-deploy-policy"),
    "what is the highest class of card-vault": Promised(
        ANSWER, "Restricted-Cardholder", "service-tier-register"
    ),
}


def offered() -> Iterator[tuple[str, str]]:
    """Where each question is to be asked, and its words."""
    for shown in tidewater.SHOWN_QUESTIONS:
        yield shown.channel, shown.text
    for channel in CHANNELS.values():
        yield from ((channel.id, question) for question in channel.questions)
    for domain in load_domains(CONFIG).values():
        yield from ((domain.channels[0], example.question) for example in domain.examples)


@dataclass(frozen=True)
class OpenDemo:
    slack: SlackStandIn
    bot: Bot

    def send(self, channel: str, text: str) -> str:
        """As the page's own script sends it."""
        body = json.dumps({"user": tidewater.YOU, "channel": channel, "text": text}).encode()
        head = {"content-type": "application/json"}
        request = Request(f"{self.slack.url}do/send", body, head)  # noqa: S310 - always http
        with urlopen(request, timeout=60) as answer:  # noqa: S310 - always http
            return str(json.load(answer)["ts"])

    def ask(self, channel: str, question: str) -> tuple[str, str]:
        """The path that was taken, and the blocks of the reply as text."""
        thread = self.send(channel, f"@Copilot {question}")

        def answered(message: dict[str, Any]) -> bool:
            payload = message.get("metadata", {}).get("event_payload", {})
            return bool(payload.get("state") == "answered")

        reply = self.slack.wait_for_reply(channel, thread, 120, until=answered)
        record = self.bot.records.of_post(channel, reply["ts"])
        assert record is not None
        return record.path, json.dumps(reply["blocks"], ensure_ascii=False)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenDemo]:
    folder = tmp_path_factory.mktemp("demo")
    with GoogleStandIn() as google, SlackStandIn() as slack:
        settings = connected_settings(folder, google, slack)
        copy_demo_index(tmp_path_factory, settings.data_dir)
        copilot = Copilot(settings.model_copy(update={"config_dir": CONFIG}))
        bot = copilot.bot()
        bot.start()
        try:
            yield OpenDemo(slack, bot)
        finally:
            bot.stop(5)
            copilot.index.close()


def test_what_is_promised_is_what_is_offered() -> None:
    assert {question for _, question in offered()} == set(PROMISED)
    assert {PROMISED[shown.text].path for shown in tidewater.SHOWN_QUESTIONS} == {
        ANSWER,
        PASSAGES,
        NOTHING,
    }


def test_every_suggestion_is_shown_as_a_whole() -> None:
    domains = list(load_domains(CONFIG).values())
    shown = {prompt["title"] for one in domains for prompt in suggested_prompts([one])}
    assert shown == {example.question for one in domains for example in one.examples}


@pytest.mark.parametrize(("channel", "question"), list(offered()))
def test_a_suggested_question_gets_the_promised_reply(
    demo: OpenDemo, channel: str, question: str
) -> None:
    promised = PROMISED[question]
    path, said = demo.ask(channel, question)
    plain = said.replace("**", "").replace("`", "").replace("*", "")
    assert promised.fact in plain
    assert f"/document/d/{promised.document}" in said
    assert path == promised.path
