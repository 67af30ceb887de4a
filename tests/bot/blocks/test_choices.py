"""Buttons to choose by are labelled by what differs between them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.answer import AlternativeDomain
from bot.blocks.render import labels, render
from playground.slack.rules.block_rules import problems
from tests.bot.fakes import answer

ONE_AGE = "how old may a credential of the payment platform get before it has to be rotated: "


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["Keys?", "Secrets?"], ["Keys", "Secrets"]),
        ([f"{ONE_AGE}API signing key?", f"{ONE_AGE}webhook secret?"],
         ["API signing key", "Webhook secret"]),
        (["how long is a customer's call kept in the EU under the policy",
          "how long is a customer's email kept in the EU under the policy"],
         ["Call", "Email"]),
        ([f"{ONE_AGE}key", f"{ONE_AGE}key in Singapore"], ["Key", "Key in Singapore"]),
        (["only one is offered, and it is a rather long one"],
         ["Only one is offered, and it is a rather long one"]),
    ],
)  # fmt: skip
def test_what_all_begin_or_end_with_is_left_out(options: list[str], shown: list[str]) -> None:
    assert labels(options) == shown


def test_what_is_cut_off_at_the_end_does_not_make_two_alike() -> None:
    long = "the rules for " + "very " * 20
    shown = labels([f"a {long}old keys", f"a {long}new keys", "b"])
    assert len(set(shown)) == 3
    assert all(len(label) <= 75 for label in shown)
    assert "old keys" in shown[0]


TEXT = st.text(st.sampled_from("ab  ?!é-"), min_size=1, max_size=120).map("a{}".format)


@settings(max_examples=200, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=5, unique_by=lambda t: " ".join(t.split())))
def test_every_option_has_a_label_within_slacks_limit(options: list[str]) -> None:
    sent = render(
        answer("Which?", path="ambiguous_query", citations=(), options=tuple(options)),
        question_id="q",
    )
    assert problems(sent[0].blocks) == []


def buttons(**more: Any) -> list[dict[str, Any]]:
    (message,) = render(answer("Which?", citations=(), **more), question_id="C1:1.0")
    block = next(b for b in message.blocks if b.get("block_id") == "oncall_beside")
    return list(block["elements"])


def test_domains_are_called_by_their_names_where_one_is_to_be_chosen() -> None:
    offered = (
        AlternativeDomain(domain="p", title="Privacy help"),
        AlternativeDomain(domain="s", title="Security help"),
    )
    shown = buttons(path="ambiguous_query", beside=offered)
    assert [one["text"]["text"] for one in shown] == ["Privacy help", "Security help"]
    assert [one["value"] for one in shown] == ["p C1:1.0", "s C1:1.0"]


def test_a_second_domain_is_offered_as_what_will_be_done() -> None:
    offered = (AlternativeDomain(domain="p", title="Privacy help"),)
    (one,) = buttons(path="company_specific_rag_success", beside=offered)
    assert one["text"]["text"] == "Ask Privacy help"
