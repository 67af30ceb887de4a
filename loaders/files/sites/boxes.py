"""Boxes, tabs and directives of site generators, as block rules of markdown-it.

MkDocs, Docusaurus, VuePress, Pandoc, MyST and RST mark them by a line of their own."""

from __future__ import annotations

import re

from markdown_it.rules_block import StateBlock, fence

from loaders.files.sites.page import (
    OPTION,
    line_of,
    notes_of,
    read_inside,
    read_table,
    write_code,
    write_title,
)
from loaders.files.sites.tags import ADMONITIONS, box_title, holds_code, title_in, titled

_BOX = re.compile(
    r"(?P<sign>!!!|\?\?\?\+?|===[!+]?)(?P<space>[ \t]*+)(?P<type>[\w-]+(?:[ \t]+[\w-]+)*)?[ \t]*+"
    r"(?:\"(?P<title>.*)\"|'(?P<other>.*)')?[ \t]*$"
)
_RST = re.compile(r"\.\.[ \t]+(?P<name>[\w:+-]+)::[ \t]*(?P<argument>.*)$")
_COLONS = re.compile(
    r"(?P<colons>:{2,})[ \t]*(?:\{(?P<directive>[\w:+-]+)\}|(?P<name>[A-Za-z][\w-]*))?(?P<rest>.*)$"
)
_SLASHES = re.compile(r"/{3,}[ \t]*(?:(?P<name>[\w-]+)[ \t]*(?:\|[ \t]*(?P<title>.*))?)?$")
_BRACKETED = re.compile(r"\[(?P<title>[^\]]*)\](?P<rest>.*)$")
_ATTRIBUTE = re.compile(r"[\w-]+=")
_DIRECTIVE = re.compile(r"\{(?P<name>[A-Za-z][\w:+-]*)[^{}]*\}[ \t]*(?P<argument>.*)$")
_ENDS = (".", "!", "?")
_TABLES = ("list-table", "csv-table", "table")
_ITEM = re.compile(r"[-*+][ \t]+[-*+](?:[ \t]|$)")
"""A row of `list-table`: a list in a list."""


def indented_box(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Boxes and tabs of MkDocs, directives of RST: a line, and what is indented below it."""
    line = line_of(state, start)
    box, rst = _BOX.match(line), _RST.match(line)
    if not box and not rst:
        return False
    last = first = start + 1
    while last < end and (state.isEmpty(last) or state.sCount[last] > state.sCount[start] + 1):
        last += 1
    has_content = any(not state.isEmpty(line) for line in range(first, last))
    if rst:
        if not has_content and not rst["argument"]:
            return False
        title = titled(rst["name"], rst["argument"]) or box_title(rst["name"])
    elif box:
        title, kind = box["title"] or box["other"] or "", box["type"] or ""
        is_untitled = box["title"] is None and box["other"] is None
        if not box["space"] and (box["sign"][0] == "=" or not has_content):
            return False
        if is_untitled and (not kind or box["sign"][0] == "=" or (" " in kind and not has_content)):
            return False
        title = kind.split()[0].replace("-", " ").capitalize() if is_untitled else title
    if silent:
        return True
    if rst and holds_code(rst["name"]):
        write_code(state, first, last, rst["argument"])
    else:
        while (
            first < last and rst and (state.isEmpty(first) or OPTION.match(line_of(state, first)))
        ):
            first += 1
        if rst and first < last and _ITEM.match(line_of(state, first)):
            write_title(state, start, title)
            read_table(state, first, last)
        else:
            read_inside(state, first, last, title)
    state.line = last
    return True


def fenced_box(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Boxes between lines of colons or slashes (Docusaurus, VuePress, Pandoc, MyST, MkDocs)."""
    line = line_of(state, start)
    colons, slashes = _COLONS.match(line), _SLASHES.match(line)
    name, title, is_component = "", "", False
    if slashes:
        name = slashes["name"] or ""
        title = slashes["title"] or box_title(name)
    elif colons:
        name = colons["directive"] or colons["name"] or ""
        rest, is_leaf = colons["rest"].strip(), len(colons["colons"]) == 2
        is_component = notes_of(state).has_components and not rest
        if is_leaf and not is_component and (not name or rest[:1] not in ("[", "{")):
            return False
        if not name and rest and rest[0] != "{":
            return False
        bracketed = _BRACKETED.match(rest)
        title = bracketed["title"].strip() if bracketed else ""
        if (not title and rest[:1] in ("{", "[")) or _ATTRIBUTE.match(rest):
            title = title_in((bracketed["rest"] if bracketed else rest).strip(" {}"), name)
        else:
            title = titled(name, title or re.sub(r"[ \t]:*$", "", rest)) or box_title(name)
    else:
        return False
    if silent:
        return True
    state.line = start + 1
    if colons and is_component and name:
        title = _take_properties(state, end, name) or title
    is_myst = bool(colons and colons["directive"])
    while is_myst and state.line < end and OPTION.match(line_of(state, state.line)):
        state.line += 1
    sign = line[0] * 3
    if name and (holds_code(name) or name in _TABLES):
        last = next((n for n in range(state.line, end) if line_of(state, n).startswith(sign)), end)
        if name in _TABLES:
            return _table_in_box(state, start, last, title)
        lines = "\n".join(line_of(state, number) for number in range(state.line, last))
        if "```" not in lines and "~~~" not in lines:
            write_code(state, state.line, last, title)
            state.line = min(last + 1, end)
            return True
    write_title(state, start, title)
    return True


def _table_in_box(state: StateBlock, start: int, last: int, title: str) -> bool:
    """The body of `:::{list-table}`, up to its last line; other rules read what is no list."""
    write_title(state, start, title)
    while state.line < last and state.isEmpty(state.line):
        state.line += 1
    if state.line < last and _ITEM.match(line_of(state, state.line)):
        read_table(state, state.line, last)
        state.line = last
    return True


def _take_properties(state: StateBlock, end: int, name: str) -> str:
    """Passes over the YAML at the start of a component of Nuxt Content. Returns its title."""
    first = state.line
    if first >= end or line_of(state, first).rstrip() != "---":
        return ""
    last = next((n for n in range(first + 1, end) if line_of(state, n).rstrip() == "---"), first)
    values = (line_of(state, number).partition(": ") for number in range(first + 1, last))
    state.line = last + 1 if last > first else first
    words = " ".join(f'{key}="{value.strip(chr(34))}"' for key, _, value in values if value)
    return title_in(words, name)


def named_tab(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`@tab Linux` of VuePress."""
    match = re.match(r"@tab(?::\w+)?[ \t]+(?P<title>[^#\n]+)", line_of(state, start))
    if not match:
        return False
    if not silent:
        write_title(state, start, match["title"].strip())
        state.line = start + 1
    return True


def titled_fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Code blocks with a title, and MyST's directives, which look like them."""
    if not fence(state, start, end, silent):
        return False
    if silent:
        return True
    token, behind = state.tokens[-1], state.line
    closing = line_of(state, behind - 1).strip()
    is_closed = behind - 1 > start and closing.startswith(token.markup[:3])
    if not is_closed and behind >= len(state.bMarks) - 1:
        notes_of(state).warn("a code block is never closed", start)
    info = token.info.strip()
    if directive := _DIRECTIVE.match(info):
        state.tokens.pop()
        last = behind - 1 if is_closed else behind
        _directive(state, directive["name"], directive["argument"], start + 1, last)
        state.line = behind
    elif title := _fence_title(info, is_named=state.env.get("names_code", False)):
        state.tokens.pop()
        write_title(state, start, title)
        state.tokens.append(token)
    return True


def _fence_title(info: str, *, is_named: bool) -> str:
    """The title in what follows a code block's language, e.g. `sh title="Linux"`, `sh [npm]`.

    `is_named`: it is the name of a tab, as in Mintlify's `<CodeGroup>`."""
    _, _, rest = info.replace("[", " [", 1).partition(" ")
    if not rest:
        return ""
    if bracketed := _BRACKETED.match(rest.strip()):
        return bracketed["title"]
    named = " ".join(
        re.findall(r"(?:title|label|name|filename|caption)\s*=\s*(?:\"[^\"]*\"|'[^']*'|\S+)", rest)
    )
    if named:
        return title_in(named)
    name = r"\w[\w .+-]*" if is_named else r"[^\W\d_a-z][\w .+-]*"
    return rest.strip() if re.fullmatch(name, rest.strip()) else ""


def _names_a_box(argument: str) -> bool:
    """True for a title; False for a language or a file."""
    return bool(re.match(r"[^\W\d_a-z][^\s./]*(?:\s|$)", argument))


def _is_sentence(line: str) -> bool:
    words = line.split()
    return len(words) > 2 and words[0][0].isalpha() and words[-1].rstrip("\"')*_`")[-1:] in _ENDS


def _directive(state: StateBlock, name: str, argument: str, first: int, last: int) -> None:
    lines = [line_of(state, number) for number in range(first, last)]
    options = []
    while lines and (option := OPTION.match(lines[0])):
        if option["key"] != "name":  # a target of links
            options.append(f'{option["key"]}="{option["value"] or ""}"')
        del lines[0]
    body = "\n".join(lines)
    if name in _TABLES and lines and _ITEM.match(body.lstrip()):
        write_title(state, first - 1, argument)
        read_table(state, last - len(lines), last)
        return
    is_prose = name in ADMONITIONS or body.lstrip()[:4] in ("```{", "````", ":::{")
    is_prose = is_prose or (_names_a_box(argument) and name not in _TABLES)
    if holds_code(name) or not (is_prose or any(map(_is_sentence, lines))):
        if _names_a_box(argument):
            write_title(state, first - 1, argument)
            argument = ""
        if not body.strip() and "include" in name:
            notes_of(state).filled_in(f"{{{name}}} {argument}"[:100], first - 1)
        if body.strip():
            language = argument.split()[0] if argument.strip() else name
            write_code(state, last - len(lines), last, language if language.isalnum() else "")
        return
    title = titled(name, argument)
    title = title if not re.search(r"[/.]\w+$", argument) or title != argument else ""
    read_inside(
        state,
        last - len(lines),
        last,
        title or title_in(" ".join(options), name) or box_title(name),
    )
