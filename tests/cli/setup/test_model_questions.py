from __future__ import annotations

import pytest

from cli.setup.model_questions import check_models
from config.checks import Finding
from config.settings import Settings
from playground.openai_stand_in import OpenAIStandIn, RawReply, Request, Scripted

NAMES = [
    "language model", "model: schema", "model: limit", "model: thoughts", "model: language",
    "model: citations", "model: no answer", "model: lookups", "model: tokens",
]  # fmt: skip


def asked(server: OpenAIStandIn) -> dict[str, Finding]:
    settings = Settings.model_validate(
        {"openai_base_url": server.base_url, "chat_model": "m", "prices": "1/2"}
    )
    return {one.check: one for one in check_models(settings)}


def good(request: Request) -> Scripted:
    if request.name or "JSON" in request.text:
        return {"city": "Paris", "people": 2_000_000, "rivers": ["Seine"]}
    replies = {
        "rivers": "Rhine, Po, Seine, Ebro, Elbe",
        "Count": "1, " * 400,
        "train": "<think>95 minutes are 1:35.</think>11:15",
        "Wie viele": "ANSWER\nDie Widget-API erlaubt 600 Anfragen für jeden Schlüssel [1].",
        "How many": "ANSWER\nIt allows 600 requests a minute [1].",
        "founded": "NOTHING\nThe source doesn't say it.",
        "cost": "LOOK\nfind: price list",
    }  # fmt: skip
    return next(
        text for word, text in replies.items() if word in request.body["messages"][-1]["content"]
    )


def test_a_model_that_can_do_all_has_nine_lines_and_its_price() -> None:
    with OpenAIStandIn(good) as server:
        findings = asked(server)
    assert [*findings][: len(NAMES)] == NAMES
    assert {one.state for one in findings.values()} == {"ok"}
    assert "by JSON schema" in findings["model: schema"].said
    assert "taken out" in findings["model: thoughts"].said
    assert "8 calls" in findings["model: tokens"].said
    assert "$0.0" in findings["model: tokens"].said


def test_what_a_model_can_not_do_is_wrong_and_what_its_server_refuses_is_told() -> None:
    def poor(request: Request) -> Scripted:
        if "response_format" in request.body:
            return RawReply(status=400, body=b'{"error": "response_format is not supported"}')
        if "JSON" in request.text:
            return good(request)
        return "The widget API allows 600 requests, and it was founded by Ann in the year 1999."

    with OpenAIStandIn(poor, counts_tokens=False) as server:
        findings = asked(server)
    bad = {name for name, one in findings.items() if one.state == "wrong"}
    assert bad == {f"model: {one}" for one in
                   ("limit", "language", "citations", "no answer", "lookups")}  # fmt: skip
    assert "refuses schemas and JSON mode" in findings["model: schema"].said
    assert "schema" in findings["model: tokens"].said


@pytest.mark.parametrize(
    ("cited", "state"),
    [("[Source 1]", "ok"), ("【1†L1】", "ok"), ("[^1]", "ok"), ("[7]", "wrong"), ("", "wrong")],
)
def test_a_citation_counts_in_every_form_that_answers_are_read_in(cited: str, state: str) -> None:
    def model(request: Request) -> Scripted:
        if "How many" in request.body["messages"][-1]["content"]:
            return f"ANSWER\nIt allows 600 requests a minute {cited}."
        return good(request)

    with OpenAIStandIn(model) as server:
        assert asked(server)["model: citations"].state == state


def test_a_server_that_is_gone_is_asked_one_question() -> None:
    with OpenAIStandIn(good) as server:
        pass
    findings = asked(server)
    assert findings["language model"].state == "wrong"
    assert "model: schema" not in findings
