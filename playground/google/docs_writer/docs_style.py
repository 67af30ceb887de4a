"""The parts of a Google Doc that every document shares: page setup, named styles, list glyphs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

MONOSPACE: Json = {"weightedFontFamily": {"fontFamily": "Roboto Mono", "weight": 400}}
HEADER_SHADE: Json = {
    "color": {"rgbColor": {"red": 0.9372549, "green": 0.9372549, "blue": 0.9372549}}
}
FONT_SIZES = {
    "NORMAL_TEXT": 11,
    "TITLE": 26,
    "SUBTITLE": 15,
    "HEADING_1": 20,
    "HEADING_2": 16,
    "HEADING_3": 14,
    "HEADING_4": 12,
    "HEADING_5": 11,
    "HEADING_6": 11,
}
BULLETS = "●○■"
NUMBERS = ("DECIMAL", "ALPHA", "ROMAN")
LIST_LEVELS = 9


def points(magnitude: float = 0) -> Json:
    """A length; the API leaves zeros out."""
    return {"magnitude": magnitude, "unit": "PT"} if magnitude else {"unit": "PT"}


def object_id(*parts: object, prefix: str = "kix.") -> str:
    """A stable id in the form of Google's own: prefix and twelve characters."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    number, letters = int.from_bytes(digest[:12], "big"), ""
    while len(letters) < 12:
        number, rest = divmod(number, 36)
        letters += "0123456789abcdefghijklmnopqrstuvwxyz"[rest]
    return prefix + letters


def document_style(header_id: str) -> Json:
    return {
        "background": {"color": {}},
        "defaultHeaderId": header_id,
        "pageNumberStart": 1,
        "marginTop": points(72),
        "marginBottom": points(72),
        "marginRight": points(72),
        "marginLeft": points(72),
        "pageSize": {"height": points(841.8897637795277), "width": points(595.2755905511812)},
        "marginHeader": points(36),
        "marginFooter": points(36),
        "useCustomHeaderFooterMargins": True,
        "documentFormat": {"documentMode": "PAGES"},
    }


def named_styles() -> Json:
    return {
        "styles": [
            {
                "namedStyleType": name,
                "textStyle": {
                    "fontSize": points(size),
                    "weightedFontFamily": {"fontFamily": "Arial", "weight": 400},
                },
                "paragraphStyle": {"namedStyleType": name, "direction": "LEFT_TO_RIGHT"},
            }
            for name, size in FONT_SIZES.items()
        ]
    }


def list_properties(ordered: Mapping[int, bool], starts: Mapping[int, int]) -> Json:
    """Nine nesting levels, as the API always sends them; unused ones follow the first."""
    return {
        "listProperties": {
            "nestingLevels": [
                _level(depth, ordered.get(depth, ordered[min(ordered)]), starts.get(depth, 1))
                for depth in range(LIST_LEVELS)
            ]
        }
    }


def _level(depth: int, ordered: bool, start: int) -> Json:
    level: Json = {
        "bulletAlignment": "START",
        "glyphFormat": f"%{depth}." if ordered else f"%{depth}",
        "indentFirstLine": points(18 + 36 * depth),
        "indentStart": points(36 + 36 * depth),
        "textStyle": {"underline": False},
        "startNumber": start,
    }
    if ordered:
        level["glyphType"] = NUMBERS[depth % len(NUMBERS)]
    else:
        level["glyphSymbol"] = BULLETS[depth % len(BULLETS)]
    return level
