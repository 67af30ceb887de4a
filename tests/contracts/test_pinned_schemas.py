"""What programs and models are told of shapes: schemas, tools, settings, prompts, JSON."""

from __future__ import annotations

import fnmatch
import hashlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from agents.response import to_full_response
from api.mcp.tools import TOOLS
from config.domain import Domain
from config.prompts import PromptFolder
from config.servers.messages import response_format
from config.settings import Settings
from jobs.evaluation.report import EvaluationReport
from tests.api.front import api
from tests.bot.fakes import answer, passages_found
from tests.contracts.pins import check_json
from tests.contracts.product_code import ROOT, every_module, files

SENT_TO_MODELS = (
    "AnsweredAfterAll", "ChosenAreas", "ChosenDocuments", "CriticisedAnswer", "DocumentReply",
    "GapName", "JudgeVerdict", "JudgedSources", "PassagesReply", "PictureReply", "Plan",
    "ProposedQuestions", "Rewording", "Scores", "ScreenshotReply", "TableReply",
)  # fmt: skip
"""What models are asked to fill in; name, docstring and descriptions are part of the prompt."""


@pytest.fixture(scope="module")
def http_api() -> FastAPI:
    return api()


def models(of: type[BaseModel] = BaseModel) -> dict[str, type[BaseModel]]:
    found: dict[str, type[BaseModel]] = {}
    for one in of.__subclasses__():
        found |= models(one)
        if not one.__module__.startswith("tests."):  # tests have a Plan of their own
            found[one.__name__] = one
    return found


def without_prose(schema: Any) -> Any:
    """Descriptions may be worded better, and examples with them."""
    if isinstance(schema, list):
        return [without_prose(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: without_prose(value) for name, value in schema.items() if not is_prose(name, value)
    }


def is_prose(name: str, value: Any) -> bool:
    """A key that is named so itself has a schema as its value."""
    if name in ("description", "summary"):
        return isinstance(value, str)
    named = isinstance(value, dict) and all(
        isinstance(one, dict) and "value" in one for one in value.values()
    )
    return name == "example" or (name == "examples" and (isinstance(value, list) or named))


def test_the_domain_file_keeps_its_schema() -> None:
    check_json("domain-schema.json", without_prose(Domain.model_json_schema()))


def test_the_report_keeps_its_schema() -> None:
    check_json("report-schema.json", without_prose(EvaluationReport.model_json_schema()))


def test_the_http_api_keeps_its_schema(http_api: FastAPI) -> None:
    check_json("openapi.json", without_prose(http_api.openapi()))


def test_other_assistants_see_the_same_tools() -> None:
    tools = [
        {
            "name": one.name,
            "title": one.title,
            "description": one.description,
            "takes": one.takes.model_json_schema(),
            "gives": one.gives.model_json_schema(),
        }
        for one in TOOLS
    ]
    check_json("mcp-tools.json", tools, in_order=True)


def test_models_are_asked_for_the_same_replies() -> None:
    every_module()
    known = models()
    sent = {name: response_format("r", known[name]) for name in SENT_TO_MODELS}
    shown = {name: known[name].model_json_schema() for name in SENT_TO_MODELS}
    check_json("model-replies.json", {"strict": sent, "shown": shown}, in_order=True)


def test_settings_keep_their_names_and_defaults() -> None:
    settings: dict[str, Any] = {}
    for field in Settings.model_fields.values():
        alias: Any = field.validation_alias
        default = None if field.default is None else str(field.default)
        settings[alias.choices[0]] = {"others": list(alias.choices[1:]), "default": default}
    check_json("settings.json", settings)


def keys_of(value: Any) -> Any:
    """Every key, with the kind of what stands there."""
    if isinstance(value, dict):
        return {name: keys_of(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [keys_of(one) for one in value[:1]]
    return type(value).__name__


def test_answers_keep_their_keys_as_json() -> None:
    replies = {"answered": answer(), "passages": passages_found("one", "two")}
    shown = {name: keys_of(to_full_response(reply)) for name, reply in replies.items()}
    check_json("answer-keys.json", shown)


def prompts() -> list[Path]:
    found = []
    for path in files("*.md"):
        text = path.read_text(encoding="utf-8")
        if text.startswith("---\n") and "# System" in text:
            found.append(path)
    return found


def test_prompts_are_worded_the_same() -> None:
    """As they are loaded, by name: where their files are is nobody's business."""
    loaded = {}
    for path in prompts():
        names = re.findall(r"\{\{(\w+)\}\}", path.read_text(encoding="utf-8"))
        prompt = PromptFolder(path.parent).render(
            path.stem, **{name: f"<{name}>" for name in names}
        )
        texts = [one.replace(prompt.fence, "<fence>") for one in (prompt.system, prompt.user)]
        digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
        assert path.stem not in loaded, "two prompts of one name"
        loaded[path.stem] = f"{prompt.version} {prompt.max_tokens} {digest}"
    check_json("prompts.json", loaded)


def test_every_prompt_lies_where_it_is_looked_for() -> None:
    looked_in = {
        value.__self__._path.resolve()
        for module in every_module()
        for value in vars(module).values()
        if isinstance(getattr(value, "__self__", None), PromptFolder)
    }
    assert {path.parent.resolve() for path in prompts()} == looked_in


def data_files() -> list[Path]:
    """All in the product's folders that is no code, as it is in the repository."""
    found = [path for path in files("*") if path.is_file() and path.suffix not in {".py", ".pyc"}]
    return [path.relative_to(ROOT) for path in found]


def test_every_data_file_is_in_the_wheel() -> None:
    """Without it a prompt would be missed only at the first question."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = [
        f"{package.replace('.', '/')}/{pattern}"
        for package, several in declared["tool"]["setuptools"]["package-data"].items()
        for pattern in several
    ]
    found = data_files()
    missing = [str(one) for one in found if not any(fnmatch.fnmatch(str(one), p) for p in patterns)]
    assert missing == []
    unused = [p for p in patterns if not any(ROOT.glob(p))]
    assert unused == []
    shipped = sorted(
        f"{one.name} {hashlib.sha256((ROOT / one).read_bytes()).hexdigest()}" for one in found
    )
    check_json("data-files.json", shipped)
