"""Answers can't ping anybody or link anywhere: only citations and allowed hosts stay links.

A model repeats what documents say, and a document may say `<!channel>` or link to a stranger.
Code keeps every character, except that Slack's own control sequences are broken there too."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from config.slack_ids import PINGED_IN_PROSE

_FENCE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_CONTROL = re.compile(r"<(?=[!@#])")
_PINGS = re.compile(r"(?<![\w.])@(channel|here|everyone|group)\b", re.IGNORECASE)
_USER_ID = re.compile(rf"(?<!\w)@(?={PINGED_IN_PROSE})")
_SLACK_LINK = re.compile(
    r"<((?:[a-z][a-z0-9+.-]*:|//|www\.)[^>|\s]*)(?:\|([^>]*))?>", re.IGNORECASE
)
_IMAGE = re.compile(r"!\[((?:[^\[\]]|\\.)*)\]\(([^()\s]*(?:\([^()]*\)[^()\s]*)*)[^)]*\)")
_LINK = re.compile(
    r"\[((?:[^\[\]\\]|\\.|\[[^\[\]]*\])*)\]\(\s*<?([^()\s<>]*(?:\([^()]*\)[^()\s<>]*)*)>?[^)]*\)"
)
_REFERENCE = re.compile(r"^[ ]{0,3}\[[^\]]+\]:\s*\S+.*$", re.MULTILINE)
_TAG = re.compile(
    r"</?(?:a|abbr|b|big|blockquote|body|button|center|code|dd|div|dl|dt|em|embed|font|form|h[1-6]"
    r"|head|hr|html|i|iframe|img|input|ins|del|kbd|li|link|mark|meta|object|ol|p|pre|q|s|script"
    r"|small|span|strike|strong|style|sub|sup|svg|table|tbody|td|th|thead|tr|tt|u|ul|video)"
    r"(?:\s[^<>]*|/)?>",
    re.IGNORECASE,
)
"""HTML only: `<service-name>` in prose is a placeholder, and stays."""
_BARE = re.compile(
    r"(?<![\w@/`(\[<.-])((?:[a-z][a-z0-9+.-]*://|mailto:|tel:|www\.)[^\s<>`|\])]+"
    r"|(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|app|co|ai|info|biz|xyz|ru|cn|de|uk|link|click|site)"
    r"(?=[/\s.,;:!?)]|$)[^\s<>`|\])]*)",
    re.IGNORECASE,
)
_ZERO_WIDTH = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_BREAK = "\u2060"
"""A word joiner: unseen, and Slack no longer reads what it stands in as a control sequence."""


@dataclass(frozen=True, kw_only=True)
class Links:
    """What an answer may link to."""

    urls: frozenset[str] = frozenset()
    """Exactly these: the answer's citations."""
    hosts: frozenset[str] = frozenset()
    """And anything on these hosts or below them, over https."""

    def allow(self, url: str) -> bool:
        if url in self.urls:
            return True
        try:
            parts = urlsplit(url)
            host = (parts.hostname or "").lower()
        except ValueError:
            return False
        if parts.scheme.lower() not in {"http", "https"} or parts.username is not None:
            return False
        return any(host == known or host.endswith(f".{known}") for known in self.hosts)


def links_to(urls: Collection[str], hosts: Collection[str] = ()) -> Links:
    return Links(
        urls=frozenset(url for url in urls if is_web(url)),
        hosts=frozenset(host.lower().strip(". ") for host in hosts if host.strip(". ")),
    )


def is_web(url: str) -> bool:
    return url.lower().startswith(("https://", "http://"))


def defang(markdown: str, links: Links) -> str:
    """The same words, harmless."""
    parts = _FENCE.split(_ZERO_WIDTH.sub("", markdown))
    return "".join(
        _CONTROL.sub(f"<{_BREAK}", part) if part.startswith("`") else _prose(part, links)
        for part in parts
    )


def _prose(text: str, links: Links) -> str:
    kept: list[str] = []

    def keep(link: str) -> str:
        kept.append(link)
        return f"\x00{len(kept) - 1}\x00"

    text = text.replace("\x00", "")
    text = _REFERENCE.sub("", text)
    text = _IMAGE.sub(lambda m: m[1], text)
    text = _until_stable(text, lambda t: _LINK.sub(lambda m: _link(m, links, keep), t))
    text = _SLACK_LINK.sub(lambda m: _slack_link(m, links, keep), text)
    text = _CONTROL.sub(f"<{_BREAK}", text)
    text = _TAG.sub("", text)
    text = _BARE.sub(lambda m: _bare(m, links, keep), text)
    text = _PINGS.sub(lambda m: f"@{_BREAK}{m[1]}", text)
    text = _USER_ID.sub(f"@{_BREAK}", text)
    return re.sub(r"\x00(\d+)\x00", lambda m: kept[int(m[1])], text)


def _until_stable(text: str, step: Callable[[str], str]) -> str:
    """Links within links come apart from the inside; five levels are more than anyone writes."""
    for _ in range(5):
        after = step(text)
        if after == text:
            break
        text = after
    return text


def _link(match: re.Match[str], links: Links, keep: Callable[[str], str]) -> str:
    label, url = match[1], match[2]
    if label.isdigit() and ":" not in url:
        return f"[{label}] {match[0][len(label) + 2 :]}"  # a citation, then a remark in brackets
    if not links.allow(url):
        return label
    return keep(f"[{_label(label)}]({url})")


def _slack_link(match: re.Match[str], links: Links, keep: Callable[[str], str]) -> str:
    url, label = match[1], match[2] or ""
    if links.allow(url):
        return keep(f"[{_label(label or url)}]({url})")
    return label or f"`{url}`"


def _bare(match: re.Match[str], links: Links, keep: Callable[[str], str]) -> str:
    url = match[1].rstrip(".,;:!?'\"*_")
    rest = match[1][len(url) :]
    return keep(url if links.allow(url) else f"`{url}`") + rest


def _label(text: str) -> str:
    """A label that can't end its own link early, nor show another address than it opens."""
    text = re.sub(r"[\[\]]", "", text).strip()
    return _CONTROL.sub(f"<{_BREAK}", text) or "link"


def unping(text: str) -> str:
    """Words that were read from markdown once more: an entity may have hidden a ping."""
    text = _CONTROL.sub(f"<{_BREAK}", text)
    return _USER_ID.sub(f"@{_BREAK}", _PINGS.sub(lambda m: f"@{_BREAK}{m[1]}", text))


def escape(text: str) -> str:
    """Plain words for a markdown label or a context line: no markup, no links, no pings."""
    text = unping(_ZERO_WIDTH.sub("", text).replace("\n", " "))
    return re.sub(r"([\\`*_~\[\]<>|])", r"\\\1", text)


def mrkdwn(text: str) -> str:
    """Plain words for a mrkdwn text object: Slack's three control characters escaped."""
    text = _ZERO_WIDTH.sub("", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _PINGS.sub(lambda m: f"@{_BREAK}{m[1]}", text)
