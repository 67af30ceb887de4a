"""Sources by their keys in a domain file."""

from __future__ import annotations

from pathlib import Path

from config.domain import Domain, Sources
from config.settings import Settings
from loaders import registry

SETTINGS = Settings(_env_file=None)


def domain(folder: Path, **sources: object) -> Domain:
    values = {"domain": "tea", "title": "Tea help", "sources": sources}
    return Domain.model_validate(values).read_from(folder / "tea.yaml")


def test_each_key_of_a_domains_sources_has_its_source() -> None:
    """Change channels are read when somebody asks what changed; no documents are made of them."""
    assert registry.KINDS.keys() | {"change_channels"} == Sources.model_fields.keys()


def test_only_sources_that_name_documents_are_opened(tmp_path: Path) -> None:
    one = domain(tmp_path, google_drive={"folders": []}, files=["*.md"], loader=[])
    assert [source.name for source in registry.open_sources(one, SETTINGS)] == ["files"]
    assert registry.open_sources(domain(tmp_path), SETTINGS) == []
