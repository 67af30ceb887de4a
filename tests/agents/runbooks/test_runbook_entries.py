"""What an entry tells: its first step, where that stands, and whether it still holds."""

from __future__ import annotations

import pytest

from agents.runbooks.matching import MAX_NEAREST, match_alerts, worth_answering
from config.domain import ChunkOptions
from enrichment.chunk import says_retired
from enrichment.chunking.chunker import split
from enrichment.pipeline import enrich
from loaders.files.markdown import parse_markdown
from tests.agents.corpus import domain, snapshot
from tests.agents.memory import MemorySnapshot
from tests.agents.runbooks.lookups import alert, matched, steps


def page(name: str, *sections: str, title: str = "") -> str:
    return "\n\n".join((f"---\nid: {name}\n---\n# {title or name}", *sections))


@pytest.mark.parametrize(
    ("heading", "text", "step"),
    [
        ("Mitigation", "Cordon the node.", "Cordon the node"),
        ("What to do", "- Ring the plumber\n- Close the valve", "Ring the plumber"),
        ("Steps", "Read all of this first.\n\n1. Open the valve.\n2. Close it.", "Open the valve"),
        ("Remediation", "Do these:\n\n- Open the valve\n- Close it", "Open the valve"),
        ("How to fix it", "Call the plumber. Then wait.", "Call the plumber"),
        ("Behebung", "Ventil öffnen.", "Ventil öffnen"),
        ("Que faire", "Ouvrir la vanne.", "Ouvrir la vanne"),
        ("Qué hacer", "Abrir la válvula.", "Abrir la válvula"),
    ],
)
def test_a_pages_step_stands_under_its_heading(heading: str, text: str, step: str) -> None:
    text = page("PumpDry", "## Meaning\n\nNo water.", f"## {heading}\n\n{text}")
    match = matched(snapshot(text), alert("PumpDry"))
    assert (match.outcome, steps(match)) == ("found", [step])
    assert match.entries[0].chunk.heading == heading
    assert match.entries[0].place.endswith("PumpDry")


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("Sometimes it is dry.\n\n1. Fill it.\n2. Go home.", "Fill it"),
        ("It may be dry:\n\n- Fill it\n- Go home", "Fill it"),
        ("It is dry.\n\n**Possible solutions**\n\n- Fill it\n- Go home", "Fill it"),
        ("It is dry.\n\nWhat to do:\n\nFill it. Go home.", "Fill it"),
        ("It is dry.\n\n### 1. Look at it\n\nFill it.", "Fill it"),
        ("- [Taps](https://a.example/b)\n- Graph: <https://a.example/c>\n- Fill it", "Fill it"),
        ("### Dashboards\n\n- Taps, all of them\n\n### Then\n\n- Fill it", "Fill it"),
        ("It is dry.\n\n### Steps\n\n```sh\n# Fill it\nfill\n```", "Fill it `fill`"),
        ("First step: Fill it", "Fill it"),
    ],
)
def test_a_section_found_by_its_name_is_an_entry_without_any_list(text: str, step: str) -> None:
    known = snapshot(page("water", f"## Pump dry\n\n{text}", "## Tank full\n\nLet it out."))
    assert steps(matched(known, alert("PumpDry"))) == [step]


def test_without_a_step_the_beginning_of_the_text_is_quoted() -> None:
    text = "## Pump dry\n\nSeverity: P3.\n\nIt is dry. Nobody\nknows why.\n\nSo fill it."
    match = matched(snapshot(page("water", text)), alert("PumpDry"))
    assert steps(match) == [""]
    assert match.entries[0].quote == "It is dry. Nobody knows why. So fill it."


def test_a_table_of_contents_makes_no_entry() -> None:
    contents = "- [Alert: PumpDry](#pump-dry)\n- [Alert: TankFull](#tank-full)"
    known = snapshot(page("water", contents, "## PumpDry\n\n1. Fill it.", "## TankFull\n\nGo."))
    match = matched(known, alert("PumpDry"))
    assert (match.outcome, steps(match)) == ("found", ["Fill it"])


@pytest.mark.parametrize(
    "header", ["Job | If it is late", "Probe | Qué hacer", "Thing | Zorg voor"]
)
def test_a_table_of_other_things_with_something_to_do_is_one_of_alerts(header: str) -> None:
    name, step = header.split(" | ")
    rows = f"| {name} | Env | {step} |\n|---|---|---|\n| pump-dry | all | Fill it right up again |"
    assert steps(matched(snapshot(page("rows", rows)), alert("pump-dry"))) == [
        "Fill it right up again"
    ]


@pytest.mark.parametrize(
    "header",
    ["System | Owner | Contact", "Service | Owner | Description", "Severity | Team | Steps"],
)
def test_a_register_of_other_things_has_no_alerts(header: str) -> None:
    row = "| pump-dry | The team of the pumps | Written for those who do not know it |"
    known = snapshot(page("rows", f"| {header} |\n|---|---|---|\n{row}"))
    assert matched(known, alert("pump-dry")).outcome == "none"


def test_a_page_beats_an_item_of_another_page_and_a_row_beats_both() -> None:
    pump = page("PumpDry", "## Mitigation\n\nFill it.")
    tank = page(
        "TankFull", "## Mitigation\n\nLet it out.\n\n- **PumpDry**: it follows from this one"
    )
    rows = page("rows", "| Alert | First step |\n|---|---|\n| PumpDry | Look at the gauge |")
    assert steps(matched(snapshot(pump, tank), alert("PumpDry"))) == ["Fill it"]
    match = matched(snapshot(pump, tank, rows), alert("PumpDry"))
    assert steps(match) == ["Look at the gauge"]
    assert match.also
    assert match.also.first("step") == "Fill it."


@pytest.mark.parametrize("what", ["(EU)", "service catalog"])
def test_a_label_in_the_title_chooses_between_two_pages(what: str) -> None:
    rows = "| Alert | First step |\n|---|---|\n| PumpDry | {} |"
    known = snapshot(
        page("one", rows.format("Fill it"), title="Catalog on-call EU"),
        page("two", rows.format("Leave it"), title="Search on-call US"),
    )
    label = "region=eu" if "EU" in what else "namespace=catalog"
    assert steps(matched(known, alert("PumpDry", label))) == ["Fill it"]
    assert matched(known, alert("PumpDry")).outcome == "several"


@pytest.mark.parametrize(
    "row",
    [
        "~~PumpDry~~ | all | ~~Fill it~~",
        "PumpDry (retired 2025-11) | all | Fill it",
        "PumpDry | all | Superseded by TankLow",
        "PumpDry | obsolete | Fill it",
        "PumpDry – veraltet | all | Fill it",
    ],
)
def test_a_retired_row_gives_no_step(row: str) -> None:
    known = snapshot(page("rows", f"| Alert | State | First step |\n|---|---|---|\n| {row} |"))
    match = matched(known, alert("PumpDry"))
    assert match.outcome == "none"
    assert [one.retired for one in match.entries] == [True]


@pytest.mark.parametrize(
    "text",
    [
        page("PumpDry", "Status: superseded by [Tanks](doc:tanks)", "## Steps\n\nFill it."),
        page("PumpDry", "> Deprecated since May.", "## Steps\n\nFill it."),
        page("PumpDry", "## Steps\n\nFill it.", title="PumpDry – superseded"),
        page("water", "## Retired alerts", "### PumpDry\n\nFill it."),
    ],
)
def test_a_retired_page_or_section_gives_no_step(text: str) -> None:
    assert matched(snapshot(text), alert("PumpDry")).outcome == "none"


@pytest.mark.parametrize(
    "text",
    ["Deprecated API calls high", "Replace deprecated flags", "The retired node", "current"],
)
def test_words_about_other_things_retire_nothing(text: str) -> None:
    assert not says_retired(text)


def test_a_row_that_excepts_the_alert_speaks_for_a_row_that_says_nothing() -> None:
    row = "| Alert | Hall | First step |\n|---|---|---|\n| PumpDry | {} |"
    known = snapshot(
        page("one", row.format("except Oslo | Fill it")), page("two", row.format(" | Fill it"))
    )
    assert matched(known, alert("PumpDry", "hall=oslo")).outcome == "other_scope"
    assert matched(known, alert("PumpDry", "hall=bern")).outcome == "found"


def test_a_limit_in_an_introduction_holds_for_the_rows_below() -> None:
    rows = "| Alert | First step |\n|---|---|\n| PumpDry | Fill it |"
    limit = "This page is for the service **tanks** only."
    known = snapshot(page("water", limit, f"## Alerts\n\n{rows}"))
    assert matched(known, alert("PumpDry", "service=tanks")).outcome == "found"
    assert matched(known, alert("PumpDry", "service=shop")).outcome == "other_scope"


def test_a_scope_that_the_alert_says_is_not_unknown() -> None:
    rows = "| Alert | Environment | First step |\n|---|---|---|\n| PumpDry | prod | Fill it |"
    known = snapshot(page("rows", rows))
    assert matched(known, alert("PumpDry", "env=prod")).unknown == ()
    assert matched(known, alert("PumpDry", "hall=2")).unknown == ("Environment",)


def test_a_row_goes_on_with_the_name_of_a_row_in_an_earlier_chunk() -> None:
    lines = [f"| | hall-{at} | Fill tank {at} |" for at in range(1, 60)]
    table = "\n".join(
        ("| Alert | Hall | First step |", "|---|---|---|", "| PumpDry | hall-0 | Go |")
    )
    document = parse_markdown(
        page("rows", table + "\n" + "\n".join(lines)), url="https://x.example/"
    )
    chunks = split(
        document, count_tokens=lambda text: len(text.split()), options=ChunkOptions(size=60)
    )
    assert len(chunks) > 2
    made = enrich(document, chunks)
    known = MemorySnapshot(made.chunks, [made.card])
    assert steps(matched(known, alert("PumpDry", "hall=hall-57"))) == ["Fill tank 57"]


def test_without_a_runbook_the_nearest_are_offered_mentions_first() -> None:
    known = snapshot(
        page(
            "lag",
            "## Lag\n\nIt lags.",
            "## Replication lag\n\n1. Kill reports of `pg_lag_seconds`.",
        ),
        page("pool", "## Pool of replicas lagging\n\n1. Restart it."),
        page("tea", "## Tea kitchen\n\n1. Boil water."),
    )
    match = matched(known, alert("pg_lag_seconds"))
    assert match.outcome == "none"
    assert [one.first("step") for one in match.perhaps][:1] == ["Kill reports of `pg_lag_seconds`."]
    assert not any("Boil" in one.first("step") for one in match.perhaps)
    assert len(match.perhaps) <= MAX_NEAREST
    assert worth_answering([match])
    assert not worth_answering([matched(known, alert("Hello there", certain=False))])


def test_a_name_that_one_page_introduces_leads_to_its_steps() -> None:
    known = snapshot(
        page("lag", "## Trigger\n\nFired as `pg_lag_seconds`.", "## Steps\n\n1. Kill reports."),
        page("tea", "## Tea kitchen\n\n1. Boil water."),
    )
    assert steps(matched(known, alert("pg_lag_seconds"))) == ["Kill reports"]


def test_a_place_that_a_page_introduces_is_no_name_of_the_alert() -> None:
    known = snapshot(page("cluster", "## Hall 7\n\nAbout `hall-us1`.\n\n1. Turn on the light."))
    assert matched(known, alert("PumpDry", title="PumpDry hall-us1")).outcome == "none"


def test_below_steps_a_subheading_says_what_to_do() -> None:
    known = snapshot(
        page("pg", "# PgDown", "## Steps", "### Start a scrub\n\n```\nceph scrub\n```")
    )
    assert steps(matched(known, alert("PgDown"))) == ["Start a scrub: `ceph scrub`"]


def test_a_name_much_like_another_is_offered_it() -> None:
    known = snapshot(page("shop", "## Till offline\n\n1. Restart it.", "## Tea\n\n1. Boil water."))
    match = matched(known, alert("TillOfflineTooLong"))
    assert match.outcome == "none"
    assert [one.first("step") for one in match.perhaps][:1] == ["Restart it."]


@pytest.mark.parametrize("title", ["PumpDry on tank", "PumpDry/tank", "PumpDry"])
def test_a_stated_name_may_go_on_in_the_title(title: str) -> None:
    rows = "| PumpDry on tank | Fill it |\n| PumpDry | Look at it |"
    known = snapshot(page("rows", f"| Alert | First step |\n|---|---|\n{rows}"))
    match = matched(known, alert("PumpDry", title=title, named=True))
    assert steps(match) == ["Fill it" if "on" in title else "Look at it"]


def test_the_value_of_a_label_is_no_name() -> None:
    known = snapshot(page("checkout-api", "## Steps\n\nRead this."))
    one = alert("slow", "service=checkout-api", title="Answers slowly checkout-api")
    assert matched(known, one).outcome == "none"


def test_a_short_name_is_one_by_a_table_or_the_glossary() -> None:
    known = snapshot(page("water", "## Pump dry\n\n1. Fill it.", "## CPU\n\n1. Find what uses it."))
    assert matched(known, alert("guess", title="CPU of the pump")).outcome == "none"
    glossary = domain().model_copy(update={"glossary": {"PD": ["Pump dry"]}})
    (match,) = match_alerts([alert("PD")], known, glossary)
    assert steps(match) == ["Fill it"]


def test_a_storm_over_a_large_table_reads_it_once() -> None:
    rows = "\n".join(f"| Alert{at}Down | prod | Fix number {at} |" for at in range(400))
    known = snapshot(page("rows", f"| Alert | Env | First step |\n|---|---|---|\n{rows}"))
    storm = [alert(f"Alert{at}Down", *(f"k{n}=v{n}" for n in range(30))) for at in range(100)]
    found = match_alerts(storm, known, domain())
    assert [one.first("step") for match in found for one in match.entries] == [
        f"Fix number {at}" for at in range(100)
    ]


@pytest.mark.parametrize(
    "table",
    [
        "| | PumpDry | TankFull |\n|---|---|---|\n| Owner | P | T |\n| First step | Fill it | No |",
        "| Alert | PumpDry |\n|---|---|\n| Owner | Water |\n| First step | Fill it |",
        "| | |\n|---|---|\n| Alarm | PumpDry |\n| Remedio | Fill it right up again |",
        "| Service in Checkmk | Step |\n|---|---|\n| PumpDry | Fill it |\n| TankFull | No |",
    ],
)
def test_a_table_may_stand_on_its_side(table: str) -> None:
    (step,) = steps(matched(snapshot(page("rows", "## Halls", table)), alert("PumpDry")))
    assert step.startswith("Fill it")


def test_what_stands_down_a_table_is_no_name_of_an_alert() -> None:
    table = "| Alert | PumpDry |\n|---|---|\n| OWN | Water |\n| First step | Fill it |"
    assert matched(snapshot(page("rows", "## Halls", table)), alert("OWN")).outcome == "none"


@pytest.mark.parametrize(
    "section",
    [
        "## 1. Symptoms\n\n### Alerts\n\n| Alert | Graph |\n|---|---|\n| PumpDry | [Water](g.md) |",
        "## Symptoms\n\n- Pager alert: *PumpDry*\n- no water",
        "## Alerts\n\n| Alert | Severity |\n|---|---|\n| PumpDry | P2 |",
    ],
)
def test_a_part_that_only_lists_the_alerts_of_a_page_leads_to_the_pages_steps(section: str) -> None:
    known = snapshot(page("water", section, "## Mitigation\n\n1. Fill it", title="No water"))
    assert steps(matched(known, alert("PumpDry"))) == ["Fill it"]


def test_two_pages_of_one_name_are_both_shown() -> None:
    known = snapshot(
        page("one", "## Steps\n\n1. Fill it.", title="Runbook: PumpDry"),
        page("two", "## Pump\n\n### PumpDry\n\n- Look at it\n- Fill it"),
    )
    match = matched(known, alert("PumpDry"))
    assert (match.outcome, sorted(steps(match))) == ("several", ["Fill it", "Look at it"])


def test_a_rating_behind_a_name_chooses_by_severity() -> None:
    sections = ("## PumpDry warning\n\n1. Wait.", "## PumpDry critical\n\n1. Fill it.")
    match = matched(snapshot(page("water", *sections)), alert("PumpDry", "severity=critical"))
    assert steps(match) == ["Fill it"]
