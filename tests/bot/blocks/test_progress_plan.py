"""Steps while an answer is made: a plan, one line, or a placeholder, by what a workspace has."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.answer import Question
from agents.steps import Progress, Step
from bot.blocks.fallbacks import fallback_versions
from bot.blocks.plan import WRITING, ProgressPlan, changes, current_status, plan_block
from bot.blocks.render import working
from bot.slack.client import UNSUPPORTED_SECONDS, UnsupportedFeatures
from playground.slack.rules.block_rules import problems
from playground.slack_stand_in import SlackStandIn
from tests.bot.conftest import DOMAINS, Desk, answered, running, words
from tests.bot.fakes import CHANNEL, Agents, answer

TABLE = "| Key | Age |\n|---|---|\n| API key | 60 days |\n| Webhook | 365 days |\n"


def states(plan: ProgressPlan) -> list[str]:
    return [step.state for step in plan.steps]


def test_a_step_that_begins_ends_the_one_before() -> None:
    plan = ProgressPlan(title="Looking…")
    assert states(plan) == ["pending"] * 4
    plan = plan.doing(Step.UNDERSTAND, "Understanding the question…").doing(
        Step.READ, "Reading 3 documents…"
    )
    assert states(plan) == ["complete", "pending", "in_progress", "pending"]
    assert [step.title for step in plan.steps][::2] == [
        "Understanding the question", "Reading 3 documents…"
    ]  # fmt: skip
    plan = plan.writing()
    assert plan.title == WRITING
    assert states(plan) == ["complete", "pending", "complete", "in_progress"]
    assert plan.writing() is plan


def test_what_failed_says_how_far_it_came() -> None:
    plan = ProgressPlan(title="Looking…").doing(Step.SEARCH, "Searching 3 documents…").failed()
    assert states(plan) == ["error"]
    assert current_status(plan_block(plan)) == "Searching 3 documents"


def test_a_stream_is_told_only_what_changed() -> None:
    before = ProgressPlan(title="Looking…").doing(Step.SEARCH, "Searching…")
    after = before.doing(Step.READ, "Reading 3 documents…")
    assert [chunk["id"] for chunk in changes(before, after)] == ["search", "read"]
    assert list(changes(after, after)) == []
    assert [chunk["type"] for chunk in changes(None, before)].count("plan_update") == 1


def test_every_line_of_the_agents_is_of_a_known_step() -> None:
    """Else it would stand below the steps that are still to come."""
    reported = {
        name
        for path in Path("agents").rglob("*.py")
        for name in re.findall(r"\.step\(Step\.([A-Z]+), ", path.read_text(encoding="utf-8"))
    }
    assert reported == set(Step.__members__)
    for name in reported:
        ids = [step.id for step in ProgressPlan(title="x").doing(Step[name], "…").steps]
        assert ids == ["understand", "search", "read", "write", *["check"] * (name == "CHECK")]


def test_however_many_steps_there_are_slack_takes_them() -> None:
    plan = ProgressPlan(title="x" * 999)
    for step in [*Step] * 12:
        plan = plan.doing(step, "y" * 999)
    for form in fallback_versions(working(plan)):
        assert problems(form.blocks) == []
    assert all(len(chunk["title"]) <= 256 for chunk in changes(None, plan))


def test_what_was_refused_is_tried_again_after_a_while() -> None:
    now = 0.0
    lacking = UnsupportedFeatures(lambda: now)
    lacking.note(["plan"])
    assert lacking.any_of(["plan", "table"])
    now = UNSUPPORTED_SECONDS + 1
    assert not lacking.any_of(["plan"])


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    agents = Agents()
    with (
        SlackStandIn(enforce_rate_limits=False) as slack,
        running(slack, tmp_path_factory.mktemp("w"), agents, DOMAINS, streaming=True) as bot,
    ):
        yield Desk(slack, bot, agents)


class Held:
    """Agents that wait after their steps, so that what is shown can be looked at."""

    def __init__(self, desk: Desk) -> None:
        self.go = threading.Event()
        self._desk = desk
        desk.bot.attempts.pace.streams_until = 0.0
        desk.agents.tell = self._tell

    def _tell(self, progress: Progress) -> None:
        progress.step(Step.UNDERSTAND, "Understanding the question…")
        progress.step(Step.READ, "Reading 3 documents…")
        self.go.wait(20)
        progress.delta("Every 90 days. ")

    def seen(self, ts: str, words_there: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            said = self._desk.said(CHANNEL, ts)[:1]
            return next((m for m in said if words_there in words(m)), None)

        found: dict[str, Any] = self._desk.slack.wait_for(look)
        return found


def begun(desk: Desk) -> tuple[Held, str]:
    held = Held(desk)
    return held, desk.slack.post_as_user(CHANNEL, f"{desk.at} how often?")


def finished(desk: Desk, held: Held, ts: str) -> dict[str, Any]:
    held.go.set()
    reply: dict[str, Any] = desk.slack.wait_for_reply(CHANNEL, ts, until=answered)
    assert len(desk.said(CHANNEL, ts)) == 1
    return reply


def test_steps_are_shown_as_a_plan_and_all_of_them(desk: Desk) -> None:
    held, ts = begun(desk)
    (plan,) = held.seen(ts, "Reading 3 documents…")["blocks"]
    assert plan["type"] == "plan"
    assert plan["title"] == "Looking through the documents…"
    assert [task["status"] for task in plan["tasks"]] == [
        "complete", "pending", "in_progress", "pending"
    ]  # fmt: skip
    reply = finished(desk, held, ts)
    assert not any(block["type"] == "plan" for block in reply["blocks"])


def starts(desk: Desk, calls: list[str]) -> int:
    return sum(call == "chat.startStream" for call in calls)


@pytest.mark.parametrize(
    ("unsupported", "kind"),
    [
        ({"task_display_mode"}, "task_card"),
        ({"plan_update"}, "task_card"),
        ({"task_display_mode", "task_update"}, "plan"),
        ({"task_display_mode", "task_update", "plan"}, "context"),
    ],
)
def test_a_workspace_that_lacks_plans_shows_what_it_has(
    desk: Desk, unsupported: set[str], kind: str
) -> None:
    desk.slack.workspace.unsupported = frozenset(unsupported)
    for _ in range(2):  # the second time it is known
        held, ts = begun(desk)
        message = held.seen(ts, "Reading 3 documents…")
        assert [block["type"] for block in message["blocks"]] == [kind]
        assert "90 days" in words(finished(desk, held, ts))
    assert desk.bot.web.unsupported.any_of(unsupported)


def test_a_workspace_that_lacks_tables_with_pages_gets_the_older_kind_and_is_not_asked_twice(
    desk: Desk,
) -> None:
    desk.slack.workspace.unsupported = frozenset(("data_table",))
    desk.agents.reset(answer(TABLE))
    for _ in range(2):
        _, reply = desk.ask("how old?")
        assert reply["blocks"][0]["type"] == "table"
        desk.settle()
        assert desk.bot.web.unsupported.any_of(["data_table"])
    assert not desk.bot.web.unsupported.any_of(["markdown", "table", "context_actions"])


def test_a_workspace_of_old_gets_sections_and_buttons(desk: Desk) -> None:
    desk.slack.workspace.unsupported = frozenset(
        ("data_table", "table", "markdown", "context_actions", "plan", "task_display_mode",
         "task_update", "plan_update")
    )  # fmt: skip
    desk.agents.reset(answer(f"Some words.\n\n{TABLE}"))
    _, reply = desk.ask("how old?")
    assert {b["type"] for b in reply["blocks"]} == {"section", "context", "actions"}
    assert "API key | 60 days" in words(reply)


def test_a_message_that_is_refused_for_its_length_says_nothing_of_what_a_workspace_lacks(
    desk: Desk,
) -> None:
    desk.slack.faults.add("chat.update", error="msg_too_long")
    desk.ask("how often?")
    desk.settle()
    assert not desk.bot.web.unsupported.any_of(["markdown", "context_actions", "plan"])


def test_where_it_broke_the_steps_say_how_far_it_came(desk: Desk) -> None:
    def broken(question: Question) -> Any:
        raise RuntimeError("out of order")

    desk.agents.reset(broken)
    desk.bot.attempts.pace.streams_until = 0.0
    desk.agents.tell = lambda progress: progress.step(Step.READ, "Reading 3 documents…")
    _, reply = desk.ask("how often?")
    plan, *rest = reply["blocks"]
    assert [(task["title"], task["status"]) for task in plan["tasks"]] == [
        ("Reading 3 documents", "error")
    ]
    assert "Sorry" in words({"blocks": rest})
