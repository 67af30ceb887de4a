"""What an operator sees of questions asked in Slack: figures, the log's line, a trace."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from structlog.testing import capture_logs

from playground.slack_stand_in import SlackStandIn
from telemetry.health import health_app
from telemetry.metrics import registry
from telemetry.tracing import export_traces, flush_traces
from tests.bot.conftest import Desk, eventually, running
from tests.bot.fakes import CHANNEL, Agents, answer, domain
from tests.telemetry.otlp_collector import collector

LIMITED = "C0PRIVACY"


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    domains = {
        "security": domain(),
        "privacy": domain("privacy", LIMITED, limits={"questions_per_user_per_hour": 1}),
    }
    agents = Agents()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, tmp_path_factory.mktemp("desk"), agents, domains) as bot,
    ):
        yield Desk(slack, bot, agents)


def figure(name: str, **labels: str) -> float:
    return registry.get_sample_value(name, labels) or 0.0


@contextlib.contextmanager
def growing(name: str, by: float, **labels: str) -> Iterator[None]:
    before = figure(name, **labels)
    yield
    eventually(lambda: figure(name, **labels) == before + by)


def lines_of(logged: list[Any], channel: str = CHANNEL) -> list[Any]:
    return [one for one in logged if one["event"] == "question" and channel in one["id"]]


def test_a_mention_is_timed_to_its_first_sign_and_to_its_answer(desk: Desk) -> None:
    with (
        growing("oncall_first_sign_seconds_count", 1),
        growing("oncall_mention_to_answer_seconds_count", 1, domain="security"),
    ):
        desk.ask("how often do we rotate keys?")


def test_a_question_that_was_edited_is_not_timed_from_its_first_words(desk: Desk) -> None:
    ts, _ = desk.ask("how often do we rotate locks?")
    eventually(lambda: not desk.bot.inbox.backlog())
    before = figure("oncall_mention_to_answer_seconds_count", domain="security")
    desk.agents.reply = answer("Never [1].")
    desk.slack.edit_message(CHANNEL, ts, f"{desk.at} how often do we rotate bikes?")
    eventually(lambda: "Never" in str(desk.said(CHANNEL, ts)))
    desk.settle()
    assert figure("oncall_mention_to_answer_seconds_count", domain="security") == before


def test_a_question_in_slack_leaves_one_line_without_its_words(desk: Desk) -> None:
    desk.agents.reply = answer("Every ninety days [1].")
    with capture_logs() as logged:
        ts, _ = desk.ask("how often do we rotate keys?")
        desk.ask("and locks?", thread_ts=ts)
    first, second = lines_of(logged)
    assert (first["id"], first["door"], first["domain"]) == (
        f"{CHANNEL}:{ts}",
        "mention",
        "security",
    )
    assert first["documents"] == ["key-rotation-standard"]
    assert second["door"] == "mention"
    assert "rotate" not in str(first)
    assert "ninety" not in str(first)


def test_a_failed_question_is_counted_and_in_the_log_by_its_kind(desk: Desk) -> None:
    def fails(_: object) -> Any:
        raise RuntimeError("how often do we rotate keys?")

    desk.agents.reply = fails
    with capture_logs() as logged, growing("oncall_questions_failed_total", 1, domain="security"):
        desk.ask("how often do we rotate keys?")
    (line,) = lines_of(logged)
    assert (line["path"], line["error"]) == ("failed", "RuntimeError")


def test_what_is_refused_before_the_agents_are_asked_is_counted(desk: Desk) -> None:
    desk.ask("how often do we rotate keys?", LIMITED)
    with growing("oncall_refusals_total", 1, domain="privacy", reason="limit"):
        desk.slack.post_as_user(LIMITED, f"{desk.at} and locks?")


def test_the_socket_is_seen_to_be_opened_again(desk: Desk) -> None:
    assert figure("oncall_socket_connected") == 1
    reconnects = figure("oncall_socket_reconnects_total")
    desk.slack.drop_sockets()
    eventually(lambda: figure("oncall_socket_reconnects_total") > reconnects)
    eventually(lambda: figure("oncall_socket_connected") == 1)


def test_a_trace_leads_from_slacks_event_through_the_inbox_to_the_question(desk: Desk) -> None:
    desk.agents.reply = replace(answer(), text="Every ninety days [1].")
    with collector() as found:
        export_traces(found.address)
        try:
            desk.ask("how often do we rotate keys?")
            desk.settle()
            flush_traces()
        finally:
            export_traces(None)
    ways = [found.way_to(one) for one in found.named("question")]
    assert ways == [["slack event", "worked off", "question"]]
    assert b"rotate" not in found.raw


def test_the_figures_name_what_runs(desk: Desk) -> None:
    text = TestClient(health_app(desk.bot)).get("/metrics").text
    assert "oncall_build_info{" in text
    assert "process_resident_memory_bytes" in text
