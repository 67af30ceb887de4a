"""Markup of site generators within a sentence, as rules of markdown-it."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.helpers import parseLinkDestination, parseLinkLabel, parseLinkTitle
from markdown_it.rules_inline import StateInline

from loaders.files.sites.markup import ATTRIBUTES
from loaders.files.sites.page import Notes
from loaders.files.sites.tags import CONTROL, read_tag, title_in

_ATTRIBUTES = re.compile(ATTRIBUTES)
_ROLE = re.compile(r"\{[a-z][\w:+-]*\}(?=`)")
_ROLE_TEXT = re.compile(r"(`+)(?P<text>[^`]+)\1(?!`)")
_COMMENT = re.compile(r"\{/\*(?:(?!\{/\*).){0,4000}?\*/\}", re.DOTALL)
_STRING = re.compile(r"\{\s*(?:\"([^\"{}]*)\"|'([^'{}]*)'|`([^`{}]*)`)\s*\}")
_DIRECTIVE = re.compile(r":[a-z][\w-]*\[(?P<text>[^\[\]\n]*)\]" + ATTRIBUTES)
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")
_WIKI = re.compile(r"!?\[\[(?P<page>[^\s\[\]|][^\[\]|\n]*)(?:\\?\|(?P<name>[^\[\]\n]*))?\]\](?!\()")
_INCLUDE = re.compile(r"\[![\w-]+ ?\[[^\[\]\n]*\]\([^()\n]*\)[^\[\]\n]*\]")
_MARKED = re.compile(
    r"==(?=[^\s=+])(?P<text>.{1,500}?)(?<=[^\s=+])==(?![\w=+])"
    r"|\+\+(?P<keys>[a-z0-9-]+(?:\+[a-z0-9-]+)*+)\+\+(?![\w=+])"
)
_SIZE = re.compile(r"[ \t]+=(?:\d+%?)?x(?:\d+%?)?(?=[ \t]*\))")
_NO_ADDRESS = re.compile(r"<(?!(?:mailto|tel):)[A-Za-z][\w.+-]*:(?!//)[^<>\s]*>", re.IGNORECASE)
_DESTINATION = re.compile(r"\{\{[^{}]*\}\}|\{%[^{}]*%\}")
_QUOTED = re.compile(r"[\"']([^\"']+)[\"']")
_STYLED = frozenset(
    ("link_close", "image", "code_inline", "strong_close", "em_close", "html_inline")
)


def add_inline_markup(parser: MarkdownIt) -> None:
    parser.inline.ruler.before("link", "site_inline", _site_inline)
    parser.helpers = SimpleNamespace(  # type: ignore[assignment]
        parseLinkDestination=_destination,
        parseLinkLabel=parseLinkLabel,
        parseLinkTitle=parseLinkTitle,
    )


def _site_inline(state: StateInline, silent: bool) -> bool:
    match state.src[state.pos]:
        case "{":
            end, text = _braces(state)
        case "<":
            end, text = _tag(state)
        case ":":
            end, text = _directive(state)
        case "[" | "!":
            end, text = _wiki_link(state)
        case "=" | "+":
            return _marked(state, silent)
        case _:
            return False
    if end <= state.pos:
        return False
    if not silent and text:
        state.push("text", "", 0).content = text
    state.pos = end
    return True


def _braces(state: StateInline) -> tuple[int, str]:
    source, position = state.src, state.pos
    if comment := _COMMENT.match(source, position):
        return comment.end(), ""
    if role := _ROLE.match(source, position):
        label = _ROLE_TEXT.match(source, role.end())
        if not label or " " not in label["text"]:
            return role.end(), ""
        return label.end(), re.sub(r"\s*<[^<>]*>\s*$", "", label["text"])
    notes: Notes = state.env["site"]
    if notes.is_mdx and (words := _STRING.match(source, position)):
        return words.end(), words[1] or words[2] or words[3] or ""
    attributes = _ATTRIBUTES.match(source, position)
    if attributes and _is_place_of_attributes(state, attributes.end()):
        return attributes.end(), ""
    return _tag(state)


def _is_place_of_attributes(state: StateInline, end: int) -> bool:
    """Behind a link, picture, code or emphasis; at the end of a line; or with kramdown's colon."""
    if state.src[state.pos + 1] == ":" or _LINE_END.match(state.src, end):
        return True
    return state.pos > 0 and state.src[state.pos - 1] in ")`*_~>"


def _tag(state: StateInline) -> tuple[int, str]:
    if not state.pos and state.src.startswith("<!--") and "-->" not in state.src:
        return 4, ""  # of a comment that is never closed
    if name := _NO_ADDRESS.match(state.src, state.pos):  # `<std::string>`
        return name.end(), name[0]
    tag = read_tag(state.src, state.pos)
    if tag is None or (tag.form == "liquid" and tag.name in CONTROL):
        return 0, ""
    notes: Notes = state.env["site"]
    if (tag.form == "liquid" and tag.closes and tag.name in CONTROL) or not notes.pairs.is_markup(
        tag
    ):
        return 0, ""
    if tag.closes or not tag.name:
        return tag.end, ""
    if not tag.alone and (tag.form, tag.name) in notes.pairs.names:
        title = title_in(tag.arguments, tag.name)
        return tag.end, f"{title}: " if title else ""
    title = title_in(tag.arguments, encloses=False) or tag.stand_in
    return tag.end, title or ("" if tag.form == "mdx" else tag.name)


def _directive(state: StateInline) -> tuple[int, str]:
    """`:badge[Beta]{color="red"}`: its words."""
    match = _DIRECTIVE.match(state.src, state.pos)
    return (match.end(), match["text"]) if match else (0, "")


def _wiki_link(state: StateInline) -> tuple[int, str]:
    if state.pos and state.src[state.pos - 1].isalnum():
        return 0, ""
    notes: Notes = state.env["site"]
    if include := _INCLUDE.match(state.src, state.pos):
        notes.filled_in(include[0][:100], -1)
        return include.end(), ""
    match = _WIKI.match(state.src, state.pos)
    if not match:
        return 0, ""
    name = (match["name"] or match["page"]).strip("\\ ")
    if re.fullmatch(r"\d+(?:x\d+)?", name):  # a picture's size
        name = match["page"].strip("\\ ")
    if match[0][0] == "!":
        notes.filled_in(match[0][:100], -1)
    return match.end(), name


def _marked(state: StateInline, silent: bool) -> bool:
    """`==marked==`, and `++keys+to+press++` of MkDocs."""
    if state.pos and (state.src[state.pos - 1].isalnum() or state.src[state.pos - 1] in "=+"):
        return False
    match = _MARKED.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        words = "text" if match["text"] else "keys"
        end, state.pos, state.posMax = state.posMax, match.start(words), match.end(words)
        state.md.inline.tokenize(state)
        state.posMax = end
    state.pos = match.end()
    return True


def _destination(text: str, position: int, end: int) -> Any:
    """A link's address, in which a site may fill in the page's: `{{< ref "page.md" >}}`."""
    match = _DESTINATION.match(text, position, end)
    if not match:
        address = parseLinkDestination(text, position, end)
        if size := _SIZE.match(text, address.pos, end):  # of a picture, in Azure DevOps
            address.pos = size.end()
        return address
    tag = read_tag(text, position)
    quoted = _QUOTED.search(match[0])
    target = tag.target if tag else quoted[1] if quoted else ""
    rest = _destination(text, match.end(), end)
    rest.str = target + rest.str if rest.ok else target
    rest.pos = rest.pos if rest.ok else match.end()
    rest.ok = True
    return rest
