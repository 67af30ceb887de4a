"""What becomes of a draft that fails the checks."""

from __future__ import annotations

from agents.answer_cache.cache import is_cacheable
from agents.extractive.language import notice
from config.models import Prompt
from tests.agents.corpus import LAPTOPS, ROTATION, asking, snapshot
from tests.agents.scripted import ScriptedModel, Watching, in_turn
from tests.agents.test_with_a_model import ASKED, GOOD, good

INVENTED = "The finance director receives a copy by registered mail every spring [1]."


def answers(model: ScriptedModel) -> list[Prompt]:
    return [prompt for prompt in model.prompts if prompt.name == "answer"]


def test_a_sole_invented_sentence_is_written_again_before_passages_take_its_place() -> None:
    watching = Watching()
    model = ScriptedModel({"answer": in_turn(f"ANSWER\n{INVENTED}", good)})
    answer = asking(model=model)(ASKED, progress=watching)
    assert answer.text == GOOD
    assert answer.fallbacks == ()
    assert "finance director" in answers(model)[1].user
    assert notice("held_back", "English") not in watching.text


def test_invented_twice_becomes_passages_with_one_fallback() -> None:
    model = ScriptedModel({"answer": f"ANSWER\n{INVENTED}"})
    answer = asking(model=model)(ASKED)
    assert len(answers(model)) == 2
    assert "finance director" not in answer.text
    assert not answer.from_documents
    assert [(one.node, one.reason) for one in answer.fallbacks] == [("answer", "held_back")]


def test_in_a_hurry_nothing_is_written_again() -> None:
    model = ScriptedModel({"answer": f"ANSWER\n{INVENTED}"})
    assert not asking(model=model, effort="fast")(ASKED).from_documents
    assert len(answers(model)) == 1


def test_what_was_held_back_counts_against_the_rest() -> None:
    model = ScriptedModel({"answer": in_turn(lambda p: f"{good(p)} {INVENTED}", good)})
    answer = asking(model=model)(ASKED)
    assert len(answers(model)) == 2
    assert answer.text == GOOD
    assert answer.confidence_parts["groundedness"] == 1.0


def test_the_first_version_stands_when_the_second_is_invented_altogether() -> None:
    model = ScriptedModel({"answer": in_turn(lambda p: f"{good(p)} {INVENTED}", INVENTED)})
    answer = asking(model=model)(ASKED)
    assert answer.text == GOOD
    assert answer.confidence_parts["groundedness"] == 0.5


SECRET = "how old can a webhook secret on restricted data get?"


def other_row(prompt: Prompt) -> str:
    """The age of another credential, as if it were what was asked for."""
    return good(prompt).replace(GOOD.split(" [")[0], "60 days")


def test_the_value_of_something_else_is_written_again() -> None:
    right = in_turn(other_row, lambda p: good(p).replace(GOOD.split(" [")[0], "30 days"))
    model = ScriptedModel({"plan": {"question": SECRET, "kind": "in_domain"}, "answer": right})
    answer = asking(model=model)(SECRET)
    assert "'Webhook secret', not 'API signing key'" in answers(model)[1].user
    assert answer.text == "30 days [1]."
    assert "off subject" not in answer.confidence_parts


def test_what_stays_about_something_else_is_shown_with_reserve_and_never_cached() -> None:
    model = ScriptedModel({"plan": {"question": SECRET, "kind": "in_domain"}, "answer": other_row})
    answer = asking(model=model)(SECRET)
    assert answer.path == "company_specific_rag_failure"
    assert not is_cacheable(SECRET, answer, least=0.0)


def test_with_poor_sources_they_are_searched_again_before_the_second_version() -> None:
    asked = "which bakery delivers croissants for the quarterly meeting?"
    plan = {"question": asked, "kind": "in_domain", "paraphrases": ["leaked key replaced"]}
    model = ScriptedModel(
        {"plan": plan, "sources": {"documents": [{"id": "laptops", "reason": "?"}]},
         "answer": in_turn(f"ANSWER\n{INVENTED}", "NOTHING")}
    )  # fmt: skip
    answer = asking(snapshot(ROTATION, LAPTOPS), model)(asked)
    assert answer.path == "no_answer_found"
    assert answer.trace is not None
    assert any("searched again" in note for note in answer.trace.notes)
    assert any(note.startswith("find: ") for note in answer.trace.notes)
