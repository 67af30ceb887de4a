"""Paragraphs with the indexes that Google counts: UTF-16 units, in the order of writing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from playground.google.docs_writer.docs_style import Json, object_id
from playground.google.docs_writer.written_spans import (
    DateChip,
    Inline,
    NoteMark,
    PersonChip,
    Picture,
    Run,
)

HIDDEN_BY_VIEW = {
    "PREVIEW_WITHOUT_SUGGESTIONS": "suggestedInsertionIds",
    "PREVIEW_SUGGESTIONS_ACCEPTED": "suggestedDeletionIds",
}


def utf16_length(text: str) -> int:
    """Code units of Google's indexes: characters beyond the BMP count twice."""
    return len(text.encode("utf-16-le")) // 2


@dataclass
class Segment:
    """Where the next character of a body or footnote goes."""

    scope: str
    """Makes object ids unique, e.g. document and tab."""
    view: str
    note_id: Callable[[str], str]
    """Label of a footnote → its id."""
    pictures: Json
    """Inline objects of the tab, filled while writing."""
    index: int = 0
    numbers: dict[str, int] = field(default_factory=dict)
    """Footnote id → its number, in order of appearance."""

    def advance(self, units: int) -> Json:
        """The span of the next `units`; a start of 0 is left out, as the API does."""
        start, self.index = self.index, self.index + units
        return {"startIndex": start, "endIndex": self.index} if start else {"endIndex": self.index}

    def paragraph(self, inlines: Sequence[Inline], style: Json, bullet: Json | None = None) -> Json:
        """A structural element that ends in a newline, as every paragraph does."""
        start = self.index
        shown = [piece for piece in inlines if not self._hidden(piece)]
        newline = Run("\n")
        if shown and isinstance(last := shown[-1], Run) and "link" not in last.style:
            shown[-1] = Run(last.text + "\n", last.style, last.suggestion)
        else:
            shown.append(newline)
        paragraph: Json = {"elements": [self._element(piece) for piece in shown]}
        paragraph["paragraphStyle"] = {"namedStyleType": "NORMAL_TEXT", **style}
        paragraph["paragraphStyle"].setdefault("direction", "LEFT_TO_RIGHT")
        if bullet:
            paragraph["bullet"] = bullet
        span: Json = {"startIndex": start} if start else {}
        return {**span, "endIndex": self.index, "paragraph": paragraph}

    def rule(self) -> Json:
        """A horizontal rule: an element of its own paragraph."""
        start = self.index
        rule = {**self.advance(1), "horizontalRule": {"textStyle": {}}}
        end = {**self.advance(1), "textRun": {"content": "\n", "textStyle": {}}}
        style = {"namedStyleType": "NORMAL_TEXT", "direction": "LEFT_TO_RIGHT"}
        paragraph = {"elements": [rule, end], "paragraphStyle": style}
        return {"startIndex": start, "endIndex": self.index, "paragraph": paragraph}

    def _hidden(self, piece: Inline) -> bool:
        return isinstance(piece, Run) and piece.suggestion == HIDDEN_BY_VIEW.get(self.view, "-")

    def _element(self, piece: Inline) -> Json:
        start = self.index
        if isinstance(piece, Run):
            span = self.advance(utf16_length(piece.text))
            return {**span, "textRun": self._text_run(piece)}
        span = self.advance(1)
        if isinstance(piece, PersonChip):
            return {**span, "person": person(piece.name, self.scope, start)}
        if isinstance(piece, DateChip):
            return {**span, "dateElement": date(piece.date, self.scope, start)}
        if isinstance(piece, Picture):
            return {**span, "inlineObjectElement": self._picture(piece, start)}
        return {**span, **self._note(piece)}

    def _text_run(self, run: Run) -> Json:
        content: Json = {"content": run.text, "textStyle": dict(run.style)}
        if run.suggestion and self.view == "SUGGESTIONS_INLINE":
            content[run.suggestion] = [object_id(self.scope, self.index, prefix="suggest.")]
        return content

    def _note(self, mark: NoteMark) -> Json:
        note_id = self.note_id(mark.label)
        number = self.numbers.setdefault(note_id, len(self.numbers) + 1)
        return {
            "footnoteReference": {
                "footnoteId": note_id,
                "footnoteNumber": str(number),
                "textStyle": {},
            }
        }

    def _picture(self, picture: Picture, start: int) -> Json:
        key = object_id(self.scope, "picture", start)
        embedded: dict[str, Any] = {
            "imageProperties": {"contentUri": picture.uri, "cropProperties": {}},
            "description": picture.alt,
            "title": picture.title,
        }
        self.pictures[key] = {
            "objectId": key,
            "inlineObjectProperties": {
                "embeddedObject": {name: value for name, value in embedded.items() if value}
            },
        }
        return {"inlineObjectId": key, "textStyle": {}}


def person(name: str, *scope: object) -> Json:
    email = ".".join(name.lower().split()) + "@tidewater.example"
    return {
        "personId": object_id(*scope, "person"),
        "textStyle": {},
        "personProperties": {"name": name, "email": email},
    }


def date(day: str, *scope: object) -> Json:
    return {
        "dateId": object_id(*scope, "date"),
        "textStyle": {},
        "dateElementProperties": {
            "timestamp": f"{day}T12:00:00Z",
            "locale": "en",
            "dateFormat": "DATE_FORMAT_ISO8601",
            "timeFormat": "TIME_FORMAT_DISABLED",
            "displayText": day,
        },
    }
