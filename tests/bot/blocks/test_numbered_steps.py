"""Ordered steps keep their numbers: in markdown, in the older markup, after any cut."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.blocks.body import BODY_LIMIT
from bot.blocks.fallbacks import plain_version
from bot.blocks.markdown import as_mrkdwn, excerpt, pieces
from bot.blocks.render import SlackMessage, render
from bot.blocks.sanitize.markdown import sanitize_markdown
from bot.blocks.sanitize.text import Links
from loaders.text.plain import read_blocks
from tests.bot.fakes import answer

LAZY = "1. Stop it\n1. Drain it\n1. Start it"
RUNBOOK = """\
1. Find the node:

   ```sh
   kubectl get nodes
     --watch
   ```

   It says `NotReady`.

1. Drain it.

| Node | Pool |
|---|---|
| a | b |

3. Start it again:
```
systemctl start x
```
4. Tell the channel.
"""


def said(message: SlackMessage) -> str:
    texts = [
        block["text"] if block["type"] == "markdown" else block["text"]["text"]
        for block in message.blocks
        if block["type"] in ("markdown", "section")
    ]
    return "\n".join(texts)


def numbers(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"^(\d+)[.] ", text, re.MULTILINE)]


def test_who_counts_lazily_is_counted_for() -> None:
    assert sanitize_markdown(LAZY, Links()) == "1. Stop it\n2. Drain it\n3. Start it"
    assert as_mrkdwn(LAZY, Links()) == "1. Stop it\n2. Drain it\n3. Start it"
    assert excerpt(LAZY, 100) == "1. Stop it\n2. Drain it\n3. Start it"


def test_steps_that_code_and_a_table_interrupt_keep_their_numbers() -> None:
    (message,) = render(answer(RUNBOOK, citations=()), question_id="q")
    for form in (message, plain_version(message)):
        assert numbers(said(form)) == [1, 2, 3, 4]


def test_code_within_a_step_can_be_copied_from_the_older_markup() -> None:
    (message,) = render(answer(RUNBOOK, citations=()), question_id="q")
    older = said(plain_version(message))
    assert "```\nkubectl get nodes\n  --watch\n```" in older
    assert "    It says `NotReady`." in older


def test_a_second_paragraph_of_a_step_is_no_code_after_a_cut() -> None:
    text = f"10. Read this first.\n\n    {'word ' * 60}\n\n    The last paragraph.\n\n11. Go on."
    cut = list(pieces(text, 360))
    assert len(cut) > 1
    kinds = {token.type for piece in cut for token in read_blocks(piece)}
    assert not kinds & {"code_block", "fence"}
    assert numbers("\n".join(cut)) == [10, 11]


def test_code_that_is_cut_within_a_step_is_closed_there() -> None:
    lines = [f"     echo {n}" for n in range(80)]
    text = "\n".join(["1. Run", "", "   ```sh", *lines, "   ```", "", "2. Done"])
    cut = list(pieces(text, 500))
    fences = [t for piece in cut for t in read_blocks(piece) if t.type == "fence"]
    assert len(fences) == len(cut)
    assert [line for t in fences for line in t.content.splitlines()] == [
        line.removeprefix("   ") for line in lines
    ]
    assert cut[-1].endswith("2. Done")


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.lists(st.integers(5, 900), min_size=12, max_size=40))
def test_however_many_messages_there_are_no_number_is_lost(start: int, sizes: list[int]) -> None:
    words = "step " * 200
    text = "\n".join(f"{start if n == 0 else 1}. {words[:size]}x" for n, size in enumerate(sizes))
    sent = render(answer(text, citations=()), question_id="q")
    assert len(sent) > 1 or len(text) <= BODY_LIMIT + 100
    counted = list(range(start, start + len(sizes)))
    for form in (sent, [plain_version(message) for message in sent]):
        assert numbers("\n".join(map(said, form))) == counted
