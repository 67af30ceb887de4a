"""One hostile or broken document is reported by name; the run goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.settings import Settings
from loaders.files import local_files
from oncall import Copilot
from playground.openai_stand_in import OpenAIStandIn

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
    assert sorted(report.added) == ["oolong", "sencha"]
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
    assert "oolong" in late.index.snapshot("tea").documents


def test_a_document_that_breaks_its_loader_holds_up_nobody(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_given: object, **_named: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(local_files._PARSERS, ".txt", break_down)
    (shelf / "broken.txt").write_text("x")
    report = copilot(shelf).ingest("tea")
    assert sorted(report.added) == ["oolong", "sencha"]
    assert "reading it failed (ZeroDivisionError)" in str(report.failed[0])


def test_what_a_glob_leaves_out_is_said(shelf: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\n")
    (shelf / "notes.md").symlink_to(secret)
    os.mkfifo(shelf / "pipe.md")
    report = copilot(shelf, entry="docs/**/*.md").ingest("tea")
    assert sorted(report.added) == ["oolong", "sencha"]
    said = "\n".join(report.warnings)
    assert "notes.md: a link out of" in said
    assert "pipe.md: neither a file nor a folder" in said
