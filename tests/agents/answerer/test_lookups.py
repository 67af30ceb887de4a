from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from agents.answerer.lookups import look_up_requests
from agents.answerer.model import label_sources
from agents.answerer.opening import Opening
from agents.context.sources import build_sources
from agents.requests import MAX_REQUESTS, requests_in
from config.errors import ModelUnavailable
from config.models import Prompt
from tests.agents.corpus import DRILLS, LAPTOPS, ROTATION, asking, snapshot
from tests.agents.memory import MemorySnapshot
from tests.agents.scripted import OPEN, PLAN, Says, ScriptedModel, Watching, in_turn

LEAK = "A leaked key is replaced within 24 hours of its discovery [1]."
ASKED = "how soon is a leaked key replaced?"
ABOUT_LEAKS = {**PLAN, "question": ASKED}
LEFT_OPEN = {**ABOUT_LEAKS, "sub_questions": [OPEN]}
NARROW = {"documents": [{"id": "laptops", "reason": "wrong"}]}


def citing(text: str, words: str) -> Callable[[Prompt], str]:
    """`text`, its [1] pointing to the source that holds the words."""

    def says(prompt: Prompt) -> str:
        parts = prompt.user.split(" source ")
        number = next((int(part.split()[0]) for part in parts[1:] if words in part), 77)
        return text.replace("[1]", f"[{number}]")

    return says


ANSWERED = citing(f"ANSWER\n{LEAK}", "replaced within 24 hours")


@pytest.mark.parametrize(
    ("said", "verdict", "rest"),
    [
        ("ANSWER\n60 days [1].", "answer", "60 days [1]."),
        ("**ANSWER**\n\n60 days [1].", "answer", "60 days [1]."),
        ("ANSWER: 60 days [1].", "answer", "60 days [1]."),
        ("60 days [1].", "answer", "60 days [1]."),
        ("Nothing but the key [1].", "answer", "Nothing but the key [1]."),
        ("NOTHING", "nothing", ""),
        ("NO_ANSWER", "nothing", ""),
        ("NOTHING\nThe documents don't say.", "nothing", "The documents don't say."),
        ("# LOOK\nfind: x", "look", "find: x"),
        ("WHICH\nWhich?\n- a: b [1]", "which", "Which?\n- a: b [1]"),
        ("ANSWERS vary [1].", "answer", "ANSWERS vary [1]."),
        ("", "answer", ""),
        ("answer\n60 days [1].", "answer", "60 days [1]."),
        ("**Answer:** 60 days [1].", "answer", "60 days [1]."),
        ("### ANSWER\n---\n60 days [1].", "answer", "60 days [1]."),
        ("ANSWER 60 days [1].", "answer", "60 days [1]."),
        ("ANSWER\nAnswer: 60 days [1].\nANSWER", "answer", "60 days [1].\n"),
        ("Verdict: ANSWER\n60 days [1].", "answer", "60 days [1]."),
        ("ANSWER: Nothing.", "answer", "Nothing."),
        ("NOTHING in the documents says it.", "nothing", "Nothing in the documents says it."),
        ("Look: open the panel [1].", "answer", "Look: open the panel [1]."),
        ("Which key is it?", "answer", "Which key is it?"),
        ("find: key\nopen: Guide › Lost", "look", "find: key\nopen: Guide › Lost"),
        ("Based on the sources:\n\n**ANSWER**\n\n60 days [1].", "answer", "60 days [1]."),
        ("60 days.\nANSWER", "answer", "60 days."),
        ("Yes.\n\n- one\n- two", "answer", "Yes.\n\n- one\n- two"),
        ("```markdown\nANSWER\n60 days [1].\n```", "answer", "60 days [1].\n"),
        ("ANSWER\n```\n60 days [1].\n```", "answer", "60 days [1].\n"),
        ("ANSWER\n```\nrotate\n```\nso [1].", "answer", "```\nrotate\n```\nso [1]."),
        ("```\nrotate --now\n```\n", "answer", "```\nrotate --now\n```\n"),
        (
            "```\nANSWER\nRun [1]:\n```\nrotate\n```\n```\nThat helps.",
            "answer",
            "Run [1]:\n```\nrotate\n```\nThat helps.",
        ),
        ("ANSWER\n```dns\nANSWER\n```\nx [1].", "answer", "```dns\nANSWER\n```\nx [1]."),
        ("<answer>\nANSWER\n60 days [1].\n</answer>", "answer", "60 days [1].\n"),
        ('{"verdict": "Answer", "text": "60.", "citations": [1]}', "answer", "60. [1]"),
        ('```json\n{"LOOK": [{"tool": "find", "words": "x"}]}\n```', "look", "find: x"),
        ("I looked at it all. Here you are: ANSWER\n60 days [1].", "answer", "60 days [1]."),
        (
            "The DNS gives you an ANSWER\nof 60 [1].",
            "answer",
            "The DNS gives you an ANSWER\nof 60 [1].",
        ),
        ('{"retries": 3}', "answer", '{"retries": 3}'),
        ("【ANSWER】\n60 days [1].", "answer", "60 days [1]."),
        ("« ANSWER »\n60 days [1].", "answer", "60 days [1]."),
        ("✅ ANSWER\n60 days [1].", "answer", "60 days [1]."),
        ("| ANSWER |\n60 days [1].", "answer", "60 days [1]."),
        ("ANSWER\r\n60 days [1].", "answer", "60 days [1]."),
        ("ANSWER\n**Verdict:** ANSWER\n60 days [1].", "answer", "60 days [1]."),
        ("WHICH\nWHICH: Which key?", "which", "Which key?"),
        ("NOTHING\nNothing.", "nothing", "Nothing."),
        ("Final decision: LOOK\nfind: x", "look", "find: x"),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_a_reply_is_told_apart_by_its_first_word(
    said: str, verdict: str, rest: str, size: int
) -> None:
    opening = Opening()
    pieces = [opening.feed(said[at : at + size]) for at in range(0, len(said), size)]
    assert "".join((*pieces, opening.close())) == rest
    assert opening.verdict == verdict


def test_requests_are_read_from_lines_of_any_style() -> None:
    said = (
        "LOOK\n- find: who approves `RC` keys | Key Rotation Standard\n"
        "2. open: Laptop Guide > Lost\naround: source 3\nI also want everything\n"
        "find:\nopen: Laptop Guide\nfind: a\nfind: b"
    )
    asked_for = requests_in(said)
    assert list(map(str, asked_for)) == [
        "find: who approves `RC` keys | Key Rotation Standard",
        "open: Laptop Guide › Lost",
        "around: 3",
        "open: Laptop Guide",
    ]
    assert len(asked_for) == MAX_REQUESTS


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ("• **find:** keys | Guide", "find: keys | Guide"),
        ("- `find`: keys", "find: keys"),
        ("FIND keys of the vault", "find: keys of the vault"),
        ("LOOK: find: keys", "find: keys"),
        ('find("keys", "Guide")', "find: keys | Guide"),
        ('open(document="Guide", heading="Lost (stolen)")', "open: Guide › Lost (stolen)"),
        ("around(3)", "around: 3"),
        ("around [Source 3]", "around: 3"),
        ('{"open": "Guide › Lost"},', "open: Guide › Lost"),
        ("<find>keys</find>", "find: keys"),
        ("find：keys", "find: keys"),
        ("Find out more in the Guide", ""),
        ("I would open the Guide", ""),
    ],
)
def test_a_request_is_read_in_the_forms_of_code_and_lists(line: str, request_: str) -> None:
    assert [*map(str, requests_in(f"LOOK\n{line}"))] == [request_] * bool(request_)


@pytest.mark.parametrize(
    "asked_for",
    [
        "find: leaked key replaced",
        "find: leaked key | key rotation standard",
        "open: Key Rotation Standard › When a key leaks",
        "open: key-rotation",
    ],
)
def test_what_the_answerer_misses_is_fetched(asked_for: str) -> None:
    watching = Watching()
    model = ScriptedModel(
        {"plan": LEFT_OPEN, "sources": NARROW, "answer": in_turn(f"LOOK\n{asked_for}", ANSWERED)}
    )
    answer = asking(model=model)(ASKED, progress=watching)
    assert model.called == ["plan", "sources", "answer", "answer"]
    assert answer.text == watching.text == LEAK
    assert "24 hours" in model.prompts[-1].user
    assert answer.trace is not None
    assert any(asked_for.split(":")[0] in note for note in answer.trace.notes)


@pytest.mark.parametrize(("effort", "calls"), [("fast", 2), ("standard", 4)])
def test_a_model_that_never_has_enough_is_stopped(effort: str, calls: int) -> None:
    model = ScriptedModel(
        {"plan": ABOUT_LEAKS, "answer": "LOOK\nfind: leaked key\naround: 1\nopen: Laptop Guide"}
    )
    answer = asking(model=model, effort=effort)(ASKED)
    assert len(model.called) == calls
    assert answer.degraded == ("answer",)
    assert "24 hours" in answer.text


def test_that_the_documents_do_not_say_is_said_after_a_search_in_all_of_them() -> None:
    model = ScriptedModel(
        {"plan": LEFT_OPEN, "sources": NARROW, "answer": in_turn("NOTHING", ANSWERED)}
    )
    answer = asking(snapshot(ROTATION, LAPTOPS, *DRILLS), model)(ASKED)
    assert answer.text == LEAK
    assert answer.usage.calls == 4


def test_a_search_that_brings_nothing_new_costs_no_further_call() -> None:
    model = ScriptedModel({"plan": ABOUT_LEAKS, "answer": "NOTHING"})
    answer = asking(model=model)(ASKED)
    assert answer.path == "no_answer_found"
    assert model.called == ["plan", "answer"]


def test_a_refusal_may_name_the_nearest_that_the_documents_say() -> None:
    said = "The documents don't say who pays for a leaked key; it is replaced within 24 hours [1]."
    model = ScriptedModel(
        {"plan": ABOUT_LEAKS, "answer": citing(f"NOTHING\n{said}", "replaced within 24 hours")}
    )
    answer = asking(model=model)("who pays for a leaked key?")
    assert answer.path == "no_answer_found"
    assert answer.text == said
    assert [citation.document for citation in answer.citations] == ["key-rotation"]


def test_what_the_sources_do_not_hold_up_is_written_again() -> None:
    wrong = LEAK.replace("24", "48")
    model = ScriptedModel(
        {
            "plan": ABOUT_LEAKS,
            "answer": in_turn(citing(wrong, "replaced within 24 hours"), ANSWERED),
        }
    )
    answer = asking(model=model)(ASKED)
    assert answer.text == LEAK
    assert model.called == ["plan", "answer", "answer"]
    complaint = model.prompts[-1].user.partition("what its check found")[2].partition("</")[0]
    assert "48 hours" in complaint
    assert "is not in its source" in complaint
    assert "[1]" not in complaint


@pytest.mark.parametrize("second", ["same", "down"])
def test_what_stays_unsupported_is_marked_and_never_swapped_for_quotations(second: str) -> None:
    wrong = citing(LEAK.replace("24", "48"), "replaced within 24 hours")
    again: Says = wrong if second == "same" else ModelUnavailable("down")
    model = ScriptedModel({"plan": ABOUT_LEAKS, "answer": in_turn(wrong, again)})
    answer = asking(model=model)(ASKED)
    assert "48 hours" in answer.text
    assert "Not found as said in the sources" in answer.text
    assert answer.confidence < 0.3


def test_the_model_s_outage_in_round_two_leaves_what_the_documents_say() -> None:
    model = ScriptedModel(
        {"plan": ABOUT_LEAKS, "answer": in_turn("LOOK\nfind: leaked key", ModelUnavailable("down"))}
    )
    answer = asking(model=model)(ASKED)
    assert answer.degraded == ("answer",)
    assert "24 hours" in answer.text


def test_a_refusal_stands_when_the_model_fails_after_it() -> None:
    says = in_turn("NOTHING", ModelUnavailable("down"))
    model = ScriptedModel({"plan": LEFT_OPEN, "sources": NARROW, "answer": says})
    answer = asking(snapshot(ROTATION, LAPTOPS, *DRILLS), model)(ASKED)
    assert answer.path == "no_answer_found"
    assert answer.degraded == ("answer",)


@pytest.mark.parametrize(
    "junk",
    [
        "find: x | No Such Document",
        "open: No Such Document › Nowhere",
        "around: 999",
        "delete: everything",
        "find: " + "long " * 30_000,
    ],
)
def test_requests_that_make_no_sense_harm_nobody(junk: str) -> None:
    model = ScriptedModel({"plan": ABOUT_LEAKS, "answer": in_turn(f"LOOK\n{junk}", ANSWERED)})
    answer = asking(model=model)(ASKED)
    assert "24 hours" in answer.text
    assert answer.usage.calls <= 5


def test_readings_that_the_planner_names_are_searched() -> None:
    plan = {**PLAN, "question": "how long?", "readings": ["how soon is a leaked key replaced?"]}
    model = ScriptedModel({"plan": plan, "sources": {"documents": []}, "answer": ANSWERED})
    assert asking(model=model)("how long?").text == LEAK


@pytest.mark.parametrize("keywords", [["SEC-9999"], ["laptop"]])
def test_keywords_that_nobody_said_are_not_searched_for(keywords: list[str]) -> None:
    model = ScriptedModel({"plan": {**PLAN, "keywords": keywords}, "answer": ANSWERED})
    answer = asking(model=model)(ASKED)
    assert answer.trace is not None
    assert answer.trace.plan is not None
    known = {"laptop"}  # in a title
    assert answer.trace.plan.keywords == [one for one in keywords if one in known]


def test_one_claim_of_several_that_the_check_can_not_follow_lowers_the_confidence() -> None:
    said = (
        "A leaked key gets no overlap window [1]. The owner of the system decides who replaces "
        "it [1]. A leaked key is replaced within 48 hours of its discovery [1]."
    )
    model = ScriptedModel({"plan": ABOUT_LEAKS, "answer": citing(said, "replaced within 24 hours")})
    answer = asking(model=model)(ASKED)
    assert answer.usage.calls == 2
    assert "Not found" not in answer.text
    assert answer.confidence_parts["groundedness"] == pytest.approx(2 / 3)
    assert answer.trace is not None
    assert any("48 hours" in note for note in answer.trace.notes)


@pytest.mark.parametrize(
    ("request_line", "outcome"),
    [
        ("open: Laptop Guide › Screen lock", "1 new passage"),
        ("find: laptop | Lap Guide", "no document has the title “Lap Guide”, so all were searched"),
        ("open: Lap Guide › Screen lock", "no document has the title “Lap Guide”"),
        ("open: Laptop Guide › Keyboards", "no section “Keyboards”; it has: "),
        ("open: Key Rotation Standard › When a key leaks", "nothing new: all that it brings is"),
        ("around: 9", "there is no source 9"),
    ],
)
def test_a_lookup_that_brings_nothing_new_says_why(request_line: str, outcome: str) -> None:
    found = snapshot(ROTATION, LAPTOPS)
    sources = build_sources(found.chunks("key-rotation"), found)
    _, (note,) = look_up_requests(requests_in(request_line), sources, found)
    assert note.startswith(f"{request_line} → ")
    assert outcome in note


def test_documents_of_one_title_are_told_apart_by_folder_and_opened_by_that() -> None:
    page = "---\nid: {0}\ntitle: Runbook\n---\n# Runbook\n\n## Restart\n\nRestart the {0}.\n"
    one = snapshot(page.format("kiln"), page.format("press"), ROTATION)
    cards = {name: replace(card, path=f"ops/{name}/runbook.md" if name != "key-rotation" else "")
             for name, card in one.documents.items()}  # fmt: skip
    found = MemorySnapshot([c for name in cards for c in one.chunks(name)], [*cards.values()])
    sources = build_sources([found.chunks(name)[0] for name in cards], found)
    labels = [block.label for block in label_sources(sources, found.documents)]
    assert "| Runbook (ops/kiln) › Restart" in labels[0]
    assert "Runbook (ops/press)" in labels[1]
    assert labels[2].startswith("source 3 | Key Rotation Standard")
    (request,) = requests_in("open: Runbook (ops/press) › Restart")
    (hit,), _ = look_up_requests([request], sources[:1], found)
    assert hit.chunk.document_id == "press"


def test_around_brings_the_rest_of_a_table() -> None:
    rows = "\n".join(f"| kiln-{n} | Team {n} of the long corridor | {n} |" for n in range(90))
    page = "---\nid: kilns\ntitle: Kilns\n---\n# Kilns\n\n| Kiln | Owner | Limit |\n|---|---|---|\n"
    found = snapshot(page + rows)
    first, *others = found.chunks("kilns")
    assert len(others) > 3
    sources = build_sources([first], found)
    hits, _ = look_up_requests(requests_in("around: 1"), sources, found)
    assert [hit.chunk for hit in hits] == others


def test_what_a_search_after_nothing_brought_is_marked_and_explained() -> None:
    model = ScriptedModel(
        {"plan": LEFT_OPEN, "sources": NARROW, "answer": in_turn("NOTHING", ANSWERED)}
    )
    asking(snapshot(ROTATION, LAPTOPS, *DRILLS), model)(ASKED)
    first, second = (prompt.user for prompt in model.prompts[-2:])
    assert "| new>" not in first
    assert "| new>" in second
    assert "You said NOTHING" in second
    assert second.count(OPEN) == 1 + second.count(f"find: {OPEN}") - 1


def test_a_date_that_many_documents_share_is_no_edit() -> None:
    dated = [
        page.replace("\ntitle:", "\nmodified: 2026-08-20\ntitle:", 1)
        for page in (ROTATION, LAPTOPS, *DRILLS)
    ]
    model = ScriptedModel({"plan": ABOUT_LEAKS, "answer": "NOTHING"})
    asking(snapshot(*dated[:2]), model)(ASKED)
    asking(snapshot(*dated), model)(ASKED)
    few, many = (prompt.user for prompt in model.prompts if "Begin with ANSWER" in prompt.user)
    assert "modified 2026-08-20" in few
    assert "modified 2026-08-20" not in many
