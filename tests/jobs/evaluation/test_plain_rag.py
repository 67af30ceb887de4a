"""The baseline: plain RAG over what is published."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agents.answer import Question
from config.errors import ModelUnavailable
from config.models import ChatModel, Vectors
from jobs.evaluation.baseline import PlainRag, documents_in
from tests.agents.corpus import LAPTOPS, ROTATION, snapshot
from tests.agents.scripted import ScriptedModel

ASKED = Question(text="how old may a webhook secret get")


def by_letters(texts: Sequence[str]) -> Vectors:
    """Vectors of letter counts: enough to find what shares words."""
    counts = np.asarray(
        [[text.casefold().count(chr(letter)) for letter in range(97, 123)] for text in texts],
        dtype=np.float32,
    )
    return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-6)


def plain(model: ChatModel | None) -> PlainRag:
    documents = list(documents_in(snapshot(ROTATION, LAPTOPS)))
    return PlainRag(documents, by_letters, model=model, characters=24_000)


def test_documents_are_put_together_as_they_stood() -> None:
    (_, title, text), *_ = documents_in(snapshot(ROTATION))
    assert title == "Key Rotation Standard"
    assert text.index("Maximum age") < text.index("Webhook secret") < text.index("leaks")
    assert text.count("| Credential |") == 1


def test_sources_are_numbered_as_they_are_mentioned_and_unknown_ones_disappear() -> None:
    model = ScriptedModel({"plain": "30 days [2]. Or 90 [1], see [2] and [99]."})
    answer = plain(model).ask(ASKED)
    assert answer.text == "30 days [1]. Or 90 [2], see [1] and."
    assert [one.number for one in answer.citations] == [1, 2]
    assert answer.citations[0].chunk_id == answer.context[1].id
    assert answer.from_documents


def test_it_may_say_that_the_documents_do_not() -> None:
    answer = plain(ScriptedModel({"plain": "NO_ANSWER"})).ask(ASKED)
    assert (answer.path, answer.text) == ("no_answer_found", "The documents don't say.")


def test_an_outage_is_told_and_without_a_model_it_only_retrieves() -> None:
    failed = plain(ScriptedModel({"plain": ModelUnavailable("down")})).ask(ASKED)
    assert (failed.degraded, failed.text) == (("answer",), "")
    mute = plain(None).ask(ASKED)
    assert (mute.degraded, mute.text) == ((), "")
    assert mute.context
