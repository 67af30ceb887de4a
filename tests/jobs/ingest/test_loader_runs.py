"""Runs over a class of LangChain: documents leave by absence, and by nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from config.settings import Settings
from index.permissions.rules import visible_to
from oncall import Copilot
from playground.openai_stand_in import OpenAIStandIn
from tests.loaders.langchain import loaders_of_ours

INES = frozenset({"ines@example.com"})


def test_documents_of_a_loader_come_stay_and_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notes, domains = tmp_path / "notes", tmp_path / "config/domains"
    for folder in (notes, domains):
        folder.mkdir(parents=True)
    for name in ("cups", "kettle", "teas"):
        (notes / name).write_text(f"# {name}\n\nAll about {name}.\n", encoding="utf-8")
    (tmp_path / "config/teas.md").write_text("# Teas\n\nGreen and black.\n", encoding="utf-8")

    def configure(readers: object) -> None:
        entry = {"name": "notes", "arguments": {"folder": "notes"}, "readers": readers}
        values = {
            "domain": "tea", "title": "Tea", "access": {"audience": "asker"},
            "sources": {"files": ["../teas.md"], "loader": entry},
        }  # fmt: skip
        (domains / "tea.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")

    configure("everyone")
    with OpenAIStandIn(lambda request: "") as server:
        settings = Settings(
            _env_file=None,
            embedding_model="hashed",
            openai_base_url=server.base_url,
            loaders=f"notes={loaders_of_ours.__name__}:Notes",
        )
        copilot = Copilot(settings)

        def documents(readers: frozenset[str] | None = None) -> list[str]:
            names = visible_to(copilot.snapshot("tea"), readers).documents
            return sorted(one for one in names if one.startswith("notes:"))

        report = copilot.ingest("tea")
        assert documents() == documents(INES) == ["notes:cups", "notes:kettle", "notes:teas"]
        assert dict(report.sources) == {"files": 1, "loader": 3}

        (notes / "cups").unlink()
        (notes / "stop").touch()
        report = copilot.ingest("tea")
        assert documents() == ["notes:cups", "notes:kettle", "notes:teas"]
        assert "notes: it failed: ConnectionError: the wiki went away" in str(report.failed[0])
        assert "loader can't be read since" in report.lost[0]

        (notes / "stop").unlink()
        report = copilot.ingest("tea")
        assert (report.removed, documents()) == (("notes:cups",), ["notes:kettle", "notes:teas"])
        assert report.unchanged == 3

        for path in notes.iterdir():
            path.unlink()
        report = copilot.ingest("tea")
        assert documents() == ["notes:kettle", "notes:teas"]
        assert "it lists no document" in report.lost[0]

        configure(["dana@example.com"])
        copilot.index.close()
        copilot = Copilot(settings)
        assert (documents(INES), documents(frozenset({"dana@example.com"}))) == (
            [], ["notes:kettle", "notes:teas"]
        )  # fmt: skip
        copilot.index.close()
