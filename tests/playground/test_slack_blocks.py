"""Block Kit validation: what Slack refuses, and how it words that."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.slack.rules.block_rules import problems, too_long

Json = dict[str, Any]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def button(**fields: Any) -> Json:
    return {"type": "button", "text": plain("Go"), "action_id": "go", **fields}


def feedback(**fields: Any) -> Json:
    return {
        "type": "feedback_buttons",
        "action_id": "feedback",
        "positive_button": {"text": plain("Yes"), "value": "yes"},
        "negative_button": {"text": plain("No"), "value": "no"},
        **fields,
    }


def actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def section(text: str = "hello", **fields: Any) -> Json:
    return {"type": "section", "text": mrkdwn(text), **fields}


def cell(text: str) -> Json:
    return {"type": "raw_text", "text": text}


def number(value: float, **fields: Any) -> Json:
    return {"type": "raw_number", "value": value, **fields}


def rich(*pieces: Json) -> Json:
    section = {"type": "rich_text_section", "elements": list(pieces)}
    return {"type": "rich_text", "elements": [section]}


def data_table(*rows: list[Json], **fields: Any) -> Json:
    header = [[cell("Region"), cell("Days")]]
    body = list(rows) or [[cell("EU"), number(90, text="90 days")]]
    return {"type": "data_table", "caption": "Ages", "rows": header + body, **fields}


def task(**fields: Any) -> Json:
    return {"task_id": "1", "title": "Reading", "status": "pending", **fields}


def plan(*tasks: Json, **fields: Any) -> Json:
    return {"type": "plan", "title": "Looking", "tasks": list(tasks), **fields}


def card(**fields: Any) -> Json:
    return {"type": "task_card", **task(status="complete"), **fields}


OPTION = {"text": plain("One"), "value": "1"}
ANSWER: list[Json] = [
    {"type": "header", "text": plain("Key rotation")},
    {"type": "markdown", "text": "Every **90 days** [1]"},
    section(accessory=button(url="https://docs.google.com/document/d/1")),
    {"type": "section", "fields": [mrkdwn("*EU*\n90 days")]},
    {"type": "divider"},
    {"type": "image", "image_url": "https://x.example/i.png", "alt_text": "A chart"},
    {"type": "context", "elements": [mrkdwn("Key Rotation Standard")]},
    actions(button(), {"type": "static_select", "action_id": "pick", "options": [OPTION]}),
    {"type": "context_actions", "elements": [feedback()]},
    {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": []}]},
    {"type": "table", "rows": [[{"type": "raw_text", "text": "EU"}]]},
    data_table([cell("EU"), rich({"type": "text", "text": "90"})], page_size=10),
    plan(task(), card(task_id="2", details=rich({"type": "text", "text": "3 documents"}))),
    card(sources=[{"type": "url", "url": "https://docs.example", "text": "A document"}]),
    {
        "type": "context_actions",
        "elements": [
            {"type": "icon_button", "icon": "trash", "text": plain("Delete"), "action_id": "away"}
        ],
    },
]


def test_a_whole_answer_is_accepted() -> None:
    assert problems(ANSWER) == []


@pytest.mark.parametrize(
    ("block", "pointer"),
    [
        ({"type": "hologram"}, "/type"),
        (section("x" * 3001), "/text/text"),
        (section(""), "/text/text"),
        ({"type": "section"}, ""),
        ({"type": "section", "fields": [mrkdwn("x")] * 11}, "/fields"),
        ({"type": "section", "fields": [mrkdwn("x" * 2001)]}, "/fields/0/text"),
        (section(accessory=feedback()), "/accessory/type"),
        ({"type": "header", "text": plain("x" * 151)}, "/text/text"),
        ({"type": "header", "text": mrkdwn("x")}, "/text/type"),
        ({"type": "markdown", "text": "x" * 12_001}, "/text"),
        ({"type": "context", "elements": [mrkdwn("x")] * 11}, "/elements"),
        ({"type": "context", "elements": []}, "/elements"),
        (actions(*[button(action_id=str(n)) for n in range(26)]), "/elements"),
        (actions(button(), button()), "/elements/1/action_id"),
        (actions(button(text=plain("x" * 76))), "/elements/0/text/text"),
        (actions(button(text=mrkdwn("x"))), "/elements/0/text/type"),
        (actions(button(value="x" * 2001)), "/elements/0/value"),
        (actions(button(action_id="x" * 256)), "/elements/0/action_id"),
        (actions(button(style="loud")), "/elements/0/style"),
        (actions(button(url="javascript:alert(1)")), "/elements/0/url"),
        (actions(feedback()), "/elements/0/type"),
        (actions({"type": "static_select", "options": [OPTION] * 101}), "/elements/0/options"),
        (actions({"type": "overflow", "options": [OPTION] * 6}), "/elements/0/options"),
        ({"type": "context_actions", "elements": [button()]}, "/elements/0/type"),
        (
            {
                "type": "context_actions",
                "elements": [feedback(action_id=str(n)) for n in range(6)],
            },
            "/elements",
        ),
        (
            {"type": "context_actions", "elements": [feedback(negative_button=None)]},
            "/elements/0",
        ),
        ({"type": "image", "image_url": "file:///etc/passwd", "alt_text": "x"}, "/image_url"),
        ({"type": "image", "image_url": "https://x.example/i.png"}, "/alt_text"),
        ({"type": "table", "rows": [[{"type": "raw_text", "text": "x"}] * 21]}, "/rows/0"),
        ({"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]] * 101}, "/rows"),
        (section(block_id="x" * 256), "/block_id"),
        ({"type": "table", "rows": [[cell("")]]}, "/rows/0/0/text"),
        (
            {"type": "table", "rows": [[cell("x")]], "column_settings": [{"align": "justify"}]},
            "/column_settings/0/align",
        ),
        (data_table(caption=None), "/caption"),
        (data_table(caption=""), "/caption"),
        ({"type": "data_table", "caption": "x", "rows": [[cell("only a header")]]}, "/rows"),
        (data_table(*[[cell("a"), cell("b")]] * 201), "/rows"),
        (data_table([cell("one cell too few")]), "/rows"),
        (data_table([cell("a"), {"type": "plain_text", "text": "b"}]), "/rows/1/1/type"),
        (data_table([cell("a"), number(1, text="")]), "/rows/1/1/text"),
        (data_table([cell("a"), {"type": "raw_number", "text": "9"}]), "/rows/1/1/value"),
        (
            data_table([cell("a"), rich({"type": "text", "text": ""})]),
            "/rows/1/1/elements/0/elements/0/text",
        ),
        (data_table(page_size=0), "/page_size"),
        (data_table(page_size=101), "/page_size"),
        (data_table(row_header_column_index=2), "/row_header_column_index"),
        (
            {"type": "data_table", "caption": "x", "rows": [[rich()], [cell("x")]]},
            "/rows/0/0/type",
        ),
        ({"type": "data_table", "caption": "x", "rows": [[cell("x")] * 21] * 2}, "/rows/0"),
        (data_table([cell("x" * 20_000), cell("y")]), "/rows"),
        (plan(title=plain("Looking")), "/title"),
        ({"type": "plan"}, ""),
        (plan(task(status="done")), "/tasks/0/status"),
        (plan(task(title="")), "/tasks/0/title"),
        (plan(task(), task()), "/tasks/1/task_id"),
        (plan(task(details="a string")), "/tasks/0/details"),
        (card(status="pending"), "/status"),
        (card(sources=[{"type": "url", "url": "ftp://x", "text": "x"}]), "/sources/0/url"),
        (
            {
                "type": "context_actions",
                "elements": [
                    feedback(
                        positive_button={
                            "text": plain("Yes"),
                            "value": "y",
                            "accessibility_label": "x" * 76,
                        }
                    )
                ],
            },
            "/elements/0/positive_button/accessibility_label",
        ),
        (
            {
                "type": "context_actions",
                "elements": [
                    {
                        "type": "icon_button",
                        "icon": "trash",
                        "text": plain("Delete"),
                        "visible_to_user_ids": ["U0"] * 11,
                    }
                ],
            },
            "/elements/0/visible_to_user_ids",
        ),
    ],
)
def test_each_limit_is_named_by_its_place(block: Json, pointer: str) -> None:
    found = problems([block])
    assert any(problem.endswith(f"[json-pointer:/blocks/0{pointer}]") for problem in found)


def test_tables_of_a_message_have_their_characters_together() -> None:
    half = data_table([cell("x" * 9_900), cell("y")])
    assert problems([half, half]) == []
    assert problems([half, half, half])
    small = {"type": "table", "rows": [[cell("x" * 5_001)]]}
    assert problems([small]) == []
    assert problems([small, small])


def test_a_workspace_may_lack_a_kind_of_block() -> None:
    (said,) = problems([section(), data_table()], unsupported={"data_table"})
    assert said == "[ERROR] unsupported type: data_table [json-pointer:/blocks/1/type]"


@pytest.mark.parametrize("block", [plan(task()), card(), data_table()])
def test_modals_take_neither_plans_nor_tables(block: Json) -> None:
    assert problems([block], "modal")


def test_block_ids_are_unique_in_a_message() -> None:
    found = problems([section(block_id="same"), section(block_id="same")])
    assert len(found) == 1
    assert "/blocks/1/block_id" in found[0]


def test_a_message_holds_fifty_blocks_and_a_modal_a_hundred() -> None:
    fifty_one = [section()] * 51
    assert problems(fifty_one[:50]) == []
    assert problems(fifty_one)
    assert problems(fifty_one, "modal") == []


def test_inputs_belong_in_modals() -> None:
    field = {"type": "plain_text_input", "action_id": "reason"}
    block = {"type": "input", "label": plain("Reason"), "element": field}
    assert problems([block], "modal") == []
    assert problems([block], "message")


def test_many_blocks_together_are_too_long_before_any_one_is() -> None:
    fits = [{"type": "markdown", "text": "x" * 11_900}, section("y" * 1_000)]
    assert not too_long(fits)
    assert too_long([*fits, section("z" * 1_000)])
    assert too_long([{"type": "markdown", "text": "x" * 6_001}] * 2)


KEYS = st.sampled_from(
    [
        "type",
        "text",
        "elements",
        "fields",
        "rows",
        "options",
        "accessory",
        "tasks",
        "sources",
        "details",
        "page_size",
        "column_settings",
    ]
)
KINDS = st.sampled_from(
    ["section", "actions", "context", "table", "button", "overflow", "input", "data_table", "plan",
     "task_card", "rich_text", "rich_text_section", "raw_number", "context_actions", "icon_button"]
)  # fmt: skip
LEAF = st.none() | st.integers() | st.text(max_size=3) | KINDS
INNER = LEAF | st.lists(LEAF, max_size=2) | st.dictionaries(KEYS, LEAF, max_size=3)
VALUE = INNER | st.lists(st.dictionaries(KEYS, INNER, max_size=3), max_size=2)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.dictionaries(KEYS, VALUE, max_size=4), max_size=3))
def test_no_input_breaks_the_validator(blocks: list[Json]) -> None:
    for surface in ("message", "modal"):
        assert all(problem.startswith("[ERROR] ") for problem in problems(blocks, surface))
    too_long(blocks)
