"""Plain words of others that stay words: Slack makes no link and no ping of them. Pure.

Documents, models and people write them; Slack reads addresses and pings out of plain text.

Which addresses an answer may open. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, lru_cache
from urllib.parse import quote

from publicsuffixlist import PublicSuffixList

from config.parsing.schedules import PINGED_IN_PROSE
from loaders.text.markdown import clean

BREAK = "\u2060"
"""A word joiner: unseen, and Slack no longer reads what it stands in as an address or a ping."""
LOOKALIKE = "ˋ"
"""Stands for a backtick that opens no code: a reader of fewer rules would pair it with another."""

WORD = re.compile(r"[^\s<>\"|`\[\]]+")
"""What Slack would look for an address in."""
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f"
    "\u202a-\u202e\u2061-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SCHEME = re.compile(
    r"[a-z0-9]:[/\\]{2}|(?<![a-z0-9])(?:https?|ftp|mailto|tel|sms|sip|callto|skype|facetime|xmpp"
    r"|slack|spotify|javascript|vbscript):[^\s\u2060]|(?<![a-z0-9])data:\w+/|(?<![a-z0-9])www\.\w"
)
_EMAIL = re.compile(r"(?<=[\w.+-])@(?=[\w-])")
_LABEL = re.compile(r"(?<=[\w-])[.。．｡](xn--[a-z0-9-]++|[a-z]++(?!\d)|[^\W\d_a-z]++)")
_FILE = re.compile(
    r"[(\"'*_]*\w[\w-]*(?:/[\w-]+)+\.(?:cc|hs|md|mk|ml|pl|py|rs|sh|tf)[)\"'*_.,;:!?]*"
)
"""A path, whose ending is also a country's."""
_DOTS = re.compile(r"(?<=[\w-])[.。．｡](?=\w)")
_CONTROL = re.compile("<(?=[!@#])")
_PING = re.compile(rf"@(?=(?i:channel|here|everyone|group)\b|{PINGED_IN_PROSE})")
_SIGNS = "([{}])*_\"'~“”‘’«»"
_END = _SIGNS + ".,;:!?"


def strip_invisible(text: str) -> str:
    """Without what nobody sees: zero widths, directions, control characters, halves of pairs.

    A word joiner stays: it takes apart, so that what was made harmless once stays as it is."""
    return _INVISIBLE.sub("", clean(text))


def is_address(word: str) -> bool:
    """Whether Slack, or a browser, might make a link of a word: on the safe side.

    `README.md` is one, because Moldova sells names in `.md`; `docs/README.md`, `node.js` and
    `v1.2` are none."""
    if not any(sign in word for sign in ".:。．｡@＠："):
        return False
    folded = _folded(word).lower()
    if _SCHEME.search(folded):
        return True
    if "@" in folded and _EMAIL.search(folded) and _DOTS.search(folded):
        return True
    if _FILE.fullmatch(folded):
        return False
    return any(_is_top_level(found[1]) for found in _LABEL.finditer(folded))


def core(word: str) -> tuple[int, int]:
    """Where the address in a word begins and ends: without the signs around it."""
    start = len(word) - len(word.lstrip(_SIGNS))
    return start, max(start, len(word.rstrip(_END)))


def broken(word: str) -> str:
    """An address that reads the same and isn't one."""
    word = _DOTS.sub(lambda dot: dot[0] + BREAK, word)
    return re.sub("[:：@＠](?!\u2060)", lambda sign: sign[0] + BREAK, word)


def break_links(text: str) -> str:
    """Nothing to follow: every address is broken."""
    return WORD.sub(lambda word: broken(word[0]) if is_address(word[0]) else word[0], text)


def break_mentions(text: str) -> str:
    """Nobody is called, by a name or by Slack's control sequences."""
    if "@" not in text and "<" not in text and text.isascii():
        return text
    folded = _folded(text)
    places = {found.end() for sign in (_CONTROL, _PING) for found in sign.finditer(folded)}
    pieces, at = [], 0
    for place in sorted(places):
        pieces += [text[at:place], BREAK]
        at = place
    return "".join([*pieces, text[at:]])


def sanitize_plain(text: str) -> str:
    """For Slack's `plain_text`, titles and cells."""
    return break_mentions(break_links(strip_invisible(text)))


def sanitize_mrkdwn(text: str) -> str:
    """For a mrkdwn text object: Slack's three control characters escaped, too."""
    return break_mentions(escaped(break_links(strip_invisible(text))))


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class _Fold(dict[int, int]):
    """Full-width, circled and mathematical letters to what they look like, one for one."""

    def __missing__(self, code: int) -> int:
        alike = unicodedata.normalize("NFKC", chr(code))
        return ord(alike) if len(alike) == 1 else code


def _folded(text: str) -> str:
    return text if text.isascii() else text.translate(_FOLD)


_FOLD = _Fold()


@lru_cache(4_096)
def _is_top_level(label: str) -> bool:
    return _suffixes().publicsuffix(f"a.b.{label}", accept_unknown=False) is not None


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(only_icann=True)


_WEB = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)(?::(?P<port>\d{1,5}))?"
    r"(?P<rest>(?:[/?#].*)?)",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"[\x00-\x1f\x7f-\x9f\\\u2028\u2029]|%(?![0-9a-f]{2})", re.IGNORECASE)
"""Browsers drop, turn round or guess at these, each in its own way."""
_KEPT = "/?#[]@!$&'()*+,;=:%-._~"


@dataclass(frozen=True, kw_only=True)
class Links:
    """What an answer may link to."""

    urls: frozenset[str] = frozenset()
    """Exactly these: the answer's citations."""
    hosts: frozenset[str] = frozenset()
    """And anything on these hosts or below them."""

    def allow(self, url: str) -> bool:
        if not is_web(url):
            return False
        host = host_of(url)
        return url in self.urls or any(
            host == known or host.endswith(f".{known}") for known in self.hosts
        )


def links_to(urls: Collection[str], hosts: Collection[str] = ()) -> Links:
    return Links(
        urls=frozenset(form for url in urls if is_web(url) for form in (url, written(url))),
        hosts=frozenset(host.lower().strip(". ") for host in hosts if host.strip(". ")),
    )


def is_web(url: str) -> bool:
    """Whether every parser reads the same host from it, and the web is what it opens.

    The host is plain ASCII, without a user, an escape or a trailing dot; RFC 3986 would take
    more, and WHATWG's browsers repair more, which is where a reader and a check part ways."""
    found = _WEB.fullmatch(url)
    if not found or _REFUSED.search(url) or ".." in found["host"]:
        return False
    return not found["port"] or 0 < int(found["port"]) < 65_536


def host_of(url: str) -> str:
    found = _WEB.fullmatch(url)
    return found["host"].lower() if found else ""


def written(url: str) -> str:
    """A web address as it may stand in a link: what could end it early is percent-encoded."""
    found = _WEB.fullmatch(url)
    if not found:
        return ""
    rest = quote(found["rest"], safe=_KEPT)
    return url[: found.start("rest")] + rest
