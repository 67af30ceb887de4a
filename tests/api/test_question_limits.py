"""A domain's limits by the API and over MCP: a person's questions, and the budget for everyone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from agents.answer import BUDGET_NOTICES, Budget
from agents.ledger.ledger import QuestionOrigin, RunLedger
from agents.ledger.runs import RunRow
from agents.query_optimizer import search_planner
from config.models import Usage
from config.settings import Settings
from index.permissions.rules import visible_to
from index.pipelines import retrieve
from index.store.database import open_database
from tests.agents.corpus import domain as corpus_domain
from tests.agents.corpus import snapshot
from tests.agents.scripted import ScriptedModel
from tests.api import front
from tests.api.front import INES, Members, Town, bearer, elsewhere, serving
from tests.api.mcp.client import called_over_http, said_by
from tests.bot.fakes import EVERYWHERE_ALIKE, Agents, answer, domain

QNA, RETRIEVE = "/api/agentic_qna", "/api/retrieve"
HER_ACCOUNT = Members().by_address(INES).person.slack_user
COSTLY = answer(usage=Usage(calls=1, input_tokens=900, output_tokens=100))


class Street:
    """An API that counts, with a person's token and a program's."""

    def __init__(self, folder: Path, retrieve: Any = front.retrieve, **limits: int) -> None:
        self.engine = open_database(Settings(_env_file=None, data_dir=folder))
        self.ledger = RunLedger(self.engine)
        self.domains = [domain(limits=limits)]
        router = replace(EVERYWHERE_ALIKE, ledger=lambda: self.ledger)
        town = Town(
            folder,
            domains={"security": self.domains[0]},
            answering=router,
            directory=Members(),
            retrieve=retrieve,
        )
        self.agents = Agents(COSTLY)
        self.app = town.app(self.agents)
        self.ines = bearer(town.token("ines", identity=INES))
        self.program = bearer(town.token("program", speaks_for_people=True))

    def ask(self, client: TestClient, who: dict[str, str], **more: Any) -> int:
        asked = client.post(QNA, json={"query": "how old?", **more}, headers=who)
        self.last = asked
        return asked.status_code

    def rows(self) -> list[tuple[str, str, str, int]]:
        query = select(RunRow.door, RunRow.asker, RunRow.place, RunRow.tokens)
        with self.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(query.order_by(RunRow.started_at))]


def test_a_persons_questions_count_together_by_every_door_and_address(tmp_path: Path) -> None:
    street = Street(tmp_path, questions_per_user_per_hour=4)
    client = elsewhere(street.app)
    street.ledger.admit(
        QuestionOrigin(id="Ev1", door="mention", text="", asker=HER_ACCOUNT), street.domains
    )
    assert street.ask(client, street.ines) == 200
    assert street.ask(client, street.ines, stream=True) == 200
    assert street.ask(client, street.program, asker_email=INES.upper()) == 200
    assert street.ask(client, street.ines, stream=True) == 429
    assert street.ask(client, street.program, asker_email="her.other@tidewater.example") == 429
    assert street.last.json() == {
        "detail": "4 questions in an hour are the limit for one person; try again later"
    }
    assert 3_500 < int(street.last.headers["Retry-After"]) <= 3_600
    with serving(street.app) as url:
        refused = called_over_http(url, "ask", street.ines, question="how old?")
    assert refused.is_error
    assert "the limit for one person" in said_by(refused)
    for _ in range(4):
        assert street.ask(client, street.program) == 200
    assert street.rows()[1:4] == [
        ("api", HER_ACCOUNT, "ines", 1_000),
        ("api_stream", HER_ACCOUNT, "ines", 1_000),
        ("api", HER_ACCOUNT, "program", 1_000),
    ]


def test_a_budget_holds_for_programs_and_assistants_as_well(tmp_path: Path) -> None:
    street = Street(tmp_path, tokens_per_day=2_000)
    client = elsewhere(street.app)
    with serving(street.app) as url:
        first = called_over_http(url, "ask", street.program, question="how old?")
        assert not first.is_error
        assert street.ask(client, street.program) == 200
        assert street.last.json()["notices"] == []
        quoted = called_over_http(url, "ask", street.program, question="how old?")
    assert not quoted.is_error
    assert "daily budget" in said_by(quoted)
    assert street.ask(client, street.program) == 200
    assert "daily budget" in street.last.json()["notices"][0]
    assert street.last.json()["degraded"] == ["answer"]
    assert [one.quotes for one in street.agents.asked] == [False, False, True, True]


@pytest.mark.parametrize(
    ("budget", "whose"), [("tokens_per_day", "domain"), ("tokens_per_user_per_day", "person")]
)
def test_a_search_that_asks_a_model_uses_up_the_budget(
    tmp_path: Path, budget: str, whose: Budget
) -> None:
    """The asker's own, too, and nobody's questions; once it is spent, the search does without, and
    says so."""
    known, model, without = snapshot(), ScriptedModel({}), list[bool]()

    def search(name: str, question: str, **more: Any) -> dict[str, Any]:
        file = corpus_domain("standard")
        without.append(more.pop("without_model"))
        plan = search_planner(file, None if without[-1] else model, known)
        more |= {"top_k": 3, "plan": plan}
        response = retrieve(visible_to(known, more.pop("readers")), question, **more)
        return {**response, "notices": []}

    street = Street(
        tmp_path, retrieve=search, questions_per_user_per_hour=1, **{budget: 30}
    )  # fmt: skip
    client = elsewhere(street.app)
    body = {"query": "how old may a key get?", "pipeline": "advanced"}
    for _ in range(3):
        sent = client.post(RETRIEVE, json=body, headers=street.ines)
        assert sent.status_code == 200
    assert without == [False, False, True]
    assert sent.json()["notices"] == [BUDGET_NOTICES[whose]]
    assert street.rows() == [("retrieve", HER_ACCOUNT, "ines", tokens) for tokens in (15, 15, 0)]
    assert street.ask(client, street.ines) == 200
