from __future__ import annotations

from pathlib import Path

import pytest

from config import live_domains
from config.live_domains import LiveDomains

VALID = "domain: security\ntitle: {title}\nsources: {{files: [documents]}}\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(live_domains, "LOOK_EVERY_SECONDS", 0.0)
    path = tmp_path / "domains" / "security.yaml"
    path.parent.mkdir()
    path.write_text(VALID.format(title="First"))
    return path


def test_an_edit_counts_without_a_restart(file: Path) -> None:
    domains = LiveDomains(file.parents[1])
    assert domains()["security"].title == "First"
    file.write_text(VALID.format(title="Second edition"))
    assert domains()["security"].title == "Second edition"


def test_a_broken_edit_leaves_the_last_good_one_in_force_and_is_told_once(file: Path) -> None:
    told: list[list[str]] = []
    domains = LiveDomains(file.parents[1], on_problems=told.append)
    file.write_text(VALID.format(title="Second") + "answre: {}\n")
    assert domains()["security"].title == "First"
    assert domains()["security"].title == "First"
    (problems,) = told
    assert "did you mean 'answer'?" in problems[0]


def test_a_deleted_folder_leaves_the_last_good_files_in_force(file: Path) -> None:
    domains = LiveDomains(file.parents[1])
    file.unlink()
    assert domains()["security"].title == "First"


def test_an_untouched_domain_stays_the_same_object(file: Path) -> None:
    domains = LiveDomains(file.parents[1])
    before = domains()["security"]
    other = file.with_name("other.yaml")
    other.write_text(VALID.format(title="Other").replace("security", "other"))
    assert set(domains()) == {"security", "other"}
    assert domains()["security"] is before


def test_whoever_hears_of_a_broken_edit_may_ask_for_the_domains(file: Path) -> None:
    told: list[str] = []
    domains = LiveDomains(file.parents[1])
    domains.on_problems = lambda problems: told.append(domains()["security"].title)
    file.write_text("domain: [\n")
    domains()
    assert told == ["First"]
