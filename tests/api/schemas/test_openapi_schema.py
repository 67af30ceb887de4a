"""Requests made from the API's own schema, fitting it and breaking it, to the real agents over a
real index: none is answered 500."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.schemas import BaseSchema

from api.auth.routes import DOORS, HttpDoor
from api.auth.tokens import create_token
from config.settings import Settings
from oncall import Copilot
from playground.openai_stand_in import OpenAIStandIn
from tests.api.front import bearer

EXAMPLES = 60
UNLISTED = {"/api/agentiqna"}
"""The same routes by another name."""
DESCRIBED = [door for door in DOORS if door.path.startswith("/api/") and door.path not in UNLISTED]
DOMAIN = "domain: tea\ntitle: Tea help\nsources: {files: [tea.md]}\naccess: {audience: asker}\n"


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, BaseSchema]]:
    folder = tmp_path_factory.mktemp("tea")
    (folder / "domains").mkdir()
    (folder / "domains" / "tea.yaml").write_text(DOMAIN)
    (folder / "domains" / "tea.md").write_text("# Tea\n\nTea steeps for two minutes.\n")
    token = create_token(folder, "fuzzer", speaks_for_people=True)
    with OpenAIStandIn(lambda request: "NO_ANSWER") as server:
        copilot = Copilot(made_for(folder, server.base_url))
        copilot.ingest("tea")
        # Here and not in the API's thread: CPython 3.11 fails when two threads parse at once, and
        # Hypothesis parses as well.
        copilot.warm()
        app = copilot.api(slack=False)
        headers = bearer(token)
        yield token, schemathesis.openapi.from_asgi("/openapi.json", app, headers=headers)


def made_for(folder: Path, server: str) -> Settings:
    return Settings(
        config_dir=folder,
        data_dir=folder / "var",
        embedding_model="hashed",
        openai_base_url=server,
        api_docs=True,
        api_requests_per_minute=10**9,
    )


def without_domain(part: Any) -> Any:
    return {k: v for k, v in part.items() if k != "domain"} if isinstance(part, dict) else part


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: str(mode.value))
@pytest.mark.parametrize("door", DESCRIBED, ids=lambda door: f"{door.method} {door.path}")
def test_no_request_is_answered_500(
    fuzzed: tuple[str, BaseSchema], door: HttpDoor, mode: GenerationMode
) -> None:
    token, schema = fuzzed
    answered: Counter[int] = Counter()

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), database=None)
    @given(case=schema[door.path][door.method].as_strategy(generation_mode=mode))
    def ask(case: Case) -> None:
        if mode is GenerationMode.POSITIVE:
            # Else nearly all would name one that is none. What is generated may be an example that
            # the schema holds, and comes again: it stays as it is.
            case.body, case.query = without_domain(case.body), without_domain(case.query)
        response = case.call(headers=bearer(token))
        answered[response.status_code] += 1
        assert response.status_code < 500, response.text
        # As a stream says it, under 200; the words alone may be a query that comes back.
        assert '"detail": "something went wrong"' not in response.text

    ask()
    reached = {404} if "{" in door.path and door.method == "GET" else {200}
    assert mode is GenerationMode.NEGATIVE or reached & set(answered)
    assert 401 not in answered
