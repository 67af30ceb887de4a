"""Lines of a message: cleaned, and the `key=value` and `Key: value` pairs in them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from agents.alerts.alert import INSTANCE_KEYS, SEVERITY_KEYS, Label
from agents.alerts.forms import WORDS

MAX_CHARACTERS = 12_000
MAX_LINES = 600
_MAX_LINE, _MAX_VALUE = 1_000, 120
_LINK = re.compile(r"<((?:https?|mailto):[^<>|\s]+)(?:\|([^<>\n]*))?>")
_MENTION = re.compile(r"<[!@#][^<>\n]{1,200}>|(?<!\S)@(?:here|channel|everyone)\b")
_LINK_AFTER = re.compile(r" ?\(https?://[^\s()]+\)")
_URL = re.compile(r"https?://(?:[^\s<>|]*[?&](?:host|service)=)?([^\s<>|?&]+)[^\s<>|]*")
PARAMETER = re.compile(r"[?&](region|cluster|namespace|env)=([\w.-]+)")
"""A label in a link's query: `https://console.example/alarm?region=eu-west-1`."""
ONLY_URL = re.compile(rf"\W*(?:[\w ]{{1,40}}: ?)?<?{_URL.pattern}>?\W*")
"""A line that holds only a URL, or a key and a URL."""
RUNBOOK = re.compile(
    r"(?:runbook|playbook)[^\n]{0,60}?(https?://[^\s<>|)\"'`*]*[^\s<>|)\"'`*.,;])", re.IGNORECASE
)
_UNFILLED = re.compile(
    r"\{\{[^{}\n]{0,200}\}\}|\{[A-Z]+\.[A-Z\d.]+\}|<no value>|\[no value\]|%!\w\([^()\n]{0,80}\)"
)
_KEY_ALONE = re.compile(
    r"^([*_]*[A-Z][\w ]{1,30}:[*_]*) *\n(?=<?https?://|[^\n:=]+$)", re.MULTILINE
)
_CODE_AFTER_KEY = re.compile(r"^(\s*[•●▪*-] [\w.-]+) `([^`\n]+)`$", re.MULTILINE)
_EMOJI = re.compile(
    r":(?!\d+:)(?:x|[a-z0-9_+-]{2,40}):|[\u2190-\u2191\u2193-\u21ff\u2300-\u23ff\u2460-\u2bff"
    r"\U0001f000-\U0001faff\ufe0f\u200d]+"
)
_SIGNS = str.maketrans({
    **dict(zip("【】「」：（）［］", "[][]:()[]", strict=True)), "`": "", "*": "", "→": "->",
})  # fmt: skip
_ITALIC = re.compile(r"(?<![\w.])_(\w[^_\n]*(?:_[^_\n]+)*)_(?!\w)")
_BULLET = re.compile(r"^\s*(?:[•▪◦·●–—>]|[-*](?=\s)|\d{1,3}[.)](?=\s))\s*")
_PAIR = re.compile(
    r"(?<![\w.-])([A-Za-z][\w.-]{0,60}) ?=~? ?"
    r"(\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[^\s,;{}()]+)"
)
_FIELD = re.compile(
    r"([^\W\d_][\w./-]{0,60}(?: [\w./()-]{1,40}){0,3}?)(?: ?:(?!//)(?: |$)| = ?)(.*)$"
)
_TAG = re.compile(r"([A-Za-z][\w.-]{0,60})(?:[:=]([^\s,;:][^\s,;]*)|: ([^:]+))")
_QUOTED = re.compile(r"^([\"'`])(.*)\1$")
_BETWEEN = re.compile(" [|·•] ")
_IN_BRACKETS = re.compile(r" (?:\[[^\[\]]*\]|\(IP[^()]*\))$")
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]")
KEYS = WORDS["keys"]
FIELD_KEYS = SEVERITY_KEYS.union(INSTANCE_KEYS, KEYS["names"], KEYS["states"], KEYS["titles"])
"""Of fields that alerts of many kinds have."""
_KEY_INSIDE = "|".join(sorted(FIELD_KEYS, key=len, reverse=True))
_NEXT_FIELD = re.compile(rf"(?<=: )([^|·•]+?),? +(?=(?:{_KEY_INSIDE}) ?: )", re.IGNORECASE)


def lines_of(text: str) -> list[str]:
    """Its lines that hold words, with links as `text (URL)`, and a key alone before its value."""
    text = _UNFILLED.sub(" ", html.unescape(text[:MAX_CHARACTERS]))
    text = _CODE_AFTER_KEY.sub(r"\1: \2", _KEY_ALONE.sub(r"\1 ", text))
    text = _LINK.sub(lambda m: f"{m[2]} ({m[1]})" if m[2] else m[1], _MENTION.sub(" ", text))
    return [one for one in text.splitlines()[:MAX_LINES] if clean(one)]


def clean(line: str) -> str:
    """Without emoji, links' URLs, list marks, and marks of bold, strike and code. A bare URL
    becomes the host or service that it shows, else its host and path."""
    line = _URL.sub(lambda m: m[1].rstrip("/"), _LINK_AFTER.sub("", line[:_MAX_LINE]))
    line = _EMOJI.sub(" ", line.translate(_SIGNS))
    line = " ".join(_BULLET.sub("", line.strip()).split())
    return _ITALIC.sub(r"\1", line).replace("[ ", "[").replace(" ]", "]").strip("_~ ")


def tells(text: str) -> bool:
    """Whether it holds more than signs."""
    return any(map(str.isalnum, text))


def fields(line: str) -> Iterator[Label]:
    """The pairs of a line that holds nothing else; a value is '' where it may be in the next
    line. `Service: payments | Urgency: High`, `Host: db-1 State: DOWN`."""
    for part in _BETWEEN.split(_NEXT_FIELD.sub(r"\1 | ", line)):
        if match := _FIELD.match(part):
            yield match[1], unquoted(match[2])
        else:
            yield from only_pairs(part)


def only_pairs(text: str) -> list[Label]:
    """The pairs of a text that holds nothing else; none where it holds more."""
    return [] if without_pairs(text).strip(" ,;{}()[]") else pairs(text)


def pairs(text: str) -> list[Label]:
    """Every `key=value`, with the quotes of values removed."""
    return [(key, unquoted(value)) for key, value in _PAIR.findall(text) if unquoted(value)]


def without_pairs(text: str) -> str:
    return " ".join(re.sub(r"\{[ ,;]*\}", " ", _PAIR.sub(" ", text)).split())


def tags(text: str) -> Iterator[Label]:
    """`region:eu, env:prod`, `group: SQL servers`, `region=eu`; a bare word has the key ''."""
    text = text.strip("{}[]() ")
    yield from pairs(text)
    for part in re.split(r"[,;] ?" if ": " in text else r"[,;\s]+", without_pairs(text)):
        match = _TAG.fullmatch(part)
        value = unquoted(match[2] or match[3] if match else part)
        if value:
            yield match[1] if match else "", value


def is_prose(key: str, value: str) -> bool:
    """Whether a field describes the alert, and is no label."""
    return key.casefold() in KEYS["descriptions"] or len(value) > _MAX_VALUE


def label(key: str, value: str) -> list[Label]:
    """As a label, without what stands in brackets behind the value: `db-4 [10.0.0.4]`."""
    value = _IN_BRACKETS.sub("", value)
    is_label = tells(value) and not _DATE.match(value) and not is_prose(key, value)
    return [(key, value)] if is_label else []


def unquoted(value: str) -> str:
    return _QUOTED.sub(r"\2", value.strip().rstrip(",;:"))
