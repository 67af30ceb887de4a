"""What operators are told of a question: one line, figures, and no word of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from agents.answer import Answer, Fallback, Question
from agents.answer_cache.cache import CachedAnswer
from agents.graph import build_ask
from agents.observability import (
    WARN_EVERY,
    AskIn,
    FallbackWarnings,
    QuestionLog,
    QuestionOrigin,
    with_metrics,
)
from agents.response import to_full_response
from agents.routing.router import DomainRouter
from config.domain import Domain
from config.errors import IndexUnavailable, InvalidModelOutput, ModelUnavailable
from config.models import Prices, Usage
from index.search import Snapshot
from telemetry.metrics import registry
from tests.agents.corpus import asking, snapshot
from tests.agents.scripted import OPEN, PLAN, ScriptedModel, in_turn
from tests.agents.test_with_a_model import ASKED, good
from tests.bot.fakes import answer, domain

THROUGH = QuestionOrigin(id="C1:1.0", door="mention", text="how old may a kettle get?")
PRICES = Prices(input=1.0, output=10.0)


def logged(
    ask: Callable[[Domain, Question], Answer], log: QuestionLog = QuestionLog()
) -> dict[str, Any]:
    answering = DomainRouter(snapshot=lambda _: snapshot(), log=log)
    with capture_logs() as lines:
        answering(THROUGH, [domain()], lambda _: Question(text=ASKED), ask)
    (line,) = lines
    return dict(line)


def count(name: str, **labels: str) -> float:
    return registry.get_sample_value(name, labels) or 0.0


def test_a_question_leaves_one_line_with_what_it_took_and_no_word_of_it() -> None:
    said = answer(
        usage=Usage(calls=3, input_tokens=2_000, output_tokens=100),
        timings_ms={"retrieval": 14.96, "total": 20.0},
        fallbacks=(Fallback(node="answer", reason="timeout"),),
        query_kind="code",
        strategy="keyword",
        searches=2,
        drafts=1,
    )
    line = logged(lambda *_: said, log=QuestionLog(prices=PRICES))
    took = line.pop("ms")
    assert took >= 0
    assert line == {
        "event": "question",
        "log_level": "info",
        "id": "C1:1.0",
        "door": "mention",
        "domain": "security",
        "domains_asked": 1,
        "path": "company_specific_rag_success",
        "query_kind": "code",
        "strategy": "keyword",
        "searches": 2,
        "drafts": 1,
        "confidence": 0.86,
        "confidence_level": "medium",
        "cached": False,
        "refusal": "",
        "fallbacks": ["answer: timeout"],
        "generation": 7,
        "documents": ["key-rotation-standard"],
        "node_ms": {"retrieval": 15.0},
        "spent": "",
        "calls": 3,
        "input_tokens": 2_000,
        "output_tokens": 100,
        "cost_dollars": 0.003,
    }


def test_words_are_in_the_line_when_they_are_wanted() -> None:
    line = logged(lambda *_: answer("Ten years [1]."), log=QuestionLog(words=True))
    assert (line["question"], line["answer"]) == (THROUGH.text, "Ten years [1].")


def test_of_several_domains_the_line_names_the_one_that_answered_and_counts_all_calls() -> None:
    domains = [domain("tea", "C0TEA"), domain()]
    unsure = answer(path="no_answer_found", citations=(), usage=Usage(calls=3, input_tokens=50))
    sure = answer(usage=Usage(calls=2, input_tokens=30), confidence=0.95)

    def among(ask: AskIn) -> tuple[Answer, Domain]:
        spent = sum((ask(one, Question(text=ASKED)).usage for one in domains), Usage())
        return replace(sure, usage=spent), domains[1]

    with capture_logs() as lines:
        QuestionLog().answered(
            THROUGH, domains, lambda one, _: unsure if one is domains[0] else sure, among
        )
    (line,) = lines
    assert (line["domain"], line["domains_asked"]) == ("security", 2)
    assert (line["calls"], line["input_tokens"]) == (5, 80)


@pytest.mark.parametrize(
    ("error", "path"), [(IndexUnavailable("nothing"), "failed"), (KeyboardInterrupt(), "abandoned")]
)
def test_a_question_that_fails_is_in_the_log_by_its_kind(error: BaseException, path: str) -> None:
    def fails(asked: Domain, question: Question) -> Answer:
        raise error

    answering = DomainRouter(snapshot=lambda _: snapshot())
    with capture_logs() as lines, pytest.raises(type(error)):
        answering(THROUGH, [domain()], lambda _: Question(text=ASKED), fails)
    (line,) = lines
    assert (line["event"], line["log_level"], line["path"]) == ("question", "warning", path)
    assert line["error"] == type(error).__name__


@pytest.mark.parametrize(
    ("prompt", "failure", "fallback"),
    [
        ("plan", ModelUnavailable("x", kind="timeout"), ("query_optimizer", "timeout")),
        ("sources", InvalidModelOutput("x"), ("source_identifier", "invalid")),
        ("answer", ModelUnavailable("x", kind="rate_limited"), ("answer", "rate_limited")),
    ],
)
def test_every_fallback_has_its_reason_in_line_metric_and_warning(
    prompt: str, failure: Exception, fallback: tuple[str, str]
) -> None:
    node, reason = fallback
    plan = {**PLAN, "sub_questions": [OPEN]}
    ask = asking(model=ScriptedModel({"plan": plan, "answer": good, prompt: failure}))
    warned: list[Fallback] = []
    wrap = with_metrics("kettles", warn=lambda _, one: warned.append(one))
    watched = wrap(lambda question, _: ask(question.text))
    before = count("oncall_fallbacks_total", domain="kettles", node=node, reason=reason)
    line = logged(lambda *_: watched(Question(text=ASKED), None))
    assert line["fallbacks"] == [f"{node}: {reason}"]
    assert [(one.node, one.reason) for one in warned] == [fallback]
    assert count("oncall_fallbacks_total", domain="kettles", node=node, reason=reason) == before + 1


def test_what_a_model_wrote_without_a_source_counts_as_a_fallback_and_not_as_an_outage() -> None:
    said = "ANSWER\nComo máximo treinta días para los datos restringidos [1]."
    found = asking(model=ScriptedModel({"answer": said}))("How long may a webhook secret live?")
    assert [(one.node, one.reason) for one in found.fallbacks] == [("answer", "held_back")]
    assert found.degraded == ()


@pytest.mark.parametrize(
    ("script", "asked", "reason"),
    [
        ({"answer": "NOTHING"}, ASKED, "not_in_documents"),
        (None, "who painted the ceiling of the chapel?", "nothing_found"),
        (None, "who approves a laptop for a contractor in Japan?", "too_little"),
    ],
)
def test_a_refusal_has_its_reason(script: dict[str, Any] | None, asked: str, reason: str) -> None:
    found = asking(model=ScriptedModel(script) if script else None)(asked)
    assert (found.path, found.refusal) == ("no_answer_found", reason)


def test_what_an_answer_took_and_cost_is_counted_by_domain() -> None:
    said = answer(
        usage=Usage(calls=1, input_tokens=1_000, output_tokens=100),
        timings_ms={"brew": 500.0, "total": 600.0},
    )
    with_metrics("samovars", prices=PRICES)(lambda *_: said)(Question(text="x"), None)
    assert count("oncall_cost_dollars_total", domain="samovars") == pytest.approx(0.002)
    assert count("oncall_tokens_total", domain="samovars", kind="input") == 1_000
    assert count("oncall_node_seconds_sum", node="brew") == pytest.approx(0.5)
    assert count("oncall_answer_seconds_count", domain="samovars", path=said.path) == 1


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (CachedAnswer(), "miss"),
        (CachedAnswer(answer=answer(path="cached")), "hit"),
        (CachedAnswer(unavailable=True), "unavailable"),
    ],
)
def test_a_look_into_the_cache_is_counted_by_what_it_brought(
    found: CachedAnswer, outcome: str
) -> None:
    class Cache:
        def find(self, asked: str, question: Question, snapshot: Snapshot) -> CachedAnswer:
            return found

        def keep(self, answer: Answer, question: Question, snapshot: Snapshot) -> None:
            """Nothing."""

    labels = {"domain": snapshot().domain, "outcome": outcome}
    before = count("oncall_answer_cache_total", **labels)
    ask = build_ask(snapshot=snapshot, domain=domain(), model=None, cache=Cache())
    given = ask(Question(text=ASKED), None)
    assert (given.path == "cached") == (outcome == "hit")
    assert count("oncall_answer_cache_total", **labels) == before + 1


def test_without_prices_no_cost_is_made_up() -> None:
    with_metrics("teapots")(lambda *_: answer())(Question(text="x"), None)
    assert registry.get_sample_value("oncall_cost_dollars_total", {"domain": "teapots"}) is None


def test_the_first_fallback_of_a_kind_warns_at_once_and_the_next_ones_once_a_minute() -> None:
    now = [0.0]
    warn = FallbackWarnings(clock=lambda: now[0])
    slow, held = (
        Fallback(node="answer", reason="timeout"),
        Fallback(node="answer", reason="held_back", outage=False),
    )
    with capture_logs() as lines:
        for _ in range(82):
            warn("tea", slow)
        warn("tea", held)
        now[0] = WARN_EVERY
        warn("tea", slow)
    assert [(line["reason"], line["times"]) for line in lines] == [
        ("timeout", 1),
        ("held_back", 1),
        ("timeout", 82),
    ]
    assert {line["log_level"] for line in lines} == {"warning"}


def test_what_an_answer_took_is_counted_by_the_kind_of_its_question_and_by_strategy() -> None:
    plan = {"question": f"{ASKED} in eu-1", "kind": "in_domain"}
    script = {
        "plan": plan,
        "answer": in_turn("LOOK\nfind: webhook secrets", good),
    }
    ask = asking(model=ScriptedModel(script))
    watched = with_metrics("kettles")(lambda question, _: ask(question.text))
    labels = {"kind": "code", "strategy": "hybrid", "path": "company_specific_rag_success"}
    before = count("oncall_answers_total", domain="kettles", **labels)
    found = watched(Question(text=str(plan["question"])), None)
    assert (found.query_kind, found.strategy) == ("code", "hybrid")
    assert (found.searches, found.drafts) == (2, 2)
    assert count("oncall_answers_total", domain="kettles", **labels) == before + 1
    assert count("oncall_answer_attempts_sum", domain="kettles", what="drafts") >= 2
    taken = to_full_response(found)
    assert (taken["query_kind"], taken["searches"], taken["drafts"]) == ("code", 2, 2)


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ({"plan": {"question": ASKED, "kind": "small_talk"}}, "small_talk"),
        ({"plan": {"question": ASKED, "kind": "general"}, "general": "ANSWER\nYes."}, "general"),
    ],
)
def test_what_needs_no_document_has_no_strategy(script: dict[str, Any], kind: str) -> None:
    found = asking(model=ScriptedModel(script))(ASKED)
    assert (found.query_kind, found.strategy, found.searches) == (kind, "", 0)
