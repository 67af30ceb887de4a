from __future__ import annotations

import pytest

from agents.checks.groundedness import groundedness, supporting_words, tier_of
from agents.context.sources import Source, build_sources
from tests.agents.corpus import LAPTOPS, ROTATION, snapshot

BUDGETS = """---
id: budgets
title: Budget Guide
---
# Budget Guide

## Laptops

A laptop costs at most 1,200 euros, e.g. a plain one for an analyst. Orders close at 10:30 daily.
Orders above 900 euros need the approval of the Finance Lead, unless the old laptop was stolen.
A contractor must return the laptop before 3 August 2026. The service desk may lend a monitor.
An order may be 10% dearer. The daily quota is 30 orders, and 15 more on Fridays.
A laptop is never sold to staff.
Multi-factor authentication is required for every order. Replies take two business days.
"""


def of(*texts: str) -> tuple[Source, ...]:
    found = snapshot(*texts)
    return build_sources([chunk for id_ in found.documents for chunk in found.chunks(id_)])


SOURCES = of(BUDGETS)
ROTATED = build_sources(snapshot(ROTATION).chunks("key-rotation"))
TABLE = 1 + next(place for place, source in enumerate(ROTATED) if source.first.table)
LEAK = len(ROTATED)


def fault(text: str, asked: str = "", sources: tuple[Source, ...] = SOURCES) -> str:
    held = groundedness(text, sources, question=asked)
    return "; ".join(one.reason for one in held.claims if not one.supported)


@pytest.mark.parametrize(
    "text",
    [
        "A laptop costs at most 1,200 euros [1].",
        "A laptop costs at most 1200 euros [1].",
        "Laptops: up to €1,200 [1].",
        "Orders close at 10:30 daily [1].",
        "A laptop, e.g. a plain one, costs at most 1,200 euros [1].",
        "Contractors must return their laptops before Aug 3, 2026 [1].",
        "Contractors must return their laptops before 2026-08-03 [1].",
        "Replies take 2 business days [1].",
        "MFA is required for every order [1].",
        "The Finance Lead approves orders above 900 euros, unless the old one was stolen [1].",
        "No, laptops are never sold to staff [1].",
        "On Fridays the quota is 30 + 15 = 45 orders [1].",
        "45 orders in all on Fridays (30 + 15) [1].",
        "45 orders on Fridays (30 daily + 15 more) [1].",
        "The difference on Fridays is 15 orders (30 − 15) [1].",
        "An order may be 10% dearer: 120 euros more (10% of 1,200 euros) [1].",
        "A laptop costs no more than 1,200 euros [1].",
    ],
)
def test_honest_words_are_held_up(text: str) -> None:
    assert fault(text) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A laptop costs at most 1.200 euros [1].", "1.200 euros"),
        ("A laptop costs at most 200 euros [1].", "200 euros"),
        ("A laptop costs at most 1,200 dollars [1].", "1,200 dollars"),
        ("Orders close at 10:00 daily [1].", "10:00"),
        ("Replies take two business weeks [1].", "two business weeks"),
        ("Replies take two days [1].", "two days"),
        ("Contractors must return their laptops before 4 August 2026 [1].", "4 August"),
        ("Orders above 900 euros need the approval of the Travel Lead [1].", "'Travel'"),
        ("Orders are filed under BUD-7 [1].", "'BUD-7'"),
        ("A volunteer waters the plants in the lobby [1].", "does not say this"),
        ("On Fridays the quota is 30 + 15 = 50 orders [1].", "the figure 50"),
        ("A laptop costs at most 1,200 euros.", "no source is cited"),
        ("A laptop costs at most 1,200 euros [4].", "doesn't exist"),
    ],
)
def test_what_the_source_does_not_say_is_named(text: str, reason: str) -> None:
    assert reason in fault(text)


@pytest.mark.parametrize(
    ("text", "is_held"),
    [
        ("An API signing key for Restricted data may be 60 days old [T].", True),
        ("An API signing key for Restricted data may be 180 days old [T].", False),
        ("An API signing key for Restricted data may be 30 days old [T].", False),
        ("A webhook secret for Confidential data: ninety days [T].", True),
        ("| Key | Restricted data |\n|---|---|\n| API signing key [T] | 60 days |", True),
        ("| Key | Restricted data |\n|---|---|\n| API signing key [T] | 180 days |", False),
        ("| Key | Restricted data |\n|---|---|\n| API signing key [T] | 30 days |", False),
        ("A leaked key is replaced within a day of its discovery [L].", True),
    ],
)
def test_a_cell_belongs_to_its_row_and_column(text: str, is_held: bool) -> None:
    cited = text.replace("[T]", f"[{TABLE}]").replace("[L]", f"[{LEAK}]")
    assert (fault(cited, sources=ROTATED) == "") == is_held


STEPS = """---
id: steps
title: Failover Runbook
---
# Failover Runbook

## Failing over

Stop the writer with the command below and wait 45 seconds.

```
dbctl stop --grace 45
```

1. Stop the writer and wait 45 seconds.
2. Promote the replica within 10 minutes.

| Cluster | Wait |
|---|---|
| web-eu1 | 45 seconds |
| web-us1 | 90 seconds |

The whole takes 45 seconds plus 10 minutes. Nobody restarts the old writer by hand.
"""
ANSWERS = {
    "command": (
        "Stop the writer and wait 45 seconds [1]:\n\n```\ndbctl stop --grace 45\n```",
        "Stop the writer and wait 45 seconds:\n\n```\ndbctl stop --grace 45\n```\n\n[1]",
        "Do this [1]:\n\n```\ndbctl stop --grace 45\n```",
    ),
    "steps": (
        "1. Stop the writer, wait 45 seconds [1]\n2. Promote the replica within 10 minutes [1]",
        "1. Stop the writer, wait 45 seconds\n2. Promote the replica within 10 minutes\n\n[1]",
        "Do this [1]:\n\n1. Stop the writer, wait 45 seconds\n2. Promote the replica",
    ),
    "table": (
        "| Cluster | Wait |\n|---|---|\n| web-eu1 | 45 seconds [1] |\n| web-us1 | 90 seconds [1] |",
        "| Cluster | Wait |\n|---|---|\n| web-eu1 | 45 seconds |\n| web-us1 | 90 seconds |\n\n[1]",
        "The waits [1]:\n\n| Cluster | Wait |\n|---|---|\n| web-eu1 | 45 seconds |",
    ),
    "quote": (
        "> Stop the writer with the command below and wait 45 seconds. [1]",
        "> Stop the writer with the command below and wait 45 seconds.\n\n[1]",
        "The runbook says [1]:\n\n> Stop the writer with the command below and wait 45 seconds.",
    ),
    "formula": (
        "It takes 45 seconds + 10 minutes = 645 seconds [1].",
        "It takes 45 seconds + 10 minutes = 645 seconds.\n\n[1]",
        "How long the whole takes [1]:\n\n- 45 seconds + 10 minutes = 645 seconds",
    ),
}
RUNBOOK = of(STEPS)


@pytest.mark.parametrize("text", [one for styles in ANSWERS.values() for one in styles])
def test_an_answer_in_any_shape_is_held_and_a_wrong_number_in_it_is_seen(text: str) -> None:
    sources = (Source(chunks=tuple(s.first for s in RUNBOOK), text=STEPS),)
    assert groundedness(text, sources).score == 1.0
    wrong = text.replace("45", "47")
    assert groundedness(wrong, sources).score < 1.0


@pytest.mark.parametrize(
    "text",
    [
        "Laptops don't get cheaper than that: 1,200 euros and no more [1].",
        "No contractor may hold on to the laptop past 3 August 2026 [1].",
        "Staff can't buy a laptop, there are no exceptions [1].",
    ],
)
def test_negation_is_left_to_an_entailment_model(text: str) -> None:
    assert fault(text) == ""
    assert groundedness(text, SOURCES, entails=lambda pairs: [0.0] * len(pairs)).score == 0


def test_the_words_of_the_question_need_no_source_and_its_figures_do() -> None:
    assert fault("Yes, Bob may be lent a monitor [1].", "may Bob be lent a monitor?") == ""
    assert "1,500" in fault("Yes, a laptop costs at most 1,500 euros [1].", "is 1,500 euros ok?")


def test_a_short_form_of_the_glossary_is_held_up_by_its_long_form() -> None:
    said = "Orders above 900 euros need the QM, unless the old laptop was stolen [1]."
    assert fault(said) != ""
    assert groundedness(said, SOURCES, glossary={"QM": ["Finance Lead"]}).score == 1.0


def test_an_absence_is_held_without_a_source() -> None:
    assert groundedness("The documents don't say who pays for repairs.", SOURCES).score == 1.0


@pytest.mark.parametrize(
    ("score", "tier"), [(1.0, "fine"), (0.8, "fine"), (0.7, "note"), (0.59, "strict")]
)
def test_a_score_has_its_tier(score: float, tier: str) -> None:
    assert tier_of(score) == tier


def test_what_is_not_held_is_told_with_its_reason() -> None:
    held = groundedness("A laptop costs at most 999 euros [1].", of(BUDGETS, LAPTOPS))
    assert "999" in held.reasons[0]
    assert [one.claim.text for one in held.unsupported] == ["A laptop costs at most 999 euros."]


@pytest.mark.parametrize(
    "text",
    [
        "An order may be 10% dearer: 140 euros more (10% of 1,200 euros) [1].",
        "45 orders less on Fridays (30 − 15) [1].",
        "48 orders on Fridays (30 daily + 15 more) [1].",
    ],
)
def test_what_is_worked_out_wrongly_is_not(text: str) -> None:
    assert "is not in" in fault(text) or "is not" in fault(text)


GROUPED = """---
id: hours
title: Opening Hours
---
# Opening Hours

## Desks

Lisbon has 9 desks.

| Site | Staff › Weekday | Staff › Weekend | After that |
|---|---|---|---|
| Lisbon | 20 people | 8 people in turns | Call the guard |
| Porto | 12 people | EUR 50 a shift | Ring the bell |
"""


@pytest.mark.parametrize(
    ("text", "is_held"),
    [
        ("For Lisbon the Weekday is: 20 people [1].", True),
        ("For Lisbon the Weekday is: 8 people in turns [1].", False),
        ("For Lisbon the After that is: Call the guard [1].", True),
        ("For Lisbon the After that is: Ring the bell [1].", False),
        ("For Lisbon the Weekend is: EUR 50 a shift [1].", False),
        ("For Porto the Weekend is: EUR 50 a shift [1].", True),
        ("Lisbon has 20 people on a weekday, not 12 [1].", True),
    ],
)
def test_a_cell_is_told_by_its_label_and_header(text: str, is_held: bool) -> None:
    assert (fault(text, sources=of(GROUPED)) == "") is is_held


AGES = """---
id: ages
title: Key Rotation Standard
---
# Key Rotation Standard

## Maximum age

| Key type | Data class | Maximum age › EU | Maximum age › US | Maximum age › SG |
|---|---|---|---|---|
| API signing key (Quay) | Confidential | 180 days | 180 days | 180 days |
| API signing key (Quay) | Restricted | 90 days in EU | 90 days in US | 60 days in SG only |
| Webhook secret | Restricted | 30 days | 30 days | 20 days |
"""
HOW_OLD = "how old may an API signing key on Restricted data get in Singapore?"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("An API signing key for Restricted data may be 60 days old in Singapore [1].", ""),
        ("At most 60 days [1].", ""),
        ("60 days in Singapore, and 90 days in the EU and the US [1].", ""),
        ("60 days, not 90 [1].", ""),
        ("An API signing key for Restricted data may be 90 days old in Singapore [1].", "60 days"),
        ("A Restricted API signing key may be 20 days old in Singapore [1].", "60 days"),
        ("The API signing key of Quay may be 180 days old for Restricted data [1].", "Restricted"),
    ],
)
def test_a_row_is_named_by_its_words_the_glossary_and_the_question(text: str, reason: str) -> None:
    check = groundedness(text, of(AGES), question=HOW_OLD, glossary={"SG": ["Singapore"]})
    faults = "; ".join(one.reason for one in check.unsupported)
    assert reason in faults
    assert bool(reason) == bool(faults)


PERKS = """---
id: perks
title: Perks
---
# Perks

## Leave

Cover ends on the last day of the month. The VP of Sales and the VP of Design approve requests of
more than 90 days. The Privacy Officer answers within 30 minutes, from 14:00 to 18:00.
A trial lasts 14 days. The Kubernetes cluster takes 10,000 requests, 3 nodes and 4 volumes.
Employees of Hungary get a six-week sabbatical after three years. The fee is $25 a month.
Plans are reviewed biweekly and every other month, and audited annually. A drill takes 90 minutes.
"""


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Both VPs approve anything above three months [1].", ""),
        ("Hungarian employees may take six weeks after 36 months [1].", ""),
        ("The PO answers in half an hour, from 2 pm to 6 pm [1].", ""),
        ("The K8s cluster takes 10k requests [1].", ""),
        ("A trial lasts two weeks: until Friday 11 December 2026 [1].", ""),
        ("Cover ends on 31 December [1].", "I leave on 10 December"),
        ("The fee is $300 a year ($25 × 12) [1].", ""),
        ("3 nodes and 4 volumes make 7 in all [1].", ""),
        ("Reviews come every two weeks and every 2 months, audits every 12 months [1].", ""),
        ("A drill takes an hour and a half [1].", ""),
        ("Un exercice dure 90 minutes, et l'essai dure deux semaines ou 14 jours [1].", ""),
        ("The fee of $25 a month covers 60%, so you pay 40% of it [1].", "do they pay 60%?"),
        ("He answers between 14 and 18, so from 2 to 6 in the afternoon [1].", ""),
        ("A drill that starts at 23:15 ends at 00:45 [1].", "Can I start a drill at 23:15?"),
        ("Zwei Wochen [1].", "Wie lange dauert die Probezeit?"),
        ("Une période d’essai dure 14 jours, et pas un de plus, pour les employés [1].", ""),
        ("Die Probezeit dauert 14 Tage, und nicht länger als das [1].", ""),
    ],
)
def test_a_right_answer_may_use_other_forms(text: str, question: str) -> None:
    check = groundedness(text, of(PERKS), question=question, today="Friday 27 November 2026, 10:30")
    assert check.reasons == ()


@pytest.mark.parametrize(
    "text",
    [
        "A trial lasts two weeks: until 12 December 2026 [1].",
        "Cover ends on 30 December [1].",
        "The fee is $310 a year ($25 × 12) [1].",
        "The CFO answers in half an hour [1].",
        "Both VPs approve anything above four months [1].",
        "Die Probezeit dauert 15 Tage, und nicht länger als das [1].",
    ],
)
def test_a_wrong_one_is_seen_in_other_forms_too(text: str) -> None:
    check = groundedness(text, of(PERKS), question="I leave on 10 December", today="2026-11-27")
    assert check.score == 0


PRICES = """---
id: prices
title: Prices
---
# Prices

Prices are in dollars ($), without taxes. A reminder costs 1,50 € or 15 ct a day.

| Flavor | Memory (MB) | Price a month | Longest job (days) | Default |
|---|---|---|---|---|
| small | 8000 | 227.96 | 14 | 500Mi |
| large | 16000 | 455.92 | 30 | 1Gi |

Give notice three (3) consecutive working days before. A quota is 100 thousand files.
A TiB costs $40.5.
Der Schalter ist von 8-18 Uhr besetzt.
"""


@pytest.mark.parametrize(
    ("text", "is_held"),
    [
        ("`small` has 8 GB and costs about $228 a month [1].", True),
        ("`small` has 6 GB [1].", False),
        ("`small` costs about $238 a month [1].", False),
        ("A job on `large` may take 30 days [1].", True),
        ("The default of `large` is 1 GiB [1].", True),
        ("A reminder costs €1.50, and 15 cents or €0.15 a day [1].", True),
        ("A reminder costs €2.50 [1].", False),
        ("A TiB of it costs $40.5 [1].", True),
        ("Notice is 3 working days [1].", True),
        ("A quota is 100,000 files [1].", True),
        ("The counter opens at 8:00 and closes at 18:00 [1].", True),
        ("The counter opens at 9:00 [1].", False),
    ],
)
def test_units_stand_in_headers_and_figures_are_rounded(text: str, is_held: bool) -> None:
    assert (fault(text, sources=of(PRICES)) == "") is is_held


def test_the_citation_after_an_uncited_table_or_list_covers_it() -> None:
    table = "| Flavor | Memory |\n|---|---|\n| small | 8000 MB |\n| large | 16000 MB |\n\n"
    assert groundedness(f"{table}These are the flavors [1].", of(PRICES)).score == 1
    assert groundedness("- small: 8000 MB\n- large: 16 GB\n\nBoth [1].", of(PRICES)).score == 1
    wrong = table.replace("8000", "7000")
    assert groundedness(f"{wrong}These are the flavors [1].", of(PRICES)).score < 1
    assert groundedness(f"It is 9 [1].\n\n{table}Nothing more.", of(PRICES)).score < 1


LITERALS = """---
id: roles
title: Roles
---
# Roles

## Access

The `dev-read` role is given in #ask-access; `s3://logs/app` holds the files `boot.log` and `kv`.
An admin of dev may ask @oncall-dev.
"""


@pytest.mark.parametrize(
    ("text", "is_held"),
    [
        ("Ask for `dev-read` in #ask-access, or @oncall-dev [1].", True),
        ("Look at `s3://logs/app/boot.log` with `cat <file>` [1].", True),
        ("An admin gives `admin-dev` [1].", False),
        ("Ask for access in #access-dev [1].", False),
        ("Ask @oncall-admin for access [1].", False),
        ("The files are in `s3://logs/web/boot.log` [1].", False),
    ],
)
def test_code_channels_and_handles_are_spelled_as_in_the_sources(text: str, is_held: bool) -> None:
    assert (fault(text, sources=of(LITERALS)) == "") is is_held


def test_a_verdict_of_one_word_takes_it_from_the_question() -> None:
    assert fault("Not double. A laptop costs at most 1,200 euros [1].", "Is it double?") == ""


def test_a_citation_quotes_the_sentence_that_has_the_value() -> None:
    said = "Requests of the VP of Sales and the VP of Design take up to 30 minutes [1]."
    assert "within 30 minutes" in supporting_words(said, 1, of(PERKS)[0])
    assert "$25 a month" in supporting_words("Ungefähr 25 Dollar [1].", 1, of(PERKS)[0])


def test_dates_are_counted_from_a_sum_of_what_the_sources_say() -> None:
    said = "In 28 days (14 days + 14 days), so on 25 December 2026 [1]."
    assert groundedness(said, of(PERKS), today="2026-11-27").score == 1
    assert groundedness(said, of(PERKS), today="2026-11-29").score == 0


def test_a_citation_quotes_what_each_claim_rests_on() -> None:
    said = f"A TLS certificate may be 90 days old, a webhook secret 30 days [{TABLE}]."
    quote = supporting_words(said, TABLE, ROTATED[TABLE - 1])
    assert "90 days" in quote or "30 days" in quote
    several = f"- TLS certificate: 90 days [{TABLE}]\n- Webhook secret: 30 days [{TABLE}]"
    quote = supporting_words(several, TABLE, ROTATED[TABLE - 1])
    assert quote.index("Webhook secret") < quote.index("TLS certificate")
    assert "API signing key" not in quote
    assert supporting_words("Nothing of it [9].", TABLE, ROTATED[TABLE - 1])


@pytest.mark.parametrize(
    "text",
    [
        "The Budget Guide of 2026-08-20 says 1,200 euros for a laptop [1].",
        "The Budget Guide, changed on 20 August 2026, says 1,200 euros for a laptop [1].",
    ],
)
def test_from_when_a_source_is_stands_in_its_mark(text: str) -> None:
    marks = ["modified 2026-08-20"]
    assert groundedness(text, SOURCES, marks=marks).score == 1.0
    assert groundedness(text.replace("20", "21", 1), SOURCES, marks=marks).score < 1.0
    assert "is not in" in fault(text)


def test_the_mark_of_one_source_says_nothing_of_another() -> None:
    sources, marks = of(BUDGETS, LAPTOPS), ["", "modified 2026-08-20"]
    text = "The Budget Guide of 2026-08-20 says 1,200 euros for a laptop"
    assert groundedness(f"{text} [1].", sources, marks=marks).score < 1.0


@pytest.mark.parametrize(
    "said",
    [
        "The two sources differ.",
        "The documents contradict each other here [1][2].",
        "They disagree:",
    ],
)
def test_that_sources_differ_is_claimed_by_what_each_of_them_says(said: str) -> None:
    rest = "A laptop costs at most 1,200 euros [1]."
    (claim,) = groundedness(f"{said} {rest}", SOURCES).claims
    assert claim.supported
    assert claim.claim.text.endswith("1,200 euros.")


def test_that_two_plans_differ_is_claimed_of_the_sources() -> None:
    assert fault("The sources of funding differ in their approval by the chair [1].")
    assert fault("The two plans differ [1].")
