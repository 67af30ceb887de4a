"""Hostile text, made and written by hand, and a strict judge of what Slack could make of it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from publicsuffixlist import PublicSuffixList

URL = "https://evil.example/form"

REVIEWED = (
    f"an unmatched ` tick {URL} and on",
    f"({URL})",
    f"[{URL}]",
    f"see <{URL}",
    f".{URL}",
    f"/{URL}",
    f"[ {URL} ]",
    f"\\`{URL}\\`",
    f"\\` {URL} `",
    "[[[[[[[deep](https://evil.example)](https://evil.example)](https://evil.example)]"
    "(https://evil.example)](https://evil.example)](https://evil.example)](https://evil.example)",
    "[x](https://evil.example\\@docs.google.com/)",
    "[x](https://docs.google.com\\.evil.example/)",
)
"""What got past the patterns that stood here before the tree."""

BY_HAND = (
    *REVIEWED,
    # addresses in odd company
    f"x{URL}", f"é{URL}", f"_{URL}_", f"**{URL}**", f"~~{URL}~~", f'"{URL}"', f"'{URL}'",
    f"@{URL}", f"-{URL}", f"#{URL}", f"1{URL}", f"{{{URL}}}", f"、{URL}", f"見{URL}見",
    f"word,{URL},word", f"{URL}{URL}", f"`a`{URL}`b`", f"``{URL}`", f"`{URL}``",
    f"```{URL}", f"```\ncode\n{URL}", f"~~~\n{URL}\n~~~\n{URL}", f"```\na\n```{URL}",
    f"    {URL}\n{URL}", f"# {URL}", f"{URL}\n===", f"> > > {URL}", f"- 1. > {URL}",
    f"| a | b |\n|---|---|\n| {URL} | [x]({URL}) |", f"| {URL} |\n|---|\n| `a | {URL} |",
    f"text\n: {URL}", f"[^1]\n\n[^1]: {URL}", f"[a]: {URL}\n\n[a]", f"[a]: {URL} 'x'\n\n![a]",
    f"[a]\n\n[A]: <{URL}>", f"[x][]\n\n[x]: {URL}", f"> [a]: {URL}\n\n[a]",
    # schemes
    "[x](JaVaScRiPt:alert(1))", "[x](java\tscript:alert(1))", "[x](<java\nscript:alert(1)>)",
    "[x](&#106;avascript:alert(1))", "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)", "[x](slack://channel?id=C1&team=T1)", "[x](tel:+123)", "tel:+4930123456",
    "[x](mailto:a@evil.example)", "mailto:a@evil.example", "<mailto:a@evil.example>",
    "<a@evil.com>", "write to someone@evil.com now", "SLACK://open", "ftp://evil.example/x",
    "file:///etc/passwd", "hTtPs://evil.example", "https:evil.com", "https:/evil.com",
    "https:\\\\evil.com", "http:///evil.com", "//evil.com/x", "[x](//evil.example)",
    "[x](\\\\evil.example)", "[x](/\\evil.example)", "www.evil.example", "WWW.evil.com",
    "[x](ht\ntps://evil.example)", "[x](https&colon;//evil.example)", "https&colon;//evil.example",
    "https&#58;//evil.example", "https:&#47;&#47;evil.example", "https:/\\/evil.example",
    "https\\://evil.example", "h\\ttps://evil.example", "https:&sol;&sol;evil.example",
    # hosts that only look allowed
    "[x](https://docs.google.com@evil.example/)", "[x](https://docs.google.com:x@evil.example/)",
    "[x](https://docs.google.com%2eevil.example/)", "[x](https://docs.google.com%00.evil.example)",
    "[x](https://wiki.tidewater.example%2f@evil.example/)", "[x](https://evil.example#@wiki)",
    "[x](https://wiki.tidewater.example.evil.example/)", "[x](https://wiki。evil。example/)",
    "[x](https://wiki.tidewater.example\uff0fevil.example/)",
    "[x](https://ⓦiki.tidewater.example/)",
    "[x](https://wiki.tidewater.example\u3002evil.com/)", "[x](https://wiki.tidewater.example\t/x)",
    "[x](https://wiki.tidewater.example\\@evil.example)", "[x](https:\\\\wiki.tidewater.example/)",
    "[x](https://w%69ki.tidewater.example/)", "[x](https://wiki.tidewater.example:80:80/)",
    "[x](https://[::1]/)", "[x](https://wiki.tidewater.example:99999/)", "[x](https:///wiki/)",
    "[x](https://user@wiki.tidewater.example/)", "[x](https://wiki.tidewater.example:@evil.com)",
    "[x](https://xn--wki-2ya.tidewater.example.evil.com/)", "[x](http://0x7f.1/)",
    "[x](https://wiki.tidewater.exаmple/)", "[x](https://-wiki.tidewater.example./)",
    "https://wiki.tidewater.example/a,https://evil.example/b",
    "https://wiki.tidewater.example/a\\@evil.com",
    # bare domains
    "evil.com", "Evil.COM/login", "(evil.com)", "[evil.com]", "/evil.com", ".evil.com", "-evil.com",
    "evil.com.", "evil.com,", "evil.co.uk", "evil.museum", "evil.рф", "例え.com", "evil.中国",
    "evil。com", "evil．com", "ｅｖｉｌ.ｃｏｍ", "evil\u200b.com", "evil\u2060.com",
    "e\u00advil.com",
    "evil.xn--p1ai", "a.b.evil.io/x?y=z", "evil.zip", "evil.mov", "evil.sh/x", "evil<b></b>.com",
    "evil[.com](x)", "[evil](x).com", "![evil](x).com", "evil&period;com", "evil&#46;com",
    "evil\\.com", "evil<!-- -->.com", "**evil**.com", "`x`.evil.com", "_evil.com_", "x@evil.com",
    # Slack's own syntax
    "<!channel>", "<!here>", "<!everyone>", "<!here|here>", "<!subteam^S0123456>",
    "<!subteam^S0123456|@sec>", "<@U0123456789>", "<@U0123456789|dana>", "<#C0123456789>",
    "<#C0123456789|general>", "<!date^1392734382^Posted {date_num}^https://evil.example|x>",
    f"<{URL}|the form>", f"<{URL}|>", "<//evil.example|x>", "<www.evil.com|x>", "<evil.com|x>",
    f"<{URL}|[x]({URL})>", f"<{URL}|<!channel>>", f"< {URL}|x>", f"<{URL} |x>", f"<{URL}|a\nb>",
    "<slack://open|x>", "<tel:123|call>", "<javascript:alert(1)|x>",
    "&lt;!channel&gt;", "&#60;!channel>", "&#x3c;!channel&#x3e;", "\\<!channel>", "<\\!channel>",
    "&amp;lt;!channel&amp;gt;", "&LT;!channel&GT;", "<\u200b!channel>", "<\u2060!channel>",
    "<\u202e!channel>", "<\u2066!channel\u2069>", "`<!channel>`", "```\n<!everyone>\n```",
    "``<@U0123456789>``", "`a <!here>", "<!channel", "<!channel\n>", "<<!channel>>",
    "<b><!here></b>",
    "<<b>!channel>", "<[!channel](x)>", "<**!channel**>", "&lt;@U0123456789&gt;", "<&#33;channel>",
    "<!--<!channel>-->", "<!<!-- -->channel>", "<![CDATA[<!channel>]]>", "<? <!channel> ?>",
    # words that ping
    "@channel", "@here", "@everyone", "@Channel", "@HERE", "(@here)", ".@here", "x@here", "_@here_",
    "**@**here", "@**here**", "@&#104;ere", "&#64;here", "&#x40;channel", "&commat;everyone",
    "@\u200bhere", "@\u200dchannel", "@\u2060here", "@\u00adhere", "＠here", "@ｈｅｒｅ",
    "﹫channel",
    "@\u202ehere", "@h\u2064ere", "@<b></b>here", "@[here](x)", "@U0123456789", "@S0123456789",
    "\\@here", "@\\here", "@`here`",
    # structure against structure
    f"[x]({URL}\n\"title\")", f"[x]( <{URL}> 'a' )", f"[x](\n{URL}\n)", f"[*x*]({URL})",
    f"[![x]({URL})]({URL})", f"![x]({URL} \"y\")", f"![[x]]({URL})", f"[x\\]({URL})",
    f"\\[x]({URL})",
    f"[x]\\({URL})", f"[x]&#40;{URL}&#41;", f"&#91;x&#93;({URL})", f"[x] ({URL})",
    f"[x]\u2060({URL})",
    f"[`x`]({URL})", f"[`x]({URL})`", f"`[x]({URL})", f"*[x*]({URL})", f"[a](b [x]({URL}) c)",
    f"[1]({URL})", "[12](//evil.example)", f"[x](<{URL}>)", f"[x](<{URL}>'y')", f"[]({URL})",
    f"[ ]({URL})", f"[x]({URL}?a=(b))", f"[x]({URL}?a=\\)b)", f"<a href='{URL}'>form</a>",
    f"<A HREF={URL}>form</A>", f"<a\nhref='{URL}'>form</a>", f"<img src={URL}>",
    f"<iframe src={URL}/>",
    f"<svg/onload=fetch('{URL}')>", f"<style>@import '{URL}'</style>", f"<form action={URL}>",
    f"<details><summary>{URL}</summary></details>", f"&lt;a href='{URL}'&gt;x&lt;/a&gt;",
    "<custom-tag href='https://evil.example'>x</custom-tag>", "[x]: https://evil.example",
    f"\\[x]: {URL}\n\n[x]", f"&#91;x]: {URL}\n\n[x]", "\\[x]: /evil\n\n[x]", "# [x]: /evil\n\n[x]",
    "| @here | <!channel> |\n|---|---|\n| &#64;here | &lt;!here&gt; |",
    f"| a\\|{URL} | b |\n|---|---|\n| evil.com | x@evil.com |",
    f"| a |\n|---|\n| [label]({URL}) |\n{URL}", f"* a\n\n      {URL}\n  {URL}",
    f"\u202e{URL}\u202c", f"\ud800{URL}\udfff", f"\x00{URL}\x1b[0m", f"a\x0b{URL}", f"a\x85{URL}",
    f"a\u2028{URL}\u2029", f"\ufeff{URL}", f"a\u00a0{URL}", f"a\u3000{URL}",
    f"[https://docs.google.com]({URL})", f"[docs.google.com](<{URL}>)", f"[x]({URL}) " * 40,
    "`" * 7 + URL + "`" * 6, "\\" * 5 + "`" + URL, f"````\n```\n{URL}\n````\n{URL}",
    f"``` {URL}\ncode\n```", "~~~ <!channel>\ncode\n~~~", f"1. ```\n   {URL}\n2. {URL}",
    f"> ```\n> x\n{URL}", f"- ```\n  x\n{URL}", "a" * 3_000 + URL,
    "word " * 900 + f"`{URL} " + "x`",
)  # fmt: skip

_TARGETS = (
    URL, "HTTPS://EVIL.EXAMPLE", "//evil.example", "evil.com/a", "https://evil.com\\@wiki.x",
    "https://wiki.tidewater.example@evil.com", "<!channel>", "<@U0123456789>", "@here",
    "mailto:a@evil.com", "slack://open", "javascript:alert(1)",
)  # fmt: skip
_SETTINGS = (
    "{}", "[x]({})", "[x](<{}>)", "![x]({})", "<{}>", "<{}|x>", "`{}", "{}`", "\\`{}\\`", "({})",
    "[{}]", "[[[x]({0})]({0})]({0})", "*{}*", "> {}", "- {}", "# {}", "| {} |\n|---|\n| {0} |",
    "```\n{}", "~~~\n{}", "``{}`", "<b>{}</b>", "a\u200b{}", "\u202e{}", "[x]\n\n[x]: {}", "\\{}",
    "`a` {} `", "word.{}", "word/{}", "“{}”",
)  # fmt: skip


def payloads() -> list[str]:
    """Those written by hand, then every target in every setting."""
    return [*BY_HAND, *_made()]


def _made() -> Iterator[str]:
    for setting in _SETTINGS:
        for target in _TARGETS:
            yield setting.replace("{0}", target).replace("{}", target)


_TLD = PublicSuffixList(only_icann=True)
_CONTROL = re.compile(r"<[!@#]")
_CALL = re.compile(r"@(?i:channel|here|everyone)\b|@[UWS][A-Z0-9]{6,}\b")
_SCHEME = re.compile(
    r"[a-z][a-z0-9+.-]{0,20}://|\b(?:mailto|tel|javascript|slack|vbscript):[^\s\u2060]"
    r"|\bhttps?:[^\s\u2060.]|\bwww\.\w",
    re.IGNORECASE,
)
_DOMAIN = re.compile(r"[^\W_]-?[.。．｡]([^\W\d_]{2,}+|xn--[a-z0-9-]+)(?!\d)", re.IGNORECASE)
_FILES = re.compile(r"\w/[\w-]+\.(?:cc|hs|md|mk|ml|pl|py|rs|sh|tf)\b")
_SIMPLE_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_MARKDOWN_LINK = re.compile(r"\]\(\s*<?([^)\s>\u2060]*)(?!\u2060)")
_MRKDWN_LINK = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")


@cache
def _commonmark() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


def in_words(text: str) -> list[str]:
    """What Slack would read out of plain words: addresses and pings."""
    folded = unicodedata.normalize("NFKC", text)
    found = [*_CONTROL.findall(folded), *_CALL.findall(folded), *_SCHEME.findall(folded)]
    for label in _DOMAIN.findall(_FILES.sub("", folded)):
        if _TLD.publicsuffix(f"a.b.{label.lower()}", accept_unknown=False):
            found.append(f".{label}")
    return found


def in_markdown(text: str, allowed: frozenset[str] = frozenset()) -> list[str]:
    """Links, images and pings that CommonMark, or a reader who knows less, finds in markdown."""
    found = list(_CONTROL.findall(text))
    for token in _commonmark().parse(text):
        if token.type not in ("inline", "html_block"):
            continue
        words, inside = "", 0
        for child in token.children or []:
            if child.type in ("link_open", "image"):
                url = str(child.attrs.get("href", child.attrs.get("src", "")))
                found += [] if url in allowed else [url or "empty link"]
            inside += {"link_open": 1, "link_close": -1}.get(child.type, 0)
            if child.type == "html_inline" and re.match(r"</?(?:a|img|iframe)\b", child.content):
                found.append(child.content)
            words += "\0" if child.type == "code_inline" or inside else child.content or " "
        found += in_words(words if token.children else token.content)
    simple = _SIMPLE_CODE.sub("\0", text)
    found += [url for url in _MARKDOWN_LINK.findall(simple) if url not in allowed]
    for url in allowed:
        simple = simple.replace(f"[{url}]({url})", "").replace(f"]({url})", "")
    return found + in_words(simple)


def in_mrkdwn(
    text: str, allowed: frozenset[str] = frozenset(), own: frozenset[str] = frozenset()
) -> list[str]:
    """Links and pings in mrkdwn, but for `allowed` addresses and the bot's `own` mentions."""
    found = []
    for target, label in _MRKDWN_LINK.findall(text):
        known = target.replace("&amp;", "&") in allowed or target in own
        found += [] if known else [target]
        found += _CONTROL.findall(label)
    outside = _MRKDWN_LINK.sub("", _SIMPLE_CODE.sub("\0", text))
    return [*found, *in_words(outside)]


def in_blocks(
    node: Any, allowed: frozenset[str] = frozenset(), own: frozenset[str] = frozenset()
) -> list[str]:
    """The same in all that a reader sees of blocks, views, chunks and text objects."""
    if isinstance(node, list):
        return [one for item in node for one in in_blocks(item, allowed, own)]
    if not isinstance(node, dict):
        return []
    kind, text = node.get("type"), node.get("text")
    if kind in ("markdown", "markdown_text"):
        return in_markdown(text, allowed)
    if kind == "mrkdwn":
        return in_mrkdwn(text, allowed, own) + ([] if node.get("verbatim") else ["not verbatim"])
    if isinstance(text, str) and (node.get("style") or {}) == {"code": True}:
        return _CONTROL.findall(text)
    if kind == "link":
        return [str(node)]
    shown = [value for name, value in node.items() if name in SHOWN and isinstance(value, str)]
    return [one for value in shown for one in in_words(value)] + [
        one for value in node.values() for one in in_blocks(value, allowed, own)
    ]


SHOWN = frozenset(("text", "title", "message", "initial_value", "status", "caption"))
