"""Replies of other people's model servers, and what the answer has to be."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from agents.answer import Answer, Question
from config.settings import Settings
from oncall import Copilot
from playground.openai_stand_in import OpenAIStandIn, RawReply, Request, Scripted
from tests.agents.scripted import Watching
from tests.loaders.reading import plain
from tests.loaders.thoroughly import SHARED

FOLDER = SHARED / "foreign" / "model-replies"
SSE = "text/event-stream"


@dataclass(frozen=True)
class Outcome:
    answer: Answer
    streamed: str

    def problem(self, check: Mapping[str, Any]) -> str:
        """Empty where the one check holds."""
        ((kind, value),) = check.items()
        return "" if _CHECKS[kind](self, value) else f"{kind}: {value}"

    def shows(self, text: str) -> bool:
        return plain(text) in plain(self.answer.text)

    def shows_anywhere(self, text: str) -> bool:
        both = f"{self.answer.text}\n{self.streamed}"
        return plain(text) in plain(both) if plain(text) else text in both


_CHECKS: Mapping[str, Callable[[Outcome, Any], bool]] = {
    "shown": Outcome.shows,
    "not_shown": lambda one, text: not one.shows_anywhere(text),
    "cites": lambda one, numbers: [cited.number for cited in one.answer.citations] == numbers,
    "path": lambda one, path: one.answer.path == path,
    "cut": lambda one, cut: one.answer.cut is cut,
    "degraded": lambda one, part: part in one.answer.degraded,
    "not_degraded": lambda one, _: not one.answer.degraded,
    "any": lambda one, checks: not all(map(one.problem, checks)),
}


def listed() -> list[dict[str, Any]]:
    file = FOLDER / "cases.yaml"
    return yaml.load(file.read_text(), yaml.CSafeLoader)["cases"] if file.is_file() else []


def cases() -> list[Any]:
    params = [pytest.param(one, id=one["name"]) for one in listed()]
    reason = f"no {FOLDER}; set ONCALL_SHARED_DIR"
    return params or [pytest.param({}, id="none", marks=pytest.mark.skip(reason))]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Each folder of documents as a domain of the same name."""
    at = tmp_path_factory.mktemp("model-replies")
    (at / "domains").mkdir()
    settings = Settings(_env_file=None, config_dir=at, data_dir=at / "var")
    names = {one["documents"] for one in listed()}
    for name in names:
        shutil.copytree(FOLDER / name, at / "domains" / name, copy_function=shutil.copyfile)
        (at / "domains" / f"{name}.yaml").write_text(
            f"domain: {name}\ntitle: {name}\nsources: {{files: [{name}]}}\n"
            "answer: {cache: {enabled: false}}\n"
        )
    copilot = Copilot(settings)
    for name in names:
        assert copilot.ingest(name).failed == ()
    copilot.index.close()
    return settings


@pytest.fixture
def copilot_for(published: Settings) -> Iterator[Callable[[OpenAIStandIn], Copilot]]:
    """Opens the published documents with this server's model."""
    opened: list[Copilot] = []

    def build(server: OpenAIStandIn) -> Copilot:
        model = {"chat_model": "scripted", "openai_base_url": server.base_url}
        opened.append(Copilot(published.model_copy(update=model)))
        return opened[-1]

    yield build
    for one in opened:
        one.index.close()


def server_of(case: Mapping[str, Any]) -> Callable[[Request], Scripted]:
    """The first of the case's rules that fits a request; other requests get a good reply."""

    def reply(request: Request) -> Scripted:
        streams = bool(request.body.get("stream"))
        for rule in case["server"]:
            if rule["to"] == "request" and rule["with"] in request.body:
                body = (FOLDER / rule["reply"]).read_bytes()
                return RawReply(status=rule["status"], body=body)
            if rule["to"] == "structured" and not streams:
                return RawReply(body=(FOLDER / rule["reply"]).read_bytes())
            if rule["to"] == "answer" and streams and "text" in rule:
                return str(rule["text"])
            if rule["to"] == "answer" and streams:
                return RawReply(body=(FOLDER / rule["reply"]).read_bytes(), content_type=SSE)
        return {"question": "", "kind": "in_domain"}

    return reply


def outcome_of(case: Mapping[str, Any], open_with: Callable[[OpenAIStandIn], Copilot]) -> Outcome:
    progress = Watching()
    with OpenAIStandIn(server_of(case)) as server:
        ask = open_with(server).ask(case["documents"])
        answer = ask(Question(text=case["question"]), progress)
    return Outcome(answer, progress.text)


@pytest.mark.parametrize("case", cases())
def test_a_reply_of_another_server_is_read(
    copilot_for: Callable[[OpenAIStandIn], Copilot], case: dict[str, Any]
) -> None:
    outcome = outcome_of(case, copilot_for)
    wrong = [problem for one in case["expect"] if (problem := outcome.problem(one))]
    assert not wrong, f"{wrong} <- {outcome.answer.text!r}, streamed {outcome.streamed!r}"
