"""Untrusted plain text made safe, and the URLs that an answer may link to. Pure.

Slack reads addresses and mentions out of plain text; documents, models and people write that."""

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
"""A word joiner: invisible, and Slack reads no address or mention across it."""
BACKTICK_LOOKALIKE = "ˋ"
"""Replaces a backtick that opens no code: a simpler parser would pair it with another."""

WORD = re.compile(r"[^\s<>\"|`\[\]]+")
"""Slack looks for an address in each of these."""
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
"""A path whose extension is also a top-level domain."""
_DOTS = re.compile(r"(?<=[\w-])[.。．｡](?=\w)")
_CONTROL = re.compile("<(?=[!@#])")
_PING = re.compile(rf"@(?=(?i:channel|here|everyone|group)\b|{PINGED_IN_PROSE})")
_SIGNS = "([{}])*_\"'~“”‘’«»"
_END = _SIGNS + ".,;:!?"


def strip_invisible(text: str) -> str:
    """Without zero-width, direction and control characters, and lone surrogates.

    Word joiners stay, so that sanitized text does not change when sanitized again."""
    return _INVISIBLE.sub("", clean(text))


def is_address(word: str) -> bool:
    """Whether Slack or a browser might make a link of a word; when in doubt, True.

    `README.md` is an address, because `.md` is Moldova's domain; `docs/README.md`, `node.js` and
    `v1.2` are not."""
    if not any(sign in word for sign in ".:。．｡@＠："):
        return False
    folded = _fold(word).lower()
    if _SCHEME.search(folded):
        return True
    if "@" in folded and _EMAIL.search(folded) and _DOTS.search(folded):
        return True
    if _FILE.fullmatch(folded):
        return False
    return any(_is_top_level(match[1]) for match in _LABEL.finditer(folded))


def address_span(word: str) -> tuple[int, int]:
    """Start and end of the address in a word, without punctuation around it."""
    start = len(word) - len(word.lstrip(_SIGNS))
    return start, max(start, len(word.rstrip(_END)))


def break_address(word: str) -> str:
    """The same word, broken so that Slack does not read it as an address."""
    word = _DOTS.sub(lambda dot: dot[0] + BREAK, word)
    return re.sub("[:：@＠](?!\u2060)", lambda sign: sign[0] + BREAK, word)


def break_links(text: str) -> str:
    """Breaks every address, so that Slack makes no link."""
    return WORD.sub(lambda word: break_address(word[0]) if is_address(word[0]) else word[0], text)


def break_mentions(text: str) -> str:
    """Breaks mentions, by name or by Slack's control sequences."""
    if "@" not in text and "<" not in text and text.isascii():
        return text
    folded = _fold(text)
    places = {match.end() for sign in (_CONTROL, _PING) for match in sign.finditer(folded)}
    pieces, at = [], 0
    for place in sorted(places):
        pieces += [text[at:place], BREAK]
        at = place
    return "".join([*pieces, text[at:]])


def sanitize_plain(text: str) -> str:
    """Sanitizes untrusted text for Slack's `plain_text`, titles and cells."""
    return break_mentions(break_links(strip_invisible(text)))


def sanitize_mrkdwn(text: str) -> str:
    """Sanitizes untrusted text for a mrkdwn text object: also escapes `&`, `<` and `>`."""
    return break_mentions(escape_mrkdwn(break_links(strip_invisible(text))))


def escape_mrkdwn(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class _Fold(dict[int, int]):
    """Maps full-width, circled and mathematical letters to the letters they look like."""

    def __missing__(self, code: int) -> int:
        alike = unicodedata.normalize("NFKC", chr(code))
        return ord(alike) if len(alike) == 1 else code


def _fold(text: str) -> str:
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
"""Browsers drop or reinterpret these, each in its own way."""
_UNESCAPED = "/?#[]@!$&'()*+,;=:%-._~"


@dataclass(frozen=True, kw_only=True)
class Links:
    """The links that an answer may contain."""

    urls: frozenset[str] = frozenset()
    """Exact URLs: the answer's citations."""
    hosts: frozenset[str] = frozenset()
    """All URLs on these hosts or their subdomains."""

    def allow(self, url: str) -> bool:
        if not is_web(url):
            return False
        host = host_of(url)
        return url in self.urls or any(
            host == allowed or host.endswith(f".{allowed}") for allowed in self.hosts
        )


def links_to(urls: Collection[str], hosts: Collection[str] = ()) -> Links:
    return Links(
        urls=frozenset(form for url in urls if is_web(url) for form in (url, encode_url(url))),
        hosts=frozenset(host.lower().strip(". ") for host in hosts if host.strip(". ")),
    )


def is_web(url: str) -> bool:
    """Whether it is an http(s) URL from which every parser reads the same host.

    The host is plain ASCII, without user, escapes or a trailing dot. RFC 3986 allows more, and
    WHATWG's browsers repair more: there, a check and a browser may disagree."""
    match = _WEB.fullmatch(url)
    if not match or _REFUSED.search(url) or ".." in match["host"]:
        return False
    return not match["port"] or 0 < int(match["port"]) < 65_536


def host_of(url: str) -> str:
    match = _WEB.fullmatch(url)
    return match["host"].lower() if match else ""


def encode_url(url: str) -> str:
    """The URL, with what could end a link early percent-encoded; empty if it is not `is_web`."""
    match = _WEB.fullmatch(url)
    if not match:
        return ""
    rest = quote(match["rest"], safe=_UNESCAPED)
    return url[: match.start("rest")] + rest
