"""Docs JSON → the HTML of one tab, as a reader sees the document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

Json = Mapping[str, Any]

HEADING_TAGS = {
    "TITLE": "h1",
    "SUBTITLE": "p",
    **{f"HEADING_{level}": f"h{level + 1}" for level in range(1, 6)},
    "HEADING_6": "h6",
}
MARKS = {"bold": "strong", "italic": "em", "strikethrough": "s"}
SAFE_LINKS = ("http://", "https://", "mailto:")
ROMAN = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))


class TabHtml:
    """Writes one tab. List numbers run on from paragraph to paragraph."""

    def __init__(self, tab: Json, comments: Sequence[Json] = ()) -> None:
        """`comments`: each is shown below the heading that it quotes."""
        self.parts: Json = tab["documentTab"]
        self.comments = comments
        self.notes: list[tuple[str, str]] = []
        """Number and id of the footnotes referred to, in order."""
        self._counts: dict[tuple[str, int], int] = {}

    def body(self) -> str:
        html = self.content(self.parts["body"]["content"])
        if not self.notes:
            return html
        notes = "".join(self._note(number, note_id) for number, note_id in self.notes)
        return f'{html}<ol class="notes">{notes}</ol>'

    def content(self, elements: Sequence[Json]) -> str:
        return "".join(self._elements(elements))

    def _elements(self, elements: Sequence[Json]) -> Iterator[str]:
        code: list[str] = []
        for element in elements:
            paragraph = element.get("paragraph")
            if paragraph and is_code(paragraph):
                code.append(text_of(paragraph))
                continue
            if code:
                yield _code(code)
                code = []
            if paragraph:
                yield self._paragraph(paragraph)
            elif "table" in element:
                yield self._table(element["table"])
            elif "tableOfContents" in element:
                lines = self.content(element["tableOfContents"]["content"])
                yield f'<nav class="contents" aria-label="Contents">{lines}</nav>'
        if code:
            yield _code(code)

    def _paragraph(self, paragraph: Json) -> str:
        style = paragraph["paragraphStyle"]
        inner = "".join(self._inline(each) for each in paragraph["elements"]).strip("\n")
        if inner == "<hr>":
            return inner
        attributes = _attributes(style)
        if "bullet" in paragraph:
            depth, marker = self._marker(paragraph["bullet"])
            marker = f'<span class="marker">{marker}</span>'
            return f'<p class="item" style="--depth:{depth}">{marker}<span>{inner}</span></p>'
        if not inner:
            return ""
        tag = HEADING_TAGS.get(style["namedStyleType"], "p")
        if heading := style.get("headingId"):
            anchor = f'<a class="anchor" href="#heading={heading}" aria-label="Link here">¶</a>'
            beside = "".join(map(comment_html, self._quoting(text_of(paragraph))))
            return f'<{tag} id="{escape(heading)}"{attributes}>{inner}{anchor}</{tag}>{beside}'
        return f"<{tag}{attributes}>{inner}</{tag}>"

    def _quoting(self, heading: str) -> list[Json]:
        return [
            each
            for each in self.comments
            if (each.get("quotedFileContent") or {}).get("value") == heading
        ]

    def _inline(self, element: Json) -> str:
        if run := element.get("textRun"):
            return _run(run)
        if chip := element.get("person"):
            person = chip["personProperties"]
            name = escape(person.get("name") or person["email"])
            return f'<span class="chip person" title="{escape(person["email"])}">{name}</span>'
        if chip := element.get("dateElement"):
            shown = escape(chip["dateElementProperties"]["displayText"])
            return f'<span class="chip date">{shown}</span>'
        if mark := element.get("footnoteReference"):
            note = (mark["footnoteNumber"], mark["footnoteId"])
            self.notes.append(note)
            return f'<sup><a href="#{escape(note[1])}">{escape(note[0])}</a></sup>'
        return "<hr>" if "horizontalRule" in element else ""

    def _note(self, number: str, note_id: str) -> str:
        content = self.content(self.parts["footnotes"][note_id]["content"])
        return f'<li id="{escape(note_id)}" value="{escape(number)}">{content}</li>'

    def _marker(self, bullet: Json) -> tuple[int, str]:
        list_id, depth = bullet["listId"], bullet.get("nestingLevel", 0)
        levels = self.parts["lists"][list_id]["listProperties"]["nestingLevels"]
        for key in [key for key in self._counts if key[0] == list_id and key[1] > depth]:
            del self._counts[key]
        number = self._counts.get((list_id, depth), levels[depth].get("startNumber", 1) - 1) + 1
        self._counts[list_id, depth] = number
        glyph = levels[depth].get("glyphSymbol")
        return depth, escape(glyph) if glyph else f"{_number(number, levels[depth])}."

    def _table(self, table: Json) -> str:
        covered: set[tuple[int, int]] = set()
        rows = []
        for y, row in enumerate(table["tableRows"]):
            cells = []
            for x, cell in enumerate(row["tableCells"]):
                if (y, x) in covered:
                    continue
                style = cell["tableCellStyle"]
                height, width = style.get("rowSpan", 1), style.get("columnSpan", 1)
                covered |= {(y + dy, x + dx) for dy in range(height) for dx in range(width)}
                tag = "th" if style.get("backgroundColor") else "td"
                spans = f' rowspan="{height}" colspan="{width}"' if height * width > 1 else ""
                cells.append(f"<{tag}{spans}>{self.content(cell['content'])}</{tag}>")
            rows.append(f"<tr>{''.join(cells)}</tr>")
        return f'<div class="table"><table>{"".join(rows)}</table></div>'


def comment_html(comment: Json) -> str:
    author, content = escape(comment["author"]["displayName"]), escape(comment["content"])
    return f'<aside class="comment" aria-label="Comment"><b>{author}</b><p>{content}</p></aside>'


def headings(tab: Json) -> list[tuple[int, str, str]]:
    """Level from 1, heading id and text, for the outline; the title is not part of it."""
    found = []
    for element in tab["documentTab"]["body"]["content"]:
        paragraph = element.get("paragraph") or {}
        style = paragraph.get("paragraphStyle") or {}
        name = style.get("namedStyleType", "")
        if name.startswith("HEADING_") and style.get("headingId"):
            found.append((int(name[-1]), style["headingId"], text_of(paragraph)))
    return found


def text_of(paragraph: Json) -> str:
    runs = [element.get("textRun", {}).get("content", "") for element in paragraph["elements"]]
    return "".join(runs).strip("\n")


def is_code(paragraph: Json) -> bool:
    """Google Docs writes code as paragraphs in a monospaced font."""
    runs = [element.get("textRun") for element in paragraph["elements"]]
    fonts = {_font(run) for run in runs if run}
    return None not in runs and fonts == {"Roboto Mono"} and not _is_one_inline(runs)


def _is_one_inline(runs: Sequence[Json | None]) -> bool:
    return any("foregroundColor" in run["textStyle"] for run in runs if run)


def _font(run: Json) -> str:
    return str(run["textStyle"].get("weightedFontFamily", {}).get("fontFamily", ""))


def _run(run: Json) -> str:
    text, style = run["content"], run["textStyle"]
    html = escape(text.rstrip("\n")).replace("\v", "<br>")
    if not html:
        return ""
    if _font(run):
        html = f"<code>{html}</code>"
    for name, tag in MARKS.items():
        if style.get(name):
            html = f"<{tag}>{html}</{tag}>"
    link = style.get("link", {})
    if target := link.get("heading"):
        return f'<a href="#heading={escape(target["id"])}">{html}</a>'
    if (url := link.get("url", "")).startswith(SAFE_LINKS):
        return f'<a href="{escape(url)}">{html}</a>'
    return html


def _code(lines: Sequence[str]) -> str:
    return f"<pre><code>{escape(chr(10).join(lines))}</code></pre>"


def _attributes(style: Json) -> str:
    css = ["border-inline-start:3px solid var(--line);padding-inline-start:1rem"]
    if not style.get("borderLeft", {}).get("width", {}).get("magnitude"):
        css.clear()
    if indent := style.get("indentStart", {}).get("magnitude"):
        css.append(f"margin-inline-start:{indent}pt")
    if style.get("alignment") in {"END", "CENTER"}:
        css.append(f"text-align:{style['alignment'].lower()}")
    direction = ' dir="rtl"' if style.get("direction") == "RIGHT_TO_LEFT" else ""
    return direction + (f' style="{";".join(css)}"' if css else "")


def _number(number: int, level: Json) -> str:
    if level.get("glyphType") == "ALPHA":
        return chr(ord("a") + (number - 1) % 26)
    if level.get("glyphType") != "ROMAN":
        return str(number)
    text = ""
    for value, letters in ROMAN:
        count, number = divmod(number, value)
        text += letters * count
    return text
