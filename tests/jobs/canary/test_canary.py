"""What was found before is still found, or the generation before it stays and the admins hear."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from enrichment.chunk import Chunk
from jobs.canary.canary import Canary
from jobs.canary.store import CanaryStore
from oncall import Copilot
from playground.slack_stand_in import SlackStandIn
from tests.jobs.ingest.watched_domain import EVERYTHING, WatchedDomain, watched_domain


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> WatchedDomain:
    domain = watched_domain(tmp_path_factory.mktemp("watched"))
    copilot = domain.copilot()
    for _ in range(2):  # the first measure is taken by the second run
        assert copilot.ingest("security").failed == ()
    copilot.index.close()
    return domain


@pytest.fixture
def watched(ingested: WatchedDomain, tmp_path: Path) -> WatchedDomain:
    """A copy for one test, as published."""
    folder = tmp_path / "watched"
    shutil.copytree(ingested.folder, folder)
    settings = ingested.settings.model_copy(
        update={"config_dir": folder / "config", "data_dir": folder / "var"}
    )
    return WatchedDomain(folder, settings)


@pytest.fixture
def copilot(watched: WatchedDomain) -> Iterator[Copilot]:
    made = watched.copilot()
    yield made
    made.index.close()


def without_units(chunk: Chunk) -> Chunk:
    return replace(chunk, units=())


def without_rows(chunk: Chunk) -> Chunk:
    """Of each table its header alone is left."""
    if chunk.kind != "table":
        return chunk
    text = "\n".join(chunk.text.split("\n")[:2])
    return replace(chunk, text=text, index_text=text, units=())


def test_a_generation_without_its_table_rows_is_not_answered_from(
    watched: WatchedDomain, copilot: Copilot
) -> None:
    (outcome,) = watched.ingest_worse(copilot, without_rows)
    assert outcome.refused
    assert all(lost.now == "is nowhere now" for lost in outcome.lost)
    assert "Key Rotation Standard › Maximum age" in {lost.was for lost in outcome.lost}
    assert copilot.index.snapshot("security").generation == 1
    assert "`oncall ingest security --accept-drop`" in outcome.headline()


def test_a_generation_without_unit_vectors_is_not_answered_from(tmp_path: Path) -> None:
    """All of a domain's documents and a small context: else what is said is found without them."""
    watched = watched_domain(tmp_path, EVERYTHING, characters=4_000)
    copilot = watched.copilot()
    copilot.ingest("security")
    (outcome,) = watched.ingest_worse(copilot, without_units)
    assert outcome.refused
    assert all(lost.now.startswith("still is, but not among") for lost in outcome.lost)
    assert copilot.index.snapshot("security").generation == 1
    copilot.index.close()


def test_an_unchanged_run_asks_nothing(copilot: Copilot) -> None:
    before = copilot.ingest("security").generation
    report = copilot.ingest("security")
    assert (report.generation, report.canaries, report.alarms) == (before, (), False)


def test_an_edit_that_loses_nothing_is_published(watched: WatchedDomain, copilot: Copilot) -> None:
    with watched.document("access-control-policy").open("a", encoding="utf-8") as opened:
        opened.write("\n## Where this page is kept\n\nIn the security folder.\n")
    report = copilot.ingest("security")
    assert report.generation == 2
    assert not report.alarms


def test_a_document_that_was_deleted_takes_its_questions_along(
    watched: WatchedDomain, copilot: Copilot
) -> None:
    watched.document("key-rotation-standard").unlink()
    report = copilot.ingest("security")
    (outcome,) = report.canaries
    assert (report.generation, report.removed) == (2, ("key-rotation-standard",))
    assert not report.alarms
    assert len(outcome.stale) >= 4
    assert {one.now for one in outcome.stale} == {"and the document is gone"}


def test_text_that_was_deleted_takes_its_questions_along(
    watched: WatchedDomain, copilot: Copilot
) -> None:
    path = watched.document("key-rotation-standard")
    parts = path.read_text(encoding="utf-8").split("\n## ")
    kept = [part for part in parts if not part.startswith("Maximum age")]
    path.write_text("\n## ".join(kept), encoding="utf-8")
    report = copilot.ingest("security")
    (outcome,) = report.canaries
    assert (report.generation, report.alarms) == (2, False)
    assert {one.now for one in outcome.stale} == {"and the document no longer says so"}


def test_a_drop_that_was_accepted_is_published_and_is_the_new_measure(
    watched: WatchedDomain, copilot: Copilot
) -> None:
    watched.configure(answer={"context_characters": 1_000})
    watched.edit("access-control-policy", "# ", "# The ")
    assert copilot.ingest("security", accept_drop=True).generation == 2
    assert copilot.ingest("security").canaries == ()


def test_a_small_drop_is_told_and_published(watched: WatchedDomain, copilot: Copilot) -> None:
    watched.configure(evaluation={"golden": ["../../golden.yaml"], "canary": {"max_drop": 1.0}})
    (outcome,) = watched.ingest_worse(watched.copilot(), without_rows)
    assert not outcome.is_drop
    assert any(line.startswith("lost: ") for line in outcome.lines())


def as_another_version(copilot: Copilot, told: list[str] | None = None) -> Canary:
    """What the product is after an upgrade."""
    return Canary(
        copilot.domain("security"),
        store=CanaryStore(copilot.index.engine, "security"),
        version="another",
        tell_admins=(told if told is not None else []).extend,
    )


def test_an_upgrade_that_finds_as_much_is_the_new_measure(copilot: Copilot) -> None:
    snapshot = copilot.index.snapshot("security")
    (outcome,) = as_another_version(copilot).looks_back(snapshot)
    assert outcome.change.startswith("product ")
    assert (outcome.lost, outcome.alarms) == ((), False)
    assert as_another_version(copilot).looks_back(snapshot) == ()


def test_an_upgrade_that_finds_less_is_told_once_and_fails_until_it_is_accepted(
    watched: WatchedDomain,
) -> None:
    watched.configure(answer={"context_characters": 1_000})
    copilot, told = watched.copilot(), []
    snapshot = copilot.index.snapshot("security")
    for _ in range(2):
        (outcome,) = as_another_version(copilot, told).looks_back(snapshot)
        assert outcome.alarms
    assert sum("beyond the limit" in line for line in told) == 1
    assert copilot.ingest("security").alarms
    copilot.canary("security", accept_drop=True).looks_back(snapshot, again=True)
    assert not copilot.ingest("security").alarms
    copilot.index.close()


def test_without_golden_questions_nothing_is_watched(watched: WatchedDomain) -> None:
    watched.configure(evaluation={})
    copilot = watched.copilot()
    canary = copilot.canary("security")
    assert (canary.watches, canary.problem) == (False, "")
    copilot.index.close()


def test_golden_files_that_are_missing_are_told_and_block_nothing(watched: WatchedDomain) -> None:
    watched.configure(evaluation={"golden": ["nowhere.yaml"]})
    copilot = watched.copilot()
    (warning,) = copilot.ingest("security").warnings
    assert warning.startswith("evaluation.golden: nothing is compared with before: ")
    assert "nowhere.yaml" in warning
    assert copilot.runs.of("security")[0].problem == warning
    assert copilot.freshness("security").complaints() == (f"security: {warning}",)
    copilot.index.close()


@pytest.fixture
def slack() -> Iterator[SlackStandIn]:
    with SlackStandIn(enforce_rate_limits=False) as running:
        yield running


@pytest.mark.parametrize(("audience", "titles"), [("channel", True), ("asker", False)])
def test_the_admins_hear_of_it_in_slack_and_of_titles_only_where_all_may_read_them(
    watched: WatchedDomain, slack: SlackStandIn, audience: str, titles: bool
) -> None:
    watched.configure(access={"audience": audience, "files": "everyone"})
    update: dict[str, Any] = {
        "slack_api_url": slack.api_url,
        "slack_bot_token": SecretStr(slack.bot_token),
    }
    copilot = Copilot(watched.settings.model_copy(update=update))
    watched.ingest_worse(copilot, without_rows)
    (message,) = slack.messages("U0INES")
    assert "it was not published" in message["text"]
    assert ("Key Rotation Standard › Maximum age" in message["text"]) is titles
    copilot.index.close()
