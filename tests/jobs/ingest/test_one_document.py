"""One hostile or broken document is reported by name; the run goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from config import chat_model
from config.settings import Settings
from loaders.files import local as local_files
from oncall import Copilot
from playground.openai_stand_in import ModelFault, OpenAIStandIn, Request, Scripted

# An interruption that meets a finalizer is swallowed there, and sent again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

DOMAIN = "domain: tea\ntitle: Tea\nchannels: [C0TEA]\nsources: {{files: [{entry}]}}\n"
HUGE = "- [a](https://a.example) *b* `c`\n" * 40_000


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder of two small documents, which is a domain's source."""
    docs = tmp_path / "config" / "domains" / "docs"
    docs.mkdir(parents=True)
    for name in ("oolong", "sencha"):
        (docs / f"{name}.md").write_text(f"# {name}\n\nThe {name} steeps for two minutes.\n")
    return docs


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIStandIn]:
    with OpenAIStandIn(lambda _: "NO_ANSWER") as running:
        yield running


@pytest.fixture(autouse=True)
def embedder(server: OpenAIStandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)


def copilot(shelf: Path, *, seconds: float = 120, entry: str = "docs") -> Copilot:
    (shelf.parent / "tea.yaml").write_text(DOMAIN.format(entry=entry))
    settings = Settings(_env_file=None).model_copy(
        update={
            "config_dir": shelf.parents[1],
            "data_dir": shelf.parents[2] / "data",
            "embedding_model": "hashed",
            "chat_model": None,
            "document_seconds": seconds,
        }
    )
    return Copilot(settings)


def test_a_document_that_takes_too_long_holds_up_nobody(shelf: Path) -> None:
    (shelf / "huge.md").write_text(HUGE)
    report = copilot(shelf, seconds=1.5).ingest("tea")
    assert sorted(report.added) == ["oolong.md", "sencha.md"]
    (failed,) = report.failed
    assert failed.document.endswith("huge.md")
    assert "took more than 1.5 s" in str(failed)
    assert "ONCALL_DOCUMENT_SECONDS" in failed.remedy


def test_its_earlier_version_stays(shelf: Path) -> None:
    copilot(shelf).ingest("tea")
    (shelf / "oolong.md").write_text(HUGE)
    late = copilot(shelf, seconds=1.5)
    report = late.ingest("tea")
    assert [Path(error.document).stem for error in report.failed] == ["oolong"]
    assert report.removed == ()
    assert "oolong.md" in late.index.snapshot("tea").documents


def test_a_request_without_a_reply_leaves_no_document_undescribed(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = [ModelFault(kind="slow", seconds=2.0)]

    def describing(request: Request) -> Scripted:
        if request.name and late:
            return late.pop()
        if request.name == "enrich_document":
            return {"summary": "", "document_type": "guide", "keywords": ["tea"], "faqs": []}
        passage = {"summary": "", "keywords": ["tea"], "entities": []}
        return {"passages": [{"number": number, **passage} for number in (1, 2, 3)]}

    for number in range(8):
        (shelf / f"tea-{number}.md").write_text(f"# Tea {number}\n\nIt steeps {number} minutes.\n")
    patience = replace(chat_model._DOCUMENTS, timeout_seconds=0.5)
    monkeypatch.setattr(chat_model, "_DOCUMENTS", patience)
    with OpenAIStandIn(describing) as model:
        told = copilot(shelf).settings
        update = {"openai_api_key": SecretStr("k"), "openai_base_url": model.base_url}
        asking = told.model_copy(update={**update, "chat_model": "scripted", "enrich_at_once": 1})
        report = Copilot(asking).ingest("tea")
    assert len(report.added) == 10
    assert report.unenriched == 0
    assert not late


def test_a_document_that_breaks_its_loader_holds_up_nobody(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_given: object, **_named: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(local_files._PARSERS, ".txt", break_down)
    (shelf / "broken.txt").write_text("x")
    report = copilot(shelf).ingest("tea")
    assert sorted(report.added) == ["oolong.md", "sencha.md"]
    assert "reading it failed (ZeroDivisionError)" in str(report.failed[0])


def test_what_a_glob_leaves_out_is_said(shelf: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\n")
    (shelf / "notes.md").symlink_to(secret)
    os.mkfifo(shelf / "pipe.md")
    report = copilot(shelf, entry="docs/**/*.md").ingest("tea")
    assert sorted(report.added) == ["oolong.md", "sencha.md"]
    said = "\n".join(report.warnings)
    assert "notes.md: a link out of" in said
    assert "pipe.md: neither a file nor a folder" in said
