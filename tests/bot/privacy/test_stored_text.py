"""Stored text that can't be read, and accepted words, tell nobody more than they should."""

from __future__ import annotations

import json
import traceback

import pytest

from bot.bus.inbox import cause_of
from bot.features.owner_drafts.service import without_pings
from bot.questions.store import decode_answer, encode_answer
from config.errors import StorageFailed
from tests.bot.fakes import answer

SECRET = "heliotrope 4711"


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
