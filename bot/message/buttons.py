"""What an answer offers to press: choices, a verdict, a human. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from agents.answer import Answer
from bot.message.blockkit import BUTTON_TEXT, Json, actions, button, short
from bot.message.harmless.harmless_words import plain

FEEDBACK = "answer_feedback"
ASK_HUMAN = "ask_human"
CLARIFY = "clarify"
LOOK_IN = "look_in"
MOST_CHOICES = 5
SEEN_AT_ONCE = 30
"""Characters of a button on a phone."""


def buttons(answer: Answer, question_id: str, more: Sequence[Json] = ()) -> Iterator[Json]:
    """`more`: elements beside *Ask a human*, where that is offered."""
    if answer.options:
        yield actions(list(_options(answer.options[:MOST_CHOICES])), block_id="oncall_options")
    if answer.beside:
        yield actions(list(_domains(answer, question_id)), block_id="oncall_beside")
    if answer.path == "small_talk":
        return
    if answer.path != "ambiguous_query":
        yield _verdict(question_id)
    style = {"style": "primary"} if answer.unsure else {}
    yield actions([ask_human(question_id, **style), *more], block_id="oncall_human")


def ask_human(question_id: str, **more: str) -> Json:
    return button("Ask a human", ASK_HUMAN, question_id, **more)


def labels(options: Sequence[str]) -> list[str]:
    """What each is called beside the others: whole where all are short, else what differs."""
    words = [" ".join(option.split()).rstrip("?.!:;, ").split() for option in options]
    if any(len(" ".join(one)) > SEEN_AT_ONCE for one in words):
        words = _without_common(words)
        if any(len(" ".join(one)) > SEEN_AT_ONCE for one in words):
            words = [one[::-1] for one in _without_common([one[::-1] for one in words])]
    told = [
        _upper_first(" ".join(one)) or option for one, option in zip(words, options, strict=True)
    ]
    return _told_apart(told)


def _without_common(options: list[list[str]]) -> list[list[str]]:
    """Without the words that all begin with; each keeps one."""
    if len(options) < 2:
        return options
    folded = [[word.casefold() for word in option] for option in options]
    shared = min(_shared(folded), *(max(0, len(option) - 1) for option in options))
    return [option[shared:] for option in options]


def _told_apart(told: list[str]) -> list[str]:
    """Cut to a button's length; where that makes two alike, each begins where they differ."""
    cut = [short(one, BUTTON_TEXT) for one in told]
    for at, label in enumerate(cut):
        alike = [told[other] for other in range(len(cut)) if cut[other] == label]
        if len(set(alike)) > 1:
            begins = told[at].rfind(" ", 0, _shared(alike)) + 1
            cut[at] = short(f"…{told[at][begins:]}", BUTTON_TEXT)
    return cut


def _shared(options: Sequence[Sequence[str]]) -> int:
    """Words, or characters, that all begin with."""
    alike = takewhile(lambda each: len(set(each)) == 1, zip(*options, strict=False))
    return sum(1 for _ in alike)


def _upper_first(text: str) -> str:
    """A label begins like a sentence, where its first word is written like any other."""
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.islower() and first.isalpha() else text


def _options(options: Sequence[str]) -> Iterator[Json]:
    for number, (option, label) in enumerate(zip(options, labels(options), strict=True)):
        yield button(label, f"{CLARIFY}_{number}", option, **_spoken(option, label))


def _domains(answer: Answer, question_id: str) -> Iterator[Json]:
    offered = answer.beside[:MOST_CHOICES]
    titles = labels([one.title for one in offered])
    asked = "" if answer.path == "ambiguous_query" else "Ask "
    for number, (one, title) in enumerate(zip(offered, titles, strict=True)):
        whole, label = f"Ask {one.title}", f"{asked}{title}"
        value = f"{one.domain} {question_id}"
        yield button(label, f"{LOOK_IN}_{number}", value, **_spoken(whole, label))


def _spoken(whole: str, label: str) -> dict[str, str]:
    """For screen readers, where the label is less than what it stands for."""
    said = plain(" ".join(whole.split()))
    return {"accessibility_label": said} if said != label and 0 < len(said) <= BUTTON_TEXT else {}


def _verdict(question_id: str) -> Json:
    return {
        "type": "context_actions",
        "block_id": "oncall_feedback",
        "elements": [
            {
                "type": "feedback_buttons",
                "action_id": FEEDBACK,
                "positive_button": _feedback("Helpful", "helpful", question_id),
                "negative_button": _feedback("Not helpful", "unhelpful", question_id),
            }
        ],
    }


def _feedback(text: str, verdict: str, question_id: str) -> Json:
    return {
        "text": {"type": "plain_text", "text": text},
        "accessibility_label": f"Mark this answer as {text.lower()}",
        "value": f"{verdict} {question_id}",
    }
