"""Builds `documents.get` responses, piece by piece, as Google writes them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def run(text: str, **style: Any) -> Json:
    return {"textRun": {"content": text, "textStyle": style}}


def linked(text: str, **link: Any) -> Json:
    return run(text, link=link)


def mono(text: str) -> Json:
    return run(text, weightedFontFamily={"fontFamily": "Roboto Mono"})


def paragraph(*elements: Json | str, style: str = "NORMAL_TEXT", **details: Any) -> Json:
    parts = [run(e) if isinstance(e, str) else e for e in elements]
    heading = details.pop("heading_id", None)
    look = {"namedStyleType": style, **details.pop("look", {})}
    if heading:
        look["headingId"] = heading
    return {"paragraph": {"elements": [*parts, run("\n")], "paragraphStyle": look, **details}}


def heading(level: int, text: str | Json, heading_id: str | None = None) -> Json:
    return paragraph(text, style=f"HEADING_{level}", heading_id=heading_id)


def item(text: str | Json, list_id: str = "list", level: int = 0) -> Json:
    return paragraph(text, bullet={"listId": list_id, "nestingLevel": level})


def cell(*content: Json | str, **style: Any) -> Json:
    parts = [paragraph(c) if isinstance(c, str) else c for c in content] or [paragraph()]
    return {"content": parts, "tableCellStyle": {"rowSpan": 1, "columnSpan": 1, **style}}


def table(*rows: list[Json | str], header_rows: int = 0) -> Json:
    """Merges as Google has them: every position is there, covered ones are empty."""
    cells = [
        [c if isinstance(c, dict) and "content" in c else cell(c) for c in row] for row in rows
    ]
    return {
        "table": {
            "rows": len(rows),
            "columns": max(map(len, cells)),
            "tableRows": [
                {"tableCells": row, "tableRowStyle": {"tableHeader": i < header_rows}}
                for i, row in enumerate(cells)
            ],
        }
    }


def legacy(*content: Json, **parts: Any) -> Json:
    return {"documentId": "doc-1", "title": "Doc", "body": {"content": [*content]}, **parts}


def tab(title: str, *content: Json, children: tuple[Json, ...] = (), **parts: Any) -> Json:
    properties = {"tabId": f"t.{title.lower().replace(' ', '-')}", "title": title}
    return {
        "tabProperties": properties,
        "documentTab": {"body": {"content": [*content]}, **parts},
        "childTabs": [*children],
    }


def tabbed(*tabs: Json) -> Json:
    return {"documentId": "doc-1", "title": "Doc", "tabs": [*tabs]}


def list_of(*levels: Json) -> Json:
    return {"listProperties": {"nestingLevels": [*levels]}}


def ordered(kind: str = "DECIMAL", shape: str = "%0.", start: int = 1) -> Json:
    return {"glyphType": kind, "glyphFormat": shape, "startNumber": start}


BULLET = {"glyphSymbol": "●", "glyphFormat": "%0"}


def picture(**embedded: Any) -> Json:
    return {"inlineObjectProperties": {"embeddedObject": embedded}}


def note(*content: Json) -> Json:
    return {"content": [*content]}


def rich_document() -> Json:
    """A bit of everything."""
    merged = table(
        [cell("Key", rowSpan=2), cell("Age", columnSpan=2), ""],
        ["", "EU", "US"],
        ["API key", cell("90 days", columnSpan=2), ""],
        [
            cell(item("warn", "steps"), item("rotate", "steps")),
            cell(table(["Field", "Shown"], ["Card", "last four"])),
            cell(
                paragraph(
                    "once", {"footnoteReference": {"footnoteId": "f2", "footnoteNumber": "2"}}
                )
            ),
        ],
        header_rows=1,
    )
    return tabbed(
        tab(
            "Plan",
            paragraph("The Plan", style="TITLE", heading_id="h.0"),
            heading(1, "Scope", "h.1"),
            paragraph(
                "Owned by ",
                {"person": {"personProperties": {"name": "Ana Lima", "email": "ana@example.test"}}},
                " since ",
                {"dateElement": {"dateElementProperties": {"displayText": "Mar 14, 2026"}}},
                {"footnoteReference": {"footnoteId": "f1", "footnoteNumber": "1"}},
                linked(" see this", url="https://example.test/a"),
            ),
            item("one", "steps"),
            item("two", "steps"),
            item("deep", "steps", 1),
            merged,
            table([cell(paragraph("Careful: keys inside"))]),
            paragraph(mono("rotate --now")),
            paragraph({"inlineObjectElement": {"inlineObjectId": "pic"}}),
            lists={"steps": list_of(ordered(), ordered("ALPHA", "%1)"))},
            footnotes={"f1": note(paragraph(" First note.")), "f2": note(paragraph("Second."))},
            inlineObjects={
                "pic": picture(
                    description="A chart", imageProperties={"contentUri": "https://lh7.test/x"}
                )
            },
            headers={"hd": note(paragraph("Confidential"))},
            children=(tab("Details", heading(2, "Numbers"), paragraph("Forty-two.")),),
        ),
        tab("Empty"),
    )
