"""A source of which nothing can be read any more: the run fails, and its documents stay for a while
and say so. What is read of another source goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from sqlalchemy import update

from agents.answer import Answer, Question
from config.errors import CopilotError
from config.settings import Settings
from jobs.ingest.lost_sources import LostSourceRow
from jobs.schedule.runs import IngestRun
from oncall import Copilot
from playground.google.google_faults import GoogleFault
from playground.google.memory_drive import FOLDER
from playground.google_stand_in import GoogleStandIn, StoredFile
from playground.openai_stand_in import OpenAIStandIn
from telemetry import metrics

KETTLE = "# Kettle\n\n## Descaling\n\nThe kettle is descaled every Friday by the kitchen team.\n"
OOLONG = "# Oolong\n\n## Steeping\n\nOolong steeps for exactly four minutes in hot water.\n"
DENIED = GoogleFault(status=403, reason="insufficientFilePermissions", times=None)


class Teahouse:
    """A domain of one Google Doc and one file, as any process would ingest it."""

    def __init__(self, folder: Path, google: GoogleStandIn, embeddings: str) -> None:
        self.folder, self.google, self.embeddings = folder, google, embeddings
        (folder / "config" / "domains").mkdir(parents=True)
        (folder / "config" / "kettle.md").write_text(KETTLE, "utf-8")
        self.copilot = self.opened(7)

    def opened(
        self, days: int, folders: Sequence[str] = ("top",), files: Sequence[str] = ("../kettle.md",)
    ) -> Copilot:
        """With so many days of grace."""
        drive = {"google_drive": {"folders": list(folders)}} if folders else {}
        values = {
            "domain": "tea", "title": "Tea help", "channels": ["C0TEA"], "admins": ["U0INES"],
            "sources": {**drive, "files": list(files)},
            "retention": {"lost_source_days": days},
        }  # fmt: skip
        config = self.folder / "config"
        (config / "domains" / "tea.yaml").write_text(yaml.safe_dump(values), "utf-8")
        return Copilot(
            Settings(_env_file=None).model_copy(
                update={
                    "config_dir": config, "data_dir": self.folder / "var",
                    "google_api_url": self.google.url, "embedding_model": "hashed",
                    "openai_base_url": self.embeddings,
                    "google_credentials": self.google.write_credentials(self.folder / "key.json"),
                }
            )
        )  # fmt: skip

    def run(self) -> IngestRun:
        self.copilot.ingest("tea")
        return self.copilot.runs.of("tea", 1)[0]

    def documents(self) -> set[str]:
        return set(self.copilot.snapshot("tea").documents)

    def ask(self, text: str) -> Answer:
        return self.copilot.ask("tea")(Question(text=text), None)

    def wait(self, days: int) -> None:
        with self.copilot.index.engine.begin() as connection:
            since = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=days)
            connection.execute(update(LostSourceRow).values(since=since))


@pytest.fixture
def teahouse(tmp_path: Path) -> Iterator[Teahouse]:
    drive = [
        StoredFile(id="top", name="Teas", mime_type=FOLDER),
        StoredFile(id="oolong", name="Oolong", parents=("top",), content=OOLONG),
    ]
    with GoogleStandIn(drive) as google, OpenAIStandIn(lambda request: "") as server:
        opened = Teahouse(tmp_path, google, server.base_url)
        yield opened
        opened.copilot.index.close()


def refuse_everything(teahouse: Teahouse) -> None:
    teahouse.google.faults.add(DENIED)


def find_nothing(teahouse: Teahouse) -> None:
    teahouse.google.faults.add(GoogleFault(status=404, reason="notFound", times=None))


def withdraw_access(teahouse: Teahouse) -> None:
    for name in ("top", "oolong"):
        teahouse.google.drive.revoke(name)


def empty_the_folder(teahouse: Teahouse) -> None:
    teahouse.google.drive.delete("oolong")


def refuse_the_key(teahouse: Teahouse) -> None:
    key = teahouse.folder / "key.json"
    values = json.loads(key.read_text("utf-8"))
    key.write_text(json.dumps({**values, "client_email": "gone@project.example"}), "utf-8")


def lose_the_key(teahouse: Teahouse) -> None:
    (teahouse.folder / "key.json").unlink()


@pytest.mark.parametrize(
    "lose",
    [
        refuse_everything,
        find_nothing,
        withdraw_access,
        empty_the_folder,
        refuse_the_key,
        lose_the_key,
    ],
)
def test_the_run_fails_and_what_was_read_before_says_so(
    teahouse: Teahouse, lose: Callable[[Teahouse], None]
) -> None:
    assert teahouse.run().outcome == "published"
    assert teahouse.documents() == {"oolong", "kettle.md"}
    assert teahouse.ask("how long does oolong steep?").notices == ()
    lose(teahouse)
    (teahouse.folder / "config" / "kettle.md").write_text(KETTLE.replace("Friday", "Monday"))
    failed = teahouse.run()
    assert failed.outcome == "failed"
    assert "google_drive can't be read since" in failed.problem
    assert "its document is answered from until" in failed.problem
    assert teahouse.documents() == {"oolong", "kettle.md"}
    (notice,) = teahouse.ask("how long does oolong steep?").notices
    assert "can't be read since" in notice
    (notice,) = teahouse.copilot.retrieve("tea", "how long does oolong steep?")["notices"]
    assert "A source of these passages can't be read since" in notice
    fresh = teahouse.ask("who descales the kettle, and on which day?")
    assert "Monday" in fresh.text
    assert fresh.notices == ()
    freshness = teahouse.copilot.freshness("tea")
    assert "google_drive can't be read since" in freshness.sentence()
    assert any("google_drive can't be read" in one for one in freshness.complaints())
    teahouse.copilot.freshness_gauges.look()
    teahouse.copilot.freshness_gauges.observe()
    labels = {"domain": "tea", "source": "google_drive"}
    assert metrics.registry.get_sample_value("oncall_source_lost_seconds", labels) is not None


def test_documents_are_withdrawn_after_the_days_of_grace_and_come_back(teahouse: Teahouse) -> None:
    teahouse.run()
    teahouse.google.faults.add(DENIED)
    teahouse.run()
    teahouse.wait(6)
    assert teahouse.run().outcome == "failed"
    assert "oolong" in teahouse.documents()
    teahouse.wait(7)
    withdrawn = teahouse.run()
    assert withdrawn.outcome == "failed"
    assert "its document is withdrawn" in withdrawn.problem
    assert teahouse.documents() == {"kettle.md"}
    still = teahouse.run()
    assert still.outcome == "failed"
    assert "no document of it is answered from" in still.problem
    teahouse.google.faults.clear()
    assert teahouse.run().outcome == "published"
    assert teahouse.documents() == {"oolong", "kettle.md"}
    assert teahouse.ask("how long does oolong steep?").notices == ()
    assert teahouse.copilot.freshness("tea").lost == ()


def test_without_grace_a_lost_sources_documents_leave_at_once(teahouse: Teahouse) -> None:
    teahouse.run()
    teahouse.copilot.index.close()
    teahouse.copilot = teahouse.opened(0)
    withdraw_access(teahouse)
    assert teahouse.run().outcome == "failed"
    assert teahouse.documents() == {"kettle.md"}


@pytest.mark.parametrize(
    ("status", "reason"),
    [(429, "rateLimitExceeded"), (503, "backendError"), (403, "dailyLimitExceeded")],
)
def test_a_source_that_asks_to_wait_keeps_its_documents_without_an_end(
    teahouse: Teahouse, monkeypatch: pytest.MonkeyPatch, status: int, reason: str
) -> None:
    monkeypatch.setattr("loaders.google.client._backoff", lambda attempt: 0.0)
    teahouse.run()
    teahouse.copilot.index.close()
    teahouse.copilot = teahouse.opened(0)
    teahouse.google.faults.add(GoogleFault(status=status, reason=reason, times=None))
    failed = teahouse.run()
    assert failed.outcome == "failed"
    assert "its document is answered from until it can be read" in failed.problem
    assert teahouse.documents() == {"oolong", "kettle.md"}
    (notice,) = teahouse.ask("how long does oolong steep?").notices
    assert "can't be read since" in notice


def lose_a_folder(teahouse: Teahouse) -> str:
    for name in ("two", "sencha"):
        teahouse.google.drive.revoke(name)
    return "google_drive folder two"


def unmount_a_folder(teahouse: Teahouse) -> str:
    for path in (teahouse.folder / "more").iterdir():
        path.unlink()
    return "files ../../more/*.md"


@pytest.mark.parametrize("lose", [lose_a_folder, unmount_a_folder])
def test_a_place_of_a_source_is_lost_alone(
    teahouse: Teahouse, lose: Callable[[Teahouse], str]
) -> None:
    """What else the source has is read, and says nothing."""
    sencha = OOLONG.replace("Oolong", "Sencha").replace("four", "two")
    by_drive = lose is lose_a_folder
    if by_drive:
        teahouse.google.drive.put(StoredFile(id="two", name="Two", mime_type=FOLDER))
        teahouse.google.drive.put(
            StoredFile(id="sencha", name="Sencha", parents=("two",), content=sencha)
        )
        folders, files = ["top", "two"], ["../kettle.md"]
    else:
        (teahouse.folder / "more").mkdir()
        (teahouse.folder / "more" / "sencha.md").write_text(sencha, "utf-8")
        folders, files = [], ["../kettle.md", "../../more/*.md"]

    teahouse.copilot.index.close()
    teahouse.copilot = teahouse.opened(7, folders, files)
    others = {"kettle.md", "oolong"} if by_drive else {"kettle.md"}
    named = "sencha" if by_drive else "sencha.md"
    assert teahouse.run().outcome == "published"
    assert teahouse.documents() == {named, *others}
    place = lose(teahouse)
    (teahouse.folder / "config" / "kettle.md").write_text(KETTLE.replace("Friday", "Monday"))
    for _ in range(2):
        failed = teahouse.run()
        assert failed.outcome == "failed"
        assert f"{place} can't be read since" in failed.problem
        assert "its document is answered from until" in failed.problem
        assert teahouse.documents() == {named, *others}
    (notice,) = teahouse.ask("how long does sencha steep?").notices
    assert "can't be read since" in notice
    fresh = teahouse.ask("who descales the kettle, and on which day?")
    assert "Monday" in fresh.text
    assert fresh.notices == ()
    teahouse.wait(7)
    assert "its document is withdrawn" in teahouse.run().problem
    assert teahouse.documents() == others
    assert f"{place} can't be read since" in teahouse.run().problem
    if by_drive:
        for name in ("two", "sencha"):
            teahouse.google.drive.restore(name)
    else:
        (teahouse.folder / "more" / "sencha.md").write_text(sencha, "utf-8")
    assert teahouse.run().outcome == "published"
    assert teahouse.documents() == {named, *others}
    assert teahouse.copilot.freshness("tea").lost == ()


def test_a_part_that_is_refused_while_the_rest_is_read_is_counted(teahouse: Teahouse) -> None:
    more = StoredFile(id="sencha", name="Sencha", parents=("top",), content=OOLONG)
    teahouse.google.drive.put(more)
    teahouse.run()
    for name in ("oolong", "sencha"):
        words = OOLONG.replace("four", "three")
        teahouse.google.drive.edit(name, words, modified=datetime.now(UTC))
    teahouse.google.faults.add(GoogleFault(**{**vars(DENIED), "file": "oolong"}))
    labels = {"domain": "tea", "source": "google_drive"}
    name = "oncall_source_refused_total"
    before = metrics.registry.get_sample_value(name, labels) or 0.0
    run = teahouse.run()
    assert run.outcome == "published"
    assert [one.split()[0] for one in run.failures] == ["oolong"]
    assert metrics.registry.get_sample_value(name, labels) == before + 1


def test_a_source_that_never_was_read_ends_the_run(teahouse: Teahouse) -> None:
    refuse_the_key(teahouse)
    with pytest.raises(CopilotError, match="refuses the service account"):
        teahouse.copilot.ingest("tea")
    assert teahouse.copilot.runs.of("tea", 1)[0].outcome == "failed"
