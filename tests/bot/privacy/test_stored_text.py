"""Who sees stored words, those of older releases included; and that no log or comment tells more
than it should."""

from __future__ import annotations

import json
import traceback
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import Engine, create_engine, select, update

from bot.bus.inbox import cause_of
from bot.features.feedback.store import FeedbackStore
from bot.features.owner_drafts.service import without_pings
from bot.features.owner_drafts.store import DraftStore, OwnerDraftRow
from bot.questions.personal import question_words
from bot.questions.store import QuestionStore, decode_answer, encode_answer
from bot.questions.tables import FeedbackRow, private_post_key, typed_privately
from config.errors import StorageFailed
from index.permissions.words import Words, visible_text
from tests.bot.fakes import answer, claim

SECRET = "heliotrope 4711"
ASKER, QUESTION = "U0DANA", "C1:1.0"


@dataclass(frozen=True)
class Somebody:
    user: str = "U0INES"
    channels: frozenset[str] = frozenset({"C1"})
    documents: frozenset[str] = frozenset({"open"})

    def sees(self, channel: str) -> bool:
        return channel in self.channels

    def reads(self, domain: str, documents: Collection[str] | None) -> bool:
        return documents is not None and self.documents.issuperset(documents)


RESTATED = Words(
    text="restated", own="own", domain="security", author=ASKER, place="C1",
    drawn_from=frozenset({"closed"}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "reader", "shown"),
    [
        (RESTATED, Somebody(), "own"),
        (RESTATED, Somebody(documents=frozenset({"closed"})), "restated"),
        (replace(RESTATED, drawn_from=None), Somebody(), "own"),
        (replace(RESTATED, drawn_from=frozenset()), Somebody(), "restated"),
        (replace(RESTATED, own=""), Somebody(), ""),
        (RESTATED, Somebody(channels=frozenset()), ""),
        (RESTATED, Somebody(user=ASKER, channels=frozenset()), "own"),
        (replace(RESTATED, private=True), Somebody(documents=frozenset({"closed"})), ""),
        (replace(RESTATED, place="D1"), Somebody(channels=frozenset({"D1"})), ""),
        (replace(RESTATED, author="", place="D1"), Somebody(user=""), ""),
        (replace(RESTATED, place="", drawn_from=frozenset({"open"})), Somebody(), "restated"),
    ],
)
def test_a_reader_sees_what_both_place_and_documents_allow(
    words: Words, reader: Somebody, shown: str
) -> None:
    assert visible_text(words, reader) == shown


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = create_engine("sqlite://")
    yield made
    made.dispose()


def asked(engine: Engine, stored: str) -> QuestionStore:
    records = QuestionStore(engine)
    values = {"question_id": QUESTION, "channel": "C1", "thread_ts": "1.0", "asker": ASKER}
    claim(records, event_id="Ev1", text="own", domain="security", **values)
    records.mark(QUESTION, answer=stored, state="posted")
    return records


def test_an_answer_of_an_older_release_has_unknown_sources(engine: Engine) -> None:
    stored = json.loads(encode_answer(answer(standalone_question="restated")))
    del stored["restated_from"]
    record = asked(engine, json.dumps(stored)).get(QUESTION)
    assert record
    assert question_words(record).drawn_from is None
    assert visible_text(question_words(record), Somebody()) == "own"


def test_a_correction_of_an_older_release_is_private_where_its_answer_was(engine: Engine) -> None:
    records = asked(engine, encode_answer(answer()))
    feedback, drafts = FeedbackStore(engine), DraftStore(engine)
    feedback.explain(QUESTION, ASKER, reason="wrong", correction=SECRET, source="")
    draft = OwnerDraftRow(
        key="k", id="d", kind="answer", domain="security", document="", words=SECRET, by=ASKER,
        question_id=QUESTION, channel="C1", question="", state="waiting", drawn_from=None,
    )  # fmt: skip

    def is_private() -> bool:
        with engine.connect() as connection:
            found = bool(connection.scalar(select(FeedbackRow.user).where(typed_privately())))
        assert drafts.words(draft).words.private == found
        return found

    assert not is_private()
    records.own_post(private_post_key("Ev1"), 0, ASKER, "2.0")
    assert not is_private(), "it was typed before the answer was sent privately"
    with engine.begin() as connection:
        connection.execute(update(FeedbackRow).values(private=None))
    assert is_private()


def test_an_answer_that_cannot_be_read_is_quoted_in_no_log() -> None:
    stored = json.loads(encode_answer(answer(SECRET)))
    for broken in ({**stored, "confidence": SECRET}, {"text": SECRET}, [SECRET], SECRET):
        with pytest.raises(StorageFailed) as failed:
            decode_answer(json.dumps(broken))
        told = "".join(traceback.format_exception(failed.value)) + cause_of(failed.value)
        assert "heliotrope" not in told.replace(repr(SECRET), "")
        assert failed.value.__context__ is None


def test_of_foreign_errors_the_log_has_the_type() -> None:
    assert cause_of(ValueError(SECRET)) == "ValueError"
    assert cause_of(StorageFailed("the disk is full")) == "the disk is full"


@pytest.mark.parametrize(
    ("text", "comment"),
    [
        ("ask +dana@x.example", "ask + dana@x.example"),
        ("(@dana.w@x.example)", "(@ dana.w@x.example)"),
        ("＋dana@x.example", "＋ dana@x.example"),
        ("+a@x.example\n+b@x.example", "+ a@x.example\n+ b@x.example"),
        ("mail dana+keys@x.example", "mail dana+keys@x.example"),
        ("call +49 30 1234, 2+2, @here", "call +49 30 1234, 2+2, @here"),
    ],
)
def test_accepted_words_notify_nobody_by_an_address(text: str, comment: str) -> None:
    assert without_pings(text) == comment
