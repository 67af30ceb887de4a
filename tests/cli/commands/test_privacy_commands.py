"""`oncall privacy` and `oncall audit`, as an operator meets them."""

from __future__ import annotations

import json
import stat
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from bot.questions.store import QuestionStore
from bot.questions.tables import QuestionRow
from config.settings import Settings
from durable.database import now
from index.audit import AuditEntry, AuditLog, days_ago
from index.store.database import open_database
from tests.bot.fakes import claim
from tests.cli.test_commands import oncall

pytestmark = pytest.mark.trial

SECRET = "heliotrope 4711"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where U0DANA asked today and 181 days ago, and was shown something of both domains."""
    engine = open_database(Settings(_env_file=None, data_dir=tmp_path / "var"))
    records, log = QuestionStore(engine), AuditLog(engine)
    for number, age in enumerate((0, 181)):
        question_id = f"C0SECURITY:{number}.0"
        claim(
            records,
            question_id=question_id, event_id=question_id, channel="C0SECURITY", thread_ts="1.0",
            asker="U0DANA", text=f"{SECRET} {number}", domain="security",
        )  # fmt: skip
        with engine.begin() as connection:
            connection.execute(
                update(QuestionRow)
                .where(QuestionRow.id == question_id)
                .values(asked_at=now() - timedelta(days=age))
            )
    for domain, age in (("security", 5), ("privacy", 0)):
        documents = {"cited": [f"{domain}-document"]}
        shown = AuditEntry(
            door="thread", domain=domain, generation=3, documents=documents, asker="U0DANA"
        )
        log.record(shown, at=days_ago(age))
    engine.dispose()
    return tmp_path


def held(folder: Path) -> list[str]:
    """Files of the data folder that hold the person's words."""
    files = (folder / "var").rglob("*")
    return [path.name for path in files if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_purge_deletes_what_is_too_old(folder: Path) -> None:
    done = oncall(folder, "privacy", "purge")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 questions deleted, 0 open hand-offs")
    left = json.loads(oncall(folder, "privacy", "export", "U0DANA").stdout)
    assert [one["text"] for one in left["bot_questions"]] == [f"{SECRET} 0"]
    assert oncall(folder, "privacy", "purge").stdout.startswith("0 questions deleted")


def test_export_writes_a_file_for_its_owner_and_overwrites_none(folder: Path) -> None:
    assert oncall(folder, "privacy", "export", "U0DANA", "--file", "dana.json").returncode == 0
    assert stat.S_IMODE((folder / "dana.json").stat().st_mode) == 0o600
    exported = json.loads((folder / "dana.json").read_text())
    assert len(exported["bot_questions"]) == 2
    assert len(exported["shown"]) == 2
    again = oncall(folder, "privacy", "export", "U0DANA", "--file", "dana.json")
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == (
        "oncall: cannot write dana.json: File exists; name a file that isn't there yet\n"
    )


def test_erase_asks_first_and_then_leaves_nothing_but_the_audit_log(folder: Path) -> None:
    refused = oncall(folder, "privacy", "erase", "U0DANA")
    assert refused.returncode == 1
    assert held(folder) == ["oncall.db"]
    done = oncall(folder, "privacy", "erase", "U0DANA", "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("erased: 2 questions, 0 verdicts")
    assert "messages in Slack stay there" in done.stdout
    assert held(folder) == []
    assert oncall(folder, "privacy", "erase", "U0DANA", "--yes").stdout.startswith("erased: 0 que")
    assert len(json.loads(oncall(folder, "privacy", "export", "U0DANA").stdout)["shown"]) == 2


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ("dana", "'dana' is nobody; give a Slack user id (U…) or an e-mail address"),
        ("dana@tidewater.example", "give the Slack user id, U…"),
    ],
)
def test_a_person_who_cannot_be_told_is_one_line(folder: Path, user: str, said: str) -> None:
    done = oncall(folder, "privacy", "erase", user, "--yes")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_audit_log_is_one_json_object_a_line(folder: Path) -> None:
    first, second = (json.loads(line) for line in exported(folder))
    assert (first["door"], first["asker"], first["generation"]) == ("thread", "U0DANA", 3)
    assert first["documents"] == {"cited": ["security-document"]}
    assert datetime.fromisoformat(first["at"]) < datetime.fromisoformat(second["at"])
    assert SECRET not in "".join(exported(folder))


def test_the_audit_log_is_narrowed(folder: Path) -> None:
    yesterday = days_ago(1).date().isoformat()
    assert [json.loads(one)["domain"] for one in exported(folder, "--since", yesterday)] == [
        "privacy"
    ]
    assert len(exported(folder, "--domain", "security")) == 1
    assert len(exported(folder, "--document", "privacy-document")) == 1
    assert exported(folder, "--user", "U0INES") == []


def exported(folder: Path, *words: str) -> list[str]:
    done = oncall(folder, "audit", "export", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
