"""Slack's two markups as safe HTML: every character of a message is escaped before it is a tag."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from playground.page.emoji import with_emoji
from playground.slack.wire_text import unescape
from playground.slack.workspace import Workspace

_FENCE = re.compile(r"```\n?(.*?)\n?```", re.S)
_ATOM = re.compile(r"`([^`\n]+)`|<([^<>\n]+)>")
_EMPHASIS = (
    (re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])"), "strong"),
    (re.compile(r"(?<![\w_])_(?=\S)([^_\n]+?)(?<=\S)_(?![\w_])"), "em"),
    (re.compile(r"(?<![\w~])~(?=\S)([^~\n]+?)(?<=\S)~(?![\w~])"), "s"),
)
_HOLE = re.compile("\ue000(\\d+)\ue001")
_REFERENCE = re.compile(r"<([@#!][^<>\n]{1,80})>")
_CITATION = re.compile(r"\[?(\d{1,2})\]?")
_MARK = re.compile(r"\[(\d{1,2})\]")
_QUOTES = ("&gt;", ">")
_LOOSE = re.compile(r"(https?://[^\s<>]+[^\s<>.,;:!?)\]'\"])|\[(\d{1,2})\]")


class Markup:
    """Renders for one workspace, whose people and channels mentions name."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._markdown = MarkdownIt("commonmark", {"html": False, "breaks": True})
        self._markdown.enable(["table", "strikethrough"])
        self._markdown.validateLink = _safe_link  # type: ignore[method-assign]  # its own hook
        self._markdown.inline.ruler.before("autolink", "slack_reference", self._reference_rule)
        self._markdown.core.ruler.push("slack_loose_text", _loose_text)
        rules: dict[str, Callable[..., str]] = self._markdown.renderer.rules  # type: ignore[attr-defined]
        rules["link_open"] = _render_link_open
        rules["image"] = _render_image
        rules["table_open"] = lambda *_: f"{TABLE_OPEN}<table>"
        rules["table_close"] = lambda *_: "</table></div>"

    def markdown(self, text: str) -> str:
        """The text of a `markdown` block or a stream."""
        return str(self._markdown.render(text))

    def mrkdwn(self, text: str) -> str:
        """The text of a message or a `mrkdwn` object, escaped as on the wire."""
        text = text.replace("\ue000", "").replace("\ue001", "")
        pieces: list[str] = []
        for number, part in enumerate(_FENCE.split(text)):
            if number % 2:
                pieces.append(f"<pre><code>{_clean(part)}</code></pre>")
            elif part:
                pieces.append(self._lines(part.strip("\n") if number else part.rstrip("\n")))
        return "".join(pieces)

    def plain(self, text: str) -> str:
        """What its author would type: names instead of ids, bare addresses."""

        def name(match: re.Match[str]) -> str:
            inside = match[2]
            if not inside or inside[0] not in "@#!":
                return unescape((inside or match[0]).partition("|")[0])
            return unescape(re.sub(r"<[^>]+>", "", self.reference(inside)))

        return unescape(_ATOM.sub(name, text))

    def reference(self, inside: str) -> str:
        """`@U…`, `#C…`, `!here`, `!subteam^S…` or a link, without its angle brackets."""
        target, _, label = inside.partition("|")
        if target.startswith("@"):
            person = self.workspace.people.get(target[1:])
            return mention(f"@{person.name if person else target[1:]}", "user", target[1:])
        if target.startswith("#"):
            channel = self.workspace.channels.get(target[1:])
            return mention(f"#{channel.name if channel else target[1:]}", "channel", target[1:])
        if target.startswith("!subteam^"):
            group = self.workspace.groups.get(target.removeprefix("!subteam^"))
            return mention(f"@{group.handle if group else 'group'}", "group", "")
        if target.startswith("!date^"):
            return _clean(label)
        if target.startswith("!"):
            return mention(f"@{target[1:]}", "broadcast", "")
        return link(unescape(target), unescape(label) or unescape(target))

    def _lines(self, text: str) -> str:
        blocks: list[str] = []
        quoted: list[str] = []
        plain: list[str] = []

        def flush() -> None:
            if quoted:
                blocks.append(f"<blockquote>{self._inline(quoted)}</blockquote>")
            if plain:
                blocks.append(f"<p>{self._inline(plain)}</p>")
            quoted.clear()
            plain.clear()

        for line in text.split("\n"):
            is_quote = line.startswith(_QUOTES)
            if (plain if is_quote else quoted) or (not line.strip() and plain):
                flush()
            if is_quote:
                quoted.append(line.removeprefix("&gt;").removeprefix(">").strip())
            elif line.strip():
                plain.append(line)
        flush()
        return "".join(blocks)

    def _inline(self, lines: list[str]) -> str:
        atoms: list[str] = []

        def take(match: re.Match[str]) -> str:
            code, inside = match.groups()
            atoms.append(f"<code>{_clean(code)}</code>" if code else self.reference(inside))
            return f"\ue000{len(atoms) - 1}\ue001"

        text = _clean(with_emoji(_ATOM.sub(take, "\n".join(lines))))
        for pattern, tag in _EMPHASIS:
            text = pattern.sub(rf"<{tag}>\1</{tag}>", text)
        return _HOLE.sub(lambda hole: atoms[int(hole[1])], marked(text).replace("\n", "<br>"))

    def _reference_rule(self, state: StateInline, silent: bool) -> bool:
        match = _REFERENCE.match(state.src, state.pos)
        if match is None:
            return False
        if not silent:
            state.push("html_inline", "", 0).content = self.reference(match[1])
        state.pos = match.end()
        return True


NEW_TAB = 'target="_blank" rel="noopener noreferrer"'
TABLE_OPEN = '<div class="table" role="region" aria-label="Table" tabindex="0">'


def mention(text: str, kind: str, target: str) -> str:
    data = f' data-{kind}="{escape(target)}"' if target else ""
    return f'<span class="mention {kind}"{data}>{escape(text)}</span>'


def marked(html: str) -> str:
    """`[1]` as a citation mark, as in markdown."""
    return _MARK.sub(r'<span class="cite">\1</span>', html)


def link(url: str, label: str) -> str:
    """An anchor that opens in a new tab; only its label when the scheme is not a web one."""
    if not _safe_link(url):
        return escape(label)
    shown = _CITATION.fullmatch(label)
    text, kind = (shown[1], ' class="cite"') if shown else (label, "")
    return f'<a{kind} href="{escape(url)}" {NEW_TAB}>{escape(text)}</a>'


def _safe_link(url: str) -> bool:
    try:
        return urlsplit(url.strip()).scheme in ("http", "https", "mailto")
    except ValueError:
        return False


def _clean(wire: str) -> str:
    return escape(unescape(wire))


def _loose_text(state: StateCore) -> None:
    """Bare addresses become links, `[1]` becomes a citation mark, `:names:` become emoji."""
    for block in state.tokens:
        if block.type != "inline" or block.children is None:
            continue
        children: list[Token] = []
        depth = 0
        for token in block.children:
            depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
            if token.type == "text":
                token.content = with_emoji(token.content)
            if token.type == "text" and not depth:
                children += _split(token)
            else:
                children.append(token)
        block.children = children


def _split(token: Token) -> list[Token]:
    pieces: list[Token] = []
    position = 0

    def add(kind: str, content: str) -> None:
        if content:
            pieces.append(Token(kind, "", 0, content=content))

    for match in _LOOSE.finditer(token.content):
        add("text", token.content[position : match.start()])
        url, number = match.groups()
        html = link(url, url) if url else f'<span class="cite">{number}</span>'
        add("html_inline", html)
        position = match.end()
    add("text", token.content[position:])
    return pieces


def _render_link_open(tokens: list[Token], place: int, *_: Any) -> str:
    label, end = tokens[place + 1], tokens[min(place + 2, len(tokens) - 1)]
    cite = ""
    alone = label.type == "text" and end.type == "link_close"
    if alone and (shown := _CITATION.fullmatch(label.content)):
        label.content, cite = shown[1], ' class="cite"'
    url = escape(str(tokens[place].attrs.get("href", "")))
    title = tokens[place].attrs.get("title")
    hint = f' title="{escape(str(title))}"' if title else ""
    return f'<a{cite} href="{url}"{hint} {NEW_TAB}>'


def _render_image(tokens: list[Token], place: int, *_: Any) -> str:
    """A link: the page loads nothing from outside."""
    token = tokens[place]
    return link(str(token.attrs.get("src", "")), token.content or "image")
