"""What an edit would have done: past questions, alerts and hand-offs asked again, and compared."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select

from agents.ledger.runs import RunRow
from bot.features.replay.service import EditPreview
from bot.questions.tables import QuestionRow
from index.audit import ShownRow
from index.search import SearchQuery
from playground.openai_stand_in import ModelFault, OpenAIStandIn
from tests.bot.features.alerts.office import PLATFORM
from tests.bot.features.replay.office import (
    CUP,
    EDITED,
    KETTLE,
    LOST,
    SEVERITY,
    STEP,
    WARRANTY,
    ReplayOffice,
    replay_office,
)

ALERTS = ("KettleDry", "KettleLost")
DIRECT = "what severity does KettleCold have"


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplayOffice]:
    """An answer that helped and one that nobody marked, passages, a hand-off, two alerts."""
    with replay_office(tmp_path_factory.mktemp("replay")) as opened:
        opened.ask(STEP)
        opened.bot.feedback.give(f"{PLATFORM}:{opened.asked[STEP]}", "U0DANA", "helpful")
        for text in (SEVERITY, CUP, WARRANTY):
            opened.ask(text)
        opened.slack.click(PLATFORM, opened.ask(LOST)["ts"], "ask_human", "U0DANA")
        for alert in ALERTS:
            opened.slack.post_as_app(PLATFORM, f"[FIRING:1] {alert} (kitchen critical)")
        opened.desk.settle()
        yield opened


def read(office: ReplayOffice, text: str, *words: str) -> dict[str, Any]:
    """The JSON; `changes` by question."""
    done = office.replay(text, "--json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    values: dict[str, Any] = json.loads(done.stdout)
    return values | {"changes": {one["question"]: one for one in values["changes"]}}


def verdicts(office: ReplayOffice, text: str, *words: str) -> dict[str, str]:
    changes = read(office, text, *words)["changes"]
    return {question: one["verdict"] for question, one in changes.items()}


def rows(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        return [
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (QuestionRow, ShownRow, RunRow)
        ]


def test_each_question_is_answered_anew_with_the_edit(office: ReplayOffice) -> None:
    assert verdicts(office, EDITED) == {
        LOST: "answered",
        "KettleLost": "answered",
        WARRANTY: "excerpt",
        SEVERITY: "worse",
        STEP: "worse",
        "KettleDry": "worse",
    }
    done = office.replay(EDITED)
    assert done.stdout.splitlines()[1] == (
        "1 of 1 hand-off would have been answered, 1 alert is newly answered, 1 question without "
        "an answer would show the edit's words, 3 get worse; 1 stays as it is."
    )
    assert "  question: which severity has KettleDry\n    answered → passages shown" in done.stdout
    assert "its answer helped, and the words that it cited are gone" in done.stdout
    assert "    no runbook → runbook found: Kettle Standard › Alerts\n" in done.stdout


def test_an_answer_that_nobody_marked_changes(office: ReplayOffice) -> None:
    text = KETTLE.replace("SEV2", "SEV1")
    assert verdicts(office, text) == {
        SEVERITY: "changed",
        "KettleDry": "changed",
        LOST: "excerpt",  # its passages held that row, and hold it now
    }
    assert "(“SEV2 | Fill it up to the mark” → “SEV1 | Fill it up" in office.replay(text).stdout


def test_the_same_text_changes_nothing(office: ReplayOffice) -> None:
    values = read(office, KETTLE)
    assert values["changes"] == {}
    assert (values["same"] + values["not_reached"], values["left_out"]) == (7, 0)
    said = "0 of 1 hand-off would have been answered; 7 stay as they are."
    assert said in office.replay(KETTLE).stdout


def test_a_row_twice_leaves_an_alert_with_several(office: ReplayOffice) -> None:
    twice = KETTLE.replace("| `KettleHot`", "| `KettleDry` | SEV4 | Throw it away |\n| `KettleHot`")
    change = read(office, twice)["changes"]["KettleDry"]
    assert (change["verdict"], change["why"]) == (
        "worse", "runbook found before, several runbooks now",
    )  # fmt: skip


def test_an_edit_that_empties_the_document_is_told_so(office: ReplayOffice) -> None:
    done = office.replay("")
    assert done.returncode == 0
    assert "holds no text: as if the document were deleted" in done.stderr
    assert "3 get worse" in done.stdout


@pytest.mark.parametrize(
    "text",
    ["# x\n```\n| a | b\n<table><tr><td>", "---\ntitle: [\n---\n", "\0\ufeff# \u202ex", "| " * 9],
)
def test_broken_markdown_is_an_edit_like_any_other(office: ReplayOffice, text: str) -> None:
    assert office.replay(text).returncode == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--document", "kettel"), "no document 'kettel'; did you mean 'kettle'?"),
        (("platfrm",), "no domain 'platfrm'; did you mean 'platform'?"),
        (("privacy",), "no document 'kettle'; known: jar"),
        (("--as", "nowhere.md"), "nowhere.md can't be read: No such file or directory"),
        (("--as", "."), "can't be read: Is a directory"),
        (("--as", "/bin/sh"), "there is no loader for `` files"),
        (("--as", ""), "can't be read"),
        (("--document", ""), "what is edited? Write: oncall replay --document ID --as FILE"),
        (("--days", "0"), "invalid value for '--days'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    office: ReplayOffice, words: tuple[str, ...], problem: str
) -> None:
    done = office.replay(KETTLE, *words)
    assert done.returncode in (1, 2)
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_of_another_document_is_refused(office: ReplayOffice) -> None:
    done = office.replay(KETTLE.replace("id: kettle", "id: cups"))
    assert "states the id 'cups', and the document has 'kettle'; correct the id" in done.stderr


def test_only_so_many_questions_are_asked_newest_first(office: ReplayOffice) -> None:
    values = read(office, EDITED, "--limit", "1")
    assert values["left_out"] == 4
    questions = [text for text, one in values["changes"].items() if one["kind"] != "alert"]
    assert questions == [LOST]
    said = "more may change and were not asked"
    assert said in office.replay(EDITED, "--limit", "1").stdout


def test_nothing_is_published_or_kept(office: ReplayOffice) -> None:
    office.desk.settle()
    places = set(Path(tempfile.gettempdir()).glob("oncall-preview-*"))
    generations, before = office.copilot.index.generations("platform"), rows(office.bot.engine)
    assert office.replay(EDITED).returncode == 0
    assert office.copilot.index.generations("platform") == generations
    assert rows(office.bot.engine) == before
    assert set(Path(tempfile.gettempdir()).glob("oncall-preview-*")) <= places


def test_an_interrupted_replay_leaves_nothing_behind(
    office: ReplayOffice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = office.folder / "edited.md"
    path.write_text(EDITED, "utf-8")

    def interrupted() -> None:
        with office.copilot.previews.of_file("platform", "kettle", path):
            assert list(tmp_path.glob("oncall-preview-*"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_preview_is_what_an_ingestion_would_publish(office: ReplayOffice) -> None:
    """The same passages in the same order with the same scores; one document is embedded."""
    path = office.folder / "config/domains/platform/0.md"
    index = office.copilot.index

    def found(preview: EditPreview) -> list[Any]:
        queries = (SearchQuery(variants=(text,)) for text in (STEP, WARRANTY, CUP, LOST))
        return [
            [(hit.chunk, hit.score, hit.similarity) for hit in preview.after.search(query)]
            for query in queries
        ]

    edit = office.folder / "edited.md"
    edit.write_text(EDITED, "utf-8")
    with office.copilot.previews.of_file("platform", "kettle", edit) as preview:
        before, cards = found(preview), dict(preview.after.documents)
        assert 0 < preview.after.info.embedded < 12  # type: ignore[attr-defined] # a generation
    path.write_text(EDITED, "utf-8")
    try:
        assert office.copilot.ingest("platform").changed == ("kettle",)
        with office.copilot.previews.of_file("platform", "kettle", edit) as preview:
            assert found(preview) == before
            assert preview.before.search(SearchQuery(variants=(STEP,)))[0].chunk == before[0][0][0]
            assert preview.after.documents.keys() == cards.keys()
    finally:
        path.write_text(KETTLE, "utf-8")
        office.copilot.ingest("platform")
    assert index.snapshot("platform").documents.keys() == cards.keys()


def test_what_not_everyone_may_read_needs_a_word(office: ReplayOffice) -> None:
    office.desk.ask("what is the first step for KettleHot", "C0PRIVACY")
    done = office.replay(KETTLE.replace("kettle", "jar"), document="jar")
    assert "not everyone may read 'jar' in privacy" in done.stderr
    assert "add --all-documents" in done.stderr
    done = office.replay(KETTLE.replace("kettle", "jar"), "--all-documents", document="jar")
    assert (done.returncode, done.stderr) == (0, "")
    assert "stays as it is" in done.stdout


def test_words_of_direct_messages_are_counted_and_not_printed(office: ReplayOffice) -> None:
    text = "what severity does KettleCold have"
    ts = office.slack.post_as_user("D0YOU", text)
    office.desk.settle()
    office.bot.records.mark(f"D0YOU:{ts}", domain="platform")  # of two that it may be asked of
    done = office.replay(KETTLE + "| `KettleCold` | SEV4 | Wait |\n")
    office.bot.records.withdraw(f"D0YOU:{ts}")  # the other tests count what was asked
    assert "  question: (direct message)\n" in done.stdout
    assert text not in done.stdout


def test_a_model_is_asked_only_with_consent(office: ReplayOffice) -> None:
    with OpenAIStandIn(lambda _: "NO_ANSWER") as server:
        model = {"ONCALL_CHAT_MODEL": "scripted", "OPENAI_BASE_URL": server.base_url}
        done = office.replay(EDITED, **model)
        assert "answers by scripted, about" in done.stderr
        assert "tokens; add --yes, or a lower --limit" in done.stderr
        asked = len(server.requests)
        done = office.replay(EDITED, "--yes", **model)
        assert len(server.requests) > asked
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 alert is newly answered" in done.stdout


def test_what_a_failing_model_answers_is_unknown(office: ReplayOffice) -> None:
    with OpenAIStandIn(lambda _: ModelFault(kind="status", status=400)) as server:
        model = {"ONCALL_CHAT_MODEL": "scripted", "OPENAI_BASE_URL": server.base_url}
        done = office.replay(EDITED, "--yes", **model)
    assert "could not be asked: a model was unavailable" in done.stdout
    assert "0 of 1 hand-off would have been answered" in done.stdout
