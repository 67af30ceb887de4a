"""Finds the person of a calendar's event: in its title, among its guests, or in its description.

A title names whoever has the shift. A description may hold contacts, rules and the addresses of a
video call, so an e-mail address there counts only alone on its line, and after every guest."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from config.parsing.schedules import (
    EMAIL,
    MAYBE_ON_CALL_IN_PROSE,
    MENTION,
    ON_CALL,
    ON_CALL_IN_PROSE,
)

_MENTION = re.compile(MENTION)
_ID_ALONE = re.compile(rf"\A\s*({ON_CALL})\s*\Z")
_ID = re.compile(f"({ON_CALL_IN_PROSE})")
_MAYBE_ID = re.compile(f"({MAYBE_ON_CALL_IN_PROSE})")
_MENTION_ALONE = re.compile(rf"\A\s*{MENTION}\s*\Z")
_EMAIL = re.compile(f"({EMAIL})")
_EMAIL_ALONE = re.compile(rf"\A\W*(?:mailto:)?({EMAIL})\W*\Z")
_GUEST = re.compile(r"([^\s@:<>\"]++@[\w-]+(?:\.[\w-]+)+)")

_NO_PERSON = {"RESOURCE", "ROOM"}
_NOT_THERE = {"DECLINED", "DELEGATED"}
_CALENDARS = ".calendar.google.com"
"""Google invites the shared calendar itself, and rooms, by addresses of this host."""

_BREAK = re.compile(r"<(?:br|/?(?:p|div|li|ul|ol))\b[^<>]*+>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][a-z0-9]*+(?:\s[^<>]*+)?/?>", re.IGNORECASE)


def who(event: Any) -> str:
    """Slack id or e-mail address; empty where the event names nobody."""
    titles = [str(value) for value in values(event, "SUMMARY")]
    notes = [_without_tags(str(value)) for value in values(event, "DESCRIPTION")]
    lines = [line for note in notes for line in note.splitlines()]
    searches: list[tuple[re.Pattern[str], Iterable[str]]] = [
        *((pattern, titles) for pattern in (_MENTION, _ID_ALONE, _ID, _EMAIL)),
        *((pattern, lines) for pattern in (_MENTION_ALONE, _ID_ALONE)),
        (_GUEST, _guests(event)),
        *((pattern, notes) for pattern in (_MENTION, _ID)),
        (_EMAIL_ALONE, lines),
        (_MAYBE_ID, [*titles, *notes]),  # an id that may also be a word
    ]
    matches = (pattern.search(text) for pattern, texts in searches for text in texts)
    return next((match[1] for match in matches if match), "")


def values(event: Any, name: str) -> list[Any]:
    """The values of a property that may occur once, several times or not at all."""
    value = event.get(name, [])
    return value if isinstance(value, list) else [value]


def _guests(event: Any) -> list[str]:
    """Texts with the addresses of those who may come: who accepted first, mailing lists last."""
    guests = [one for one in values(event, "ATTENDEE") if _may_come(one)]
    guests.sort(
        key=lambda one: (
            _parameter(one, "CUTYPE") == "GROUP",
            _parameter(one, "PARTSTAT") != "ACCEPTED",
            _parameter(one, "ROLE") == "OPT-PARTICIPANT",
        )
    )
    addresses = [_address(one) for one in guests]
    return [one for one in addresses if not one.lower().endswith(_CALENDARS)]


def _may_come(guest: Any) -> bool:
    return (
        _parameter(guest, "CUTYPE") not in _NO_PERSON
        and _parameter(guest, "ROLE") != "NON-PARTICIPANT"
        and _parameter(guest, "PARTSTAT") not in _NOT_THERE
    )


def _address(guest: Any) -> str:
    """Where the value is a path or an id, as Apple's and Outlook's are, the address is in EMAIL or
    CN."""
    parameters = getattr(guest, "params", {})
    texts = (parameters.get("EMAIL", ""), unquote(str(guest)), parameters.get("CN", ""))
    matches = (_GUEST.search(str(text)) for text in texts)
    return next((match[1] for match in matches if match), "")


def _parameter(guest: Any, name: str) -> str:
    return str(getattr(guest, "params", {}).get(name, "")).upper()


def _without_tags(text: str) -> str:
    """Google and Outlook write descriptions in HTML."""
    return html.unescape(_TAG.sub("", _BREAK.sub("\n", text)))
