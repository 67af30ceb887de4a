from __future__ import annotations

from pathlib import Path

import pytest

from jobs.golden.imports import decoded, read_table, to_golden_yaml
from jobs.golden.questions import GoldenQuestion, load_golden
from jobs.golden.unanswerable import CATEGORIES, propose_unanswerable
from playground.google.memory_drive import SHEET
from playground.google_stand_in import GoogleStandIn, StoredFile
from tests.agents.corpus import LAPTOPS, ROTATION, snapshot
from tests.agents.scripted import ScriptedModel
from tests.cli.test_commands import oncall

TABLE = """\
Question,Expected Answer,Type,Key facts,Source,Section,Quote,Notes,Owner
"how old may a
webhook secret get",30 days,Table,30 days; restricted,\
https://docs.google.com/document/d/1AbC/edit#heading=h.x,\
Maximum age,Webhook secret | 30 days,either column,Ines
who pays,,,,,,,,
,,,,,,,,
"""


def test_rows_become_golden_questions() -> None:
    found = read_table(TABLE, domain="security")
    assert found.problems == []
    assert found.ignored == ["Owner"]
    first, second = found.questions
    assert first == GoldenQuestion.model_validate(
        {
            "id": "security-002",
            "kind": "table",
            "question": "how old may a\nwebhook secret get",
            "reference": "30 days",
            "must_include": ["30 days", "restricted"],
            "evidence": [
                {
                    "document": "1AbC",
                    "heading": "Maximum age",
                    "quote": "Webhook secret | 30 days",
                }
            ],
            "instructions": "either column",
        }
    )
    assert (second.id, second.kind) == ("security-004", "proposed")


def test_what_was_imported_is_a_golden_file(tmp_path: Path) -> None:
    path = tmp_path / "imported.yaml"
    questions = read_table(TABLE, domain="security").questions
    path.write_text(to_golden_yaml(questions), encoding="utf-8")
    assert load_golden([path]) == questions


@pytest.mark.parametrize(
    "data",
    [
        TABLE.encode("utf-8-sig"),
        TABLE.encode("utf-16"),
        TABLE.replace(",", "\t").replace("30 days; restricted", "30 days").encode(),
        "Question;Kind\nwho says “no”;lookup\n".encode("cp1252"),
        b"\n\nQuestion;Kind\r\nwho;lookup\r\n",
    ],
)
def test_spreadsheets_are_read_as_programs_write_them(data: bytes) -> None:
    found = read_table(decoded(data))
    assert found.questions
    assert found.problems == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "row 1: nothing in it"),
        ("Frage,Antwort\na,b\n", "row 1: no column is called `question`; there are Frage, Antwort"),
        ("question,answer\n,60\n", "row 2, column question: blank"),
        ("question,answer\na,#REF!\n", "row 2, column reference: #REF!, a formula that failed"),
        ("question,kind\na,riddle\n", "row 2, column kind: Input should be"),
        ("question,kind\na,lookup,stray\n", "row 2, 3 cells under 2 columns"),
        ("id,question\nq,a\nq,b\n", "row 3, column id: 'q' is taken by row 2"),
    ],
)
def test_a_row_that_makes_no_question_is_named(text: str, said: str) -> None:
    problems = read_table(text).problems
    assert len(problems) == 1
    assert problems[0].startswith(said)


def test_good_rows_come_out_although_others_are_wrong() -> None:
    found = read_table("question,kind\na,riddle\nb,lookup\nc\n")
    assert [one.question for one in found.questions] == ["b", "c"]


def test_a_sheet_is_imported_by_its_link_and_nothing_is_overwritten(tmp_path: Path) -> None:
    sheet = StoredFile(id="1" * 44, name="Golden", mime_type=SHEET, content=TABLE)
    link = f"https://docs.google.com/spreadsheets/d/{sheet.id}/edit#gid=0"
    with GoogleStandIn([sheet]) as google:
        environment = {
            "GOOGLE_APPLICATION_CREDENTIALS": str(google.write_credentials(tmp_path / "key.json")),
            "GOOGLE_API_URL": google.url,
        }
        out = tmp_path / "golden.yaml"
        done = oncall(tmp_path, "golden", "import", link, "--out", str(out), **environment)
        assert (done.returncode, len(load_golden([out]))) == (0, 2)
        again = oncall(tmp_path, "golden", "import", link, "--out", str(out), **environment)
        gone = oncall(tmp_path, "golden", "import", "2" * 44, **environment)
    assert (again.returncode, gone.returncode) == (2, 1)
    assert "is there already" in again.stderr
    assert "2" * 44 in gone.stderr
    assert len(gone.stderr.splitlines()) == 1


def proposed(*questions: str) -> dict[str, object]:
    return {
        "questions": [{"question": one, "why": "Not said.", "nearest": ""} for one in questions]
    }


def test_unanswerable_questions_are_proposed_of_every_sort_and_left_to_people() -> None:
    model = ScriptedModel(
        {
            "propose_unanswerable": proposed("what does a key cost", "who invented it", "third"),
            "is_answered": {"answered": False, "reason": "no price"},
        }
    )
    found = list(
        propose_unanswerable(
            model, snapshot(ROTATION, LAPTOPS), domain="security", title="Security help", count=8
        )
    )
    sorts = [one.category for one in found]
    assert set(sorts) == set(CATEGORIES)
    assert len(sorts) == 8
    assert {one.kind for one in found} == {"proposed"}
    assert found[0].proposed is not None
    assert found[0].proposed.kind == "unanswerable"
    assert "Not said." in found[0].reference
    assert "Key Rotation Standard" in model.prompts[0].user
    assert model.called.count("is_answered") == 5  # of the three sorts that a document may answer


def test_a_question_that_the_documents_answer_after_all_is_dropped() -> None:
    model = ScriptedModel(
        {
            "propose_unanswerable": proposed("how old may a key get"),
            "is_answered": {"answered": True, "reason": "the table says it"},
        }
    )
    found = list(propose_unanswerable(model, snapshot(ROTATION), domain="d", title="D", count=6))
    assert {one.category for one in found} == {
        "nonsensical", "modality_limited", "safety_concerned"
    }  # fmt: skip


def test_without_a_model_nothing_is_proposed_and_it_is_said_why(tmp_path: Path) -> None:
    done = oncall(tmp_path, "golden", "propose", "--domain", "security", "--unanswerable", "6")
    assert done.returncode == 2
    assert "ONCALL_CHAT_MODEL" in done.stderr
