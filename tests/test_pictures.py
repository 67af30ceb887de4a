"""Pictures from their document to an answer: the whole product, real files, a scripted model."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agents.answer import Answer, Question
from config.settings import Settings
from jobs.ingest_outcome import IngestReport
from oncall import Copilot
from playground.google.memory_drive import FOLDER, StoredFile
from playground.google_stand_in import GoogleStandIn
from playground.openai_stand_in import ModelFault, OpenAIStandIn, Request
from tests.pictures import drawn

NAMES = "Failover of the ledger"
FLOW = {
    "kind": "diagram",
    "shows": "How the ledger fails over from the primary to the standby zone.",
    "text": ["Heartbeat lost", "Promote standby", "waits 47 s"],
    "relations": [
        "Heartbeat monitor → Promoter: heartbeat lost for 47 s",
        "Promoter → Standby zone",
    ],
    "unreadable": "",
}
ASKED = "What does the promoter do when the heartbeat monitor sees the heartbeat lost?"
TEXT = f"# {NAMES}\n\n## Switching over\n\nThe ledger team owns this page.\n\n![Switch-over flow](picture:flow)\n\n## Contacts\n\nCall the ledger team.\n"


@dataclass
class Seer:
    """A model that is shown pictures, and says what it was told to."""

    says: Callable[[bytes], Any] = lambda picture: FLOW
    shown: list[bytes] = field(default_factory=list)
    answer: str = "NOTHING\nThe documents don't say."

    def __call__(self, request: Request) -> Any:
        if request.name == "describe_picture":
            (picture,) = pictures_in(request)
            self.shown.append(picture)
            return self.says(picture)
        if request.name == "plan":
            return {"question": ASKED, "kind": "in_domain"}
        if request.name == "sources":
            return {"documents": []}
        if request.name:
            return ModelFault(kind="status", status=400, message="not in this play")
        return self.answer


def pictures_in(request: Request) -> list[bytes]:
    parts = [part for message in request.body["messages"] for part in message["content"]]
    urls = [
        part["image_url"]["url"]
        for part in parts
        if isinstance(part, dict) and part["type"] == "image_url"
    ]
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


@dataclass
class House:
    """A domain over a Drive, and whoever looks at its pictures."""

    folder: Path
    google: GoogleStandIn
    server: OpenAIStandIn
    seer: Seer

    def copilot(self, **settings: Any) -> Copilot:
        given = {
            "google_credentials": self.google.write_credentials(self.folder / "key.json"),
            "google_api_url": self.google.url,
            "openai_base_url": self.server.base_url,
            "vision_model": "seer",
            "config_dir": self.folder,
            "data_dir": self.folder / "var",
            "database_url": None,
        }
        return Copilot(Settings.model_validate(given | settings))

    def ingest(self, **settings: Any) -> IngestReport:
        return self.copilot(**settings).ingest("ledger")


@contextmanager
def house(
    folder: Path,
    text: str = TEXT,
    sources: str = "google_drive: {folders: [top]}",
    **pictures: bytes,
) -> Iterator[House]:
    (folder / "domains").mkdir(parents=True, exist_ok=True)
    (folder / "domains" / "ledger.yaml").write_text(
        f"domain: ledger\ntitle: Ledger help\nchannels: [C0LEDGER]\nsources: {{{sources}}}\n"
    )
    files = [
        StoredFile(id="top", name="Top", mime_type=FOLDER),
        StoredFile(id="failover", name=NAMES, parents=("top",), content=text),
    ]
    seer = Seer()
    with ExitStack() as stack:
        google = stack.enter_context(
            GoogleStandIn(
                files, pictures=pictures or {"flow": drawn("Heartbeat lost", "Promote standby")}
            )
        )
        server = stack.enter_context(OpenAIStandIn(seer))
        yield House(folder, google, server, seer)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path) as built:
        yield built


def ask(copilot: Copilot, question: str = ASKED) -> Answer:
    return copilot.ask("ledger")(Question(text=question), None)


def described(copilot: Copilot) -> list[str]:
    snapshot = copilot.snapshot("ledger")
    return [c.text for d in snapshot.documents for c in snapshot.chunks(d) if c.from_picture]


def test_a_diagram_is_found_by_its_words_with_its_link_and_its_mark(ledger: House) -> None:
    report = ledger.ingest()
    copilot = ledger.copilot()
    assert (report.pictures.asked, report.pictures.described, report.unenriched) == (1, 1, 0)
    (text,) = described(copilot)
    assert text.startswith("[Image: Switch-over flow] Described by a model:\n")
    assert "- Promoter → Standby zone" in text
    answer = ask(copilot)
    assert answer.path == "passages_found"
    first = answer.citations[0]
    assert first.from_picture
    assert first.heading == "Switching over"
    assert "heading=" in first.url
    assert "a picture, as a model described it" in answer.text
