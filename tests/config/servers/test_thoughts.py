"""Thoughts in all the forms that models give them, whole and cut at every place."""

from __future__ import annotations

import pytest

from config.servers.thoughts import ThoughtFilter

REPLIES = [
    ("<think>\nSecret.\n</think>\n\nANSWER\nSix [1].", "ANSWER\nSix [1]."),
    ("<thinking>Secret.</thinking>ANSWER\nSix.", "ANSWER\nSix."),
    ("<THOUGHT type='x'>Secret <b>.</THOUGHT>ANSWER\nSix.", "ANSWER\nSix."),
    ("<seed:think>Secret.</seed:think>ANSWER\nSix.", "ANSWER\nSix."),
    ("◁think▷Secret.◁/think▷ANSWER\nSix.", "ANSWER\nSix."),
    ("[THINK]Secret [1].[/THINK]ANSWER\nSix.", "ANSWER\nSix."),
    ("<|begin_of_thought|>Secret.<|end_of_thought|><|begin_of_solution|>ANSWER\nSix."
     "<|end_of_solution|>", "ANSWER\nSix."),
    ("<|START_THINKING|>Secret.<|END_THINKING|><|START_RESPONSE|>ANSWER\nSix.<|END_RESPONSE|>",
     "ANSWER\nSix."),
    ("<|channel|>analysis<|message|>Secret.<|end|><|start|>assistant<|channel|>final<|message|>"
     "ANSWER\nSix.<|return|>", "ANSWER\nSix."),
    ("<|channel|>analysis<|message|>Secret.<|end|><|start|>assistant<|channel|>commentary "
     "to=functions.find <|constrain|>json<|message|>{}<|end|><|start|>assistant<|channel|>final"
     "<|message|>ANSWER\nSix.", "ANSWER\nSix."),
    ("analysisSecret. So six.assistantfinalANSWER\nSix.", "ANSWER\nSix."),
    ("<|channel>thought\nSecret.\n<channel|>ANSWER\nSix.", "ANSWER\nSix."),
    ("Secret, with ```a fence.\n</think>\n\nANSWER\nSix.", "ANSWER\nSix."),
    ("<think>a</think><answer>ANSWER\nSix.</answer>", "ANSWER\nSix."),
    ("&lt;think&gt;Secret.&lt;/think&gt;ANSWER\nSix.", "ANSWER\nSix."),
    ("ANSWER\n<think>Secret.</think>Six.", "ANSWER\nSix."),
    ("<think>Secret, and then the limit of tokens", ""),
    ("ANSWER\nClose it with `</think>`, as in\n```\n<think>x</think>\n```\nand a < b [1].",
     "ANSWER\nClose it with `</think>`, as in\n```\n<think>x</think>\n```\nand a < b [1]."),
    ("ANSWER\n<b>Six</b> [1][2], a&b, <https://a.example|this>, <Thinker>.",
     "ANSWER\n<b>Six</b> [1][2], a&b, <https://a.example|this>, <Thinker>."),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "visible"), REPLIES)
@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
def test_thoughts_never_pass(reply: str, visible: str, size: int) -> None:
    thoughts = ThoughtFilter(("ANSWER", "LOOK"))
    pieces = [reply[at : at + size] for at in range(0, len(reply), size)]
    text = "".join([*map(thoughts.feed, pieces), thoughts.close()])
    assert text.strip() == visible


def test_what_begins_as_agreed_passes_at_once_and_the_rest_waits() -> None:
    agreed, other = ThoughtFilter(("ANSWER",)), ThoughtFilter(("ANSWER",))
    assert agreed.feed("**ANSWER**\nSix") == "**ANSWER**\nSix"
    assert agreed.feed(" [1].") == " [1]."
    assert other.feed("Six [1].") == ""
    assert other.close() == "Six [1]."


def test_a_model_with_lone_closing_tags_is_recognized_and_waited_for() -> None:
    first, later = ThoughtFilter(), ThoughtFilter(waits=True)
    assert first.feed("Secret.") + first.feed("</think>Six.") == "Secret.Six."
    assert first.is_lone
    assert later.feed("Secret.") == ""
    assert later.feed("</think>Six.") == "Six."
