"""What counts as a name in a document, and how names are compared."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enrichment.chunk import Chunk, DocumentCard
from enrichment.names import (
    NamePlace,
    is_identifier,
    is_telling,
    link_names,
    name_forms,
    name_key,
    name_places,
    names_of,
    naming_columns,
    numbers_in,
    range_key,
)
from index.generations.folder import FORMAT
from tests.enrichment.writing import Writer

CARD = DocumentCard(
    id="d", title="Disk runbooks", url="", summary="", path="ops/DiskFull/README.md"
)


def places(writer: Writer, *kinds: str) -> dict[str, list[NamePlace]]:
    """Places by the name as written."""
    by_text = defaultdict(list)
    for place in (one for chunk in writer.chunks() for one in name_places(chunk, CARD)):
        if not kinds or place.kind in kinds:
            by_text[place.text].append(place)
    return by_text


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("3.1 Disk full", {"Disk full": ""}),
        ("OPS-12 Disk full", {"Disk full": "", "OPS-12": "Disk full"}),
        ("Alert: Down", {"Down": ""}),
        ("Runbook – Disk full", {"Disk full": ""}),
        ("Disk full runbook", {"Disk full": ""}),
        ("Alarm: Festplatte voll", {"Festplatte voll": ""}),
        ("What to do when DiskFull fires", {"DiskFull": ""}),
        ("Payments: queue is late", {"queue is late": "Payments"}),
        ("High CPU – what it means", {"High CPU": "what it means"}),
        ("DiskFull (prod)", {"DiskFull": "prod"}),
        ("[P1] Disk full", {"Disk full": "P1"}),
        ("DiskUsage above 80 %", {"DiskUsage": "above 80 %"}),
        ("Disk usage > 90% for 10 min", {"Disk usage": "> 90% for 10 min"}),
        ("DiskFull (prod) above 80 %", {"DiskFull": "prod, above 80 %"}),
        ("DiskFull, DiskSlow / NodeDown", {"DiskFull": "", "DiskSlow": "", "NodeDown": ""}),
        ("DiskFull / DiskSlow (eu)", {"DiskFull": "eu", "DiskSlow": "eu"}),
        ("DiskFull (eu), DiskSlow (us)", {"DiskFull": "eu", "DiskSlow": "us"}),
        ("DiskFull\nDisk slow", {"DiskFull": "", "Disk slow": ""}),
        ("FailoverStarted, manual", {"FailoverStarted": "manual"}),
        ("The `disk_full` alert in `eu`", {"disk_full": "alert in eu"}),
        ("[Disk full](https://x/a_(b))", {"Disk full": ""}),
        ("Alert Name: Disk full", {"Disk full": ""}),
        ("Alert: Disk full (critical)", {"Disk full": "critical"}),
        ("`DiskFull` firing", {"DiskFull": ""}),
        ("DiskWarn warning", {"DiskWarn": "warning"}),
        ("RaidDiskFailed on boot", {"RaidDiskFailed": ""}),
        ("Alert Name DiskFull", {"DiskFull": ""}),
        ("disk_full saturation alert", {"disk_full": ""}),
        ("Alert rule: DiskFull", {"DiskFull": ""}),
        ("🚨 Disk full alert :white_check_mark:", {"Disk full": ""}),
        ("MSG-1100 – MSG-1119, except MSG-7", {"MSG-1100 – MSG-1119": "except MSG-7"}),
    ],
)
def test_a_heading_or_cell_names_what_is_left_without_its_surroundings(
    text: str, forms: dict[str, str]
) -> None:
    assert dict(name_forms(text)).items() >= forms.items()


@pytest.mark.parametrize(
    ("text", "no_name"),
    [
        ("Disk: cleaning up", "Disk"),
        ("Search and rescue failed", "rescue failed"),
        ("No data received", "data received"),
        ("Do not restart", "not restart"),
        ("DiskCare upgrade", "DiskCare"),
        ("MSG-1100 – MSG-1119, except MSG-1107", "MSG-1107"),
        ("ChargebackMissing (retired 2025-11)", "ChargebackMissing (retired"),
    ],
)
def test_a_part_that_is_no_name(text: str, no_name: str) -> None:
    assert no_name not in dict(name_forms(text))


def test_numbered_names_are_found_by_their_range() -> None:
    assert range_key("MSG-1107") == range_key("MSG-13xx") == range_key("MSG-1100 – 1119") == "msg#"
    assert range_key("DiskFull") == ""
    assert numbers_in("fe01–fe08") == ("fe", 1, 8)
    assert numbers_in("MSG-13xx") == ("msg", 1300, 1399)
    keys = names_of(*catalogue("| Code | Step |\n|---|---|\n| MSG-1100 – MSG-1119 | x |"))
    assert keys["msg#"]


def catalogue(markdown: str) -> tuple[Chunk, DocumentCard]:
    header, _, *rows = (
        tuple(cell.strip() for cell in line.strip("|").split("|")) for line in markdown.splitlines()
    )
    (chunk,) = Writer().table(header, *rows).chunks()
    return chunk, CARD


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("System | Alert | First step", [1]),
        ("Alert name | ID | Step", [0, 1]),
        ("Dienst | Name des Alarms | Maßnahme", [1]),
        ("Service | Nom de l'alerte", [1]),
        ("Servicio | Nombre de la alerta | Pasos", [1]),
        ("Team | Alert owner | Step", [0]),
        ("Host | Datadog monitor", [1]),
        ("Policy | Project | Triage", [0]),
        ("Symptom | Step", [0]),
        ("Service | Error code | Meaning", [1]),
        ("Host | Service in Checkmk | Step", [1]),
    ],
)
def test_the_column_that_names_alerts(header: str, columns: list[int]) -> None:
    labels = header.split(" | ")
    assert naming_columns(labels, [["x"] * len(labels)]) == columns


def test_columns_of_numbers_and_ratings_name_nothing() -> None:
    rows = [["1", "P2", "DiskFull", "x"], ["2", "critical", "", "y"]]
    assert naming_columns(["#", "Sev", "Queue", "Step"], rows) == [2]
    assert naming_columns(["ID", "Sev", "Alert", "Step"], rows) == [2]
    assert naming_columns(["Queue", "Step"], [["", "x"]]) == [0], "goes on with the name above"


@pytest.mark.parametrize("number", [(), ("#",)])
def test_rows_are_named_by_code_inside_a_cell(number: tuple[str]) -> None:
    rows = (
        (*number, "Alert", "For", "Step"),
        (*number, "The `DiskFull` one", "eu", "a"),
    )
    more = (*number, "", "us", "b"), (*number, "DiskSlow", "", "c")
    places_of = places(Writer().table(*rows, *more), "row")
    at = len(number)
    assert [(one.row, one.column) for one in places_of["DiskFull"]] == [(0, at)]
    assert [(one.row, one.column) for one in places_of["DiskSlow"]] == [(2, at)]


def test_a_table_on_its_side_has_its_names_in_its_header_or_beside_such_a_word() -> None:
    rows = ("First step", "a", "b"), ("Owner", "c", "d")
    places_of = places(Writer().table(("", "DiskFull", "Disk slow"), *rows), "column", "field")
    assert {name: one.column for name, (one, *_) in places_of.items()} == {
        "DiskFull": 1, "Disk slow": 2,
    }  # fmt: skip
    for header, *more in (("Alert", "Down"), ("First step", "a")), (("", ""), ("Alarm", "Down")):
        (down,) = places(Writer().table(header, *more), "field")["Down"]
        assert down.column == 1


def test_lists_of_links_name_nothing() -> None:
    writer = Writer().heading("Contents").items(
        "[Disk is full](#disk-is-full)", "[`NodeDown`](#nodedown), [Slow disk](a.md)",
        "[Queue is late](q.md): wait",
    )  # fmt: skip
    keys = {key for one in writer.chunks() for key in names_of(one, replace(CARD, path=""))}
    assert "queueislate" in keys
    assert not {"diskisfull", "disk-is-full", "slowdisk"} & keys


def test_fields_and_leads_but_no_code() -> None:
    writer = Writer().heading("Checks").paragraphs("**Alert:** `DiskFull`", "**Replica lag high**")
    writer.items("**NodeDown** (P2): reboot", "Queue is late: wait", "QuietOne", "Owner: Ines")
    writer.add("code", "CacheCold: x\n**InCode**")
    by_text = places(writer)
    assert "field" in {one.kind for one in by_text["DiskFull"]}
    for lead in ("Replica lag high", "NodeDown", "Queue is late", "QuietOne"):
        assert by_text[lead][0].kind == "lead"
    assert by_text["NodeDown"][0].remark == "P2"
    assert not {"Owner", "CacheCold", "InCode"} & by_text.keys()


def test_pages_sections_and_mentions() -> None:
    writer = (
        Writer().heading("Disks", 1).paragraphs("See `DiskFull` and [it](../a/LeapSecond.md#x-9).")
    )
    writer.heading("Restoring after DiskFull", 2).paragraphs("Text.")
    by_text = places(writer)
    assert [one.kind for one in by_text["DiskFull"]] == ["page", "mention"]
    assert [one.kind for one in by_text["LeapSecond"]] == ["mention"]
    assert [one.level for one in by_text["Restoring after DiskFull"]] == [1]
    assert "README" not in by_text
    assert sum(one.kind == "page" for one in by_text["Disk runbooks"]) == 1, "with one chunk only"
    whole, _ = writer.chunks()
    assert names_of(whole, CARD)["leapsecond"] is False
    assert names_of(whole, CARD)["diskfull"] is True


def test_the_names_in_a_link() -> None:
    assert link_names("https://x/runbooks/Disk%20Full.md?a=b#High-CPU") == ("Disk Full", "High-CPU")
    assert link_names("https://x/d/1/edit#heading=h.9") == ("edit", "")
    assert link_names("http://[") == ("", "")


def test_a_url_has_the_key_of_host_and_path() -> None:
    for url in ("https://login.example.com/", "HTTP://login.example.com?x=1", "login.example.com"):
        assert name_key(url) == "loginexamplecom"
    assert name_key("x://a/b/ is down") == name_key("a/b is down")
    assert is_telling("https://localhost/")


def test_identifiers_have_a_form_of_their_own() -> None:
    for word in ("KeyOverdue", "disk-full", "HTTP_5XX", "node:cpu:rate5m", "Überlast-Alarm"):
        assert is_identifier(word)
    for word in ("Disk", "a-b", "disk full", "95%"):
        assert not is_identifier(word)


def test_other_names_are_another_format() -> None:
    """Published folders hold the names of their day, and are asked with today's."""
    writer = Writer().heading("3.1 OPS-12 Disk full (prod)").items("**NodeDown** – see `kube-x`")
    writer.table(("Alert", "Step"), ("`A1Full`, `B2Full`", "x"), ("MSG-13xx", "y"))
    writer.items("[Slow disk](#slow)").table(("#", "Queue"), ("1", "https://a.b/c?d"), ("2", ""))
    keys = {key: how for one in writer.chunks() for key, how in names_of(one, CARD).items()}
    held = {7: "4f77756f502bfb48"}
    assert sha256(repr(sorted(keys.items())).encode()).hexdigest()[:16] == held[FORMAT]


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="aB1 -–:|(),/`[]x%>\n*.", max_size=80))
def test_any_text_has_few_names_with_keys(text: str) -> None:
    forms = name_forms(text)
    assert len(forms) <= 40
    assert all(name.strip() == name for name, _ in forms)
    assert len({name_key(name) for name, _ in forms}) <= len(forms)
