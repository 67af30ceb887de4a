"""Tags of site generators: Hugo's `{{< x >}}`, Liquid's `{% x %}` and MDX's `<X>`.

A tag is read by its form, because every site has tags of its own: a tag with an end encloses text,
and what its arguments say in words is text too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from loaders.document import MAX_MARKUP_NESTING

Form = Literal["hugo", "liquid", "mdx"]
_LONGEST = 4_000
"""Characters of one tag."""
_NEXT = r"(?!\{\{?[<%])"
"""Where no other tag begins: a tag that never ends is not searched for its end over and over."""
_QUOTED = rf"\"(?:{_NEXT}[^\"\\]|\\.)*+\"|'(?:{_NEXT}[^'\\]|\\.)*+'|`(?:{_NEXT}[^`])*+`"
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"
_TAGS: tuple[tuple[str, Form, re.Pattern[str]], ...] = (
    (
        "{{",
        "hugo",
        re.compile(
            rf"\{{\{{(?P<sign>[<%])[\s-]*(?P<closes>/?)\s*(?P<name>\w[\w./:-]*)"
            rf"(?P<arguments>(?:{_QUOTED}|(?!/?\s*-?(?P=sign)?[>%]\}}\}}){_NEXT}[^\"`])*+)"
            r"(?P<alone>/?)\s*-?[>%]\}\}"
        ),
    ),
    (
        "{%",
        "liquid",
        re.compile(
            r"\{%[-\s]*(?P<closes>/|end(?=[\w-]+\s*-?%\}))?\s*(?P<name>[A-Za-z][\w-]*)"
            rf"(?P<arguments>(?:{_QUOTED}|(?!/?\s*-?%\}}){_NEXT}[^\"])*+)(?P<alone>/?)\s*-?%\}}"
        ),
    ),
    (
        "<",
        "mdx",
        re.compile(
            r"<(?P<closes>/?)(?P<name>[A-Z][\w.]*|[a-z]\w*(?:-\w+)+|(?=>))"
            rf"(?P<arguments>(?:\s+(?:[\w:@.-]+(?:\s*=\s*(?:{_QUOTED}|{_BRACES}|"
            rf"[^\s\"'{{}}<>=`/]+))?|{_BRACES}))*+)\s*(?P<alone>/?)>"
        ),
    ),
)
_ARGUMENT = re.compile(
    rf"(?:(?P<key>[\w:@.-]+)\s*=\s*)?(?P<value>{_QUOTED}|{_BRACES}|\[[^\[\]]*\]|[^\s\"'`{{}}\[\]=]+)"
)
_HTML_TAGS_LISTED = """
    a abbr address article aside b big blockquote br caption center cite code col colgroup dd del
    details dfn div dl dt em figcaption figure footer font h1 h2 h3 h4 h5 h6 header hr i iframe img
    input ins kbd li main mark nav ol p pre q s samp script section small span strike strong style
    sub summary sup svg table tbody td tfoot th thead tr tt u ul var video wbr"""
HTML_TAGS = frozenset(_HTML_TAGS_LISTED.split())
_WORDS_IN = (
    "title", "label", "header", "heading", "summary", "caption", "name", "tab", "text", "content",
    "message", "description", "alt",
)  # fmt: skip
"""Attributes whose values are shown to readers, in HTML, in components and in shortcodes."""
_DRESS_LISTED = """
    align class classname color colour height href icon id key lang link rel role size sizes src
    srcset style target to type url variant width"""
_DRESS = frozenset(_DRESS_LISTED.split())
"""Attributes that say how something looks or where it is."""
_SENTENCE = re.compile(r"[^\W_a-z]\S*\s+\S")
_NO_WORDS = re.compile(
    r"(?:true|false|null|[\d.,%-]+(?:px|em|rem)?|\S*[/\\#=]\S*|[\W_]*)\Z", re.IGNORECASE
)
_FILE = re.compile(r"\S+\.\w{1,8}\Z")
_ADMONITIONS_LISTED = """
    abstract attention bug caution check danger error example failure hint important info note
    question quote seealso success summary tip todo warning"""
ADMONITIONS = frozenset(_ADMONITIONS_LISTED.split())
"""Names of boxes in docutils, MkDocs and GitHub, which a site shows as their titles."""
_CONTROL_LISTED = """
    assign break capture case continue else elseif elsif elif for if ifversion import macro set
    unless when with"""
CONTROL = frozenset(_CONTROL_LISTED.split())
"""Statements of Liquid and Jinja. In a sentence they are what the page is about."""
_SAYS_CODE = re.compile(
    r"code|highlight|literal|verbatim|mermaid|math|plantuml|graphviz|diagram|console|doctest|^raw$"
)


@dataclass(frozen=True, kw_only=True)
class SiteTag:
    form: Form
    name: str
    arguments: str
    closes: bool
    alone: bool
    """Whether its own sign says that it encloses nothing."""
    end: int
    """The position behind it."""

    @property
    def holds_code(self) -> bool:
        return holds_code(self.name)

    @property
    def target(self) -> str:
        """The page that it leads to, where it stands for an address."""
        return next((value for _, value, _ in _arguments(self.arguments)), "")

    @property
    def stand_in(self) -> str:
        """What stands for it in a sentence when it has no words: a named value, else the first."""
        values = _arguments(self.arguments)
        named = (value for key, value, _ in values if key and key.lower() not in _DRESS)
        return next(named, "") or self.target


def holds_code(name: str) -> bool:
    return bool(_SAYS_CODE.search(name.lower()))


def read_tag(text: str, position: int) -> SiteTag | None:
    for start, form, pattern in _TAGS:
        if text.startswith(start, position):
            match = pattern.match(text, position, position + _LONGEST)
            is_html = match and match["name"].isupper() and match["name"].lower() in HTML_TAGS
            if match and not is_html:
                return SiteTag(
                    form=form,
                    name=match["name"],
                    arguments=match["arguments"].strip(),
                    closes=bool(match["closes"]),
                    alone=bool(match["alone"]),
                    end=match.end(),
                )
    return None


def title_in(arguments: str, name: str = "", *, encloses: bool = True) -> str:
    """What the arguments say in words: a title, else the kind of box, else a plain name.

    `encloses`: a file's name may be a title too, such as Node.js; otherwise it is what a site
    puts here."""
    values = list(_arguments(arguments))
    named = {key.lower(): value for key, value, _ in reversed(values) if key}
    words = [named[key] for key in _WORDS_IN if re.search(r"\w", named.get(key, ""))]
    for key, value, is_quoted in values:
        is_text = _SENTENCE.match(value) if key else is_quoted and _is_name(value, encloses)
        if is_text and key.lower() not in _DRESS:
            words.append(value)
    words = list(dict.fromkeys(words))
    if words:
        text = ". ".join(word for word in words if not any(word in o for o in words if o != word))
        return (
            f"{text} ({', '.join(_type(values))})" if "name" in named and "type" in named else text
        )
    if box := box_title(*(value for _, value, _ in values), name):
        return box
    names = [
        (key, value)
        for key, value, _ in values
        if key.lower() not in _DRESS and _is_name(value, encloses)
    ]
    if not names:
        return ""
    if encloses and not names[0][0]:  # `{% tab GROUP LABEL %}`
        return " ".join(dict.fromkeys(value for key, value in names if not key))
    is_parameter = "type" in named and "default" in named
    return f"{names[0][1]} ({', '.join(_type(values))})" if is_parameter else names[0][1]


def _type(values: list[tuple[str, str, bool]]) -> Iterator[str]:
    """Of an attribute that is described: its type, its default, and words such as `required`."""
    yield from (value for key, value, _ in values if key == "type")
    yield from (f"default {value}" for key, value, _ in values if key == "default")
    yield from (value for key, value, is_quoted in values if not key and not is_quoted)


def _is_name(value: str, encloses: bool) -> bool:
    return not _NO_WORDS.match(value) and (encloses or not _FILE.match(value))


def box_title(*names: str) -> str:
    """The title that a site gives to a box without one, e.g. *Warning*."""
    for name in names:
        for part in re.split(r"[^a-z]+", name.lower()):
            if part in ADMONITIONS:
                return part.capitalize()
    return ""


def titled(name: str, title: str) -> str:
    """A box's title. A version, as in `deprecated 1.2`, says nothing without the box's name."""
    return f"{name} {title}".capitalize() if re.fullmatch(r"v?[\d.]+", title) else title


def _arguments(arguments: str) -> Iterator[tuple[str, str, bool]]:
    """Yields name (or ''), value, and whether it was quoted, of each argument."""
    for match in _ARGUMENT.finditer(arguments):
        value = match["value"]
        if value[0] == "{":
            value = value[1:-1].strip()
            if value[:1] not in ("'", '"', "`"):
                continue  # an expression
        quoted = value[0] in "\"'`"
        value = value[1:-1] if quoted else value.strip("[],")
        yield match["key"] or "", " ".join(value.split()), quoted


@dataclass
class Pairs:
    """Which tags of a page enclose text."""

    names: set[tuple[Form, str]] = field(default_factory=set)
    ends: dict[int, int] = field(default_factory=dict)
    """Position of an opening tag → position of its closing one."""

    def is_markup(self, tag: SiteTag) -> bool:
        """False for a placeholder such as `<Cluster>`, which nothing closes."""
        return tag.form != "mdx" or tag.alone or (tag.form, tag.name) in self.names


_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?P<fence>`{3,}|~{3,})(?P<rest>.*)")
CODE_SPAN = re.compile(r"(?<!`)(`+)[^`]+\1(?!`)")
TAG_START = re.compile(r"\{\{[<%]|\{%|</?(?=[A-Z>]|[a-z]\w*-)")
_MOST_OPEN = MAX_MARKUP_NESTING


def find_pairs(text: str) -> Pairs:
    pairs = Pairs()
    if not TAG_START.search(text):
        return pairs
    waiting: list[tuple[SiteTag, int]] = []
    fence, at, last = "", 0, 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        match = _FENCE.match(line)
        if match and (not fence or match["fence"].startswith(fence)):
            if not fence and "`" not in match["rest"]:
                fence = match["fence"]
            elif fence and not match["rest"].strip():
                fence = ""
            continue
        if fence or not TAG_START.search(line):
            continue
        plain = CODE_SPAN.sub(lambda span: " " * len(span[0]), line)
        for begin in TAG_START.finditer(plain):
            place = start + begin.start()
            tag = read_tag(text, place) if place >= last else None
            if tag is None:
                continue
            last = tag.end
            if not tag.closes and not tag.alone:
                waiting.append((tag, place))
                del waiting[:-_MOST_OPEN]
            elif tag.closes:
                _close(pairs, waiting, tag, place)
    return pairs


def _close(pairs: Pairs, waiting: list[tuple[SiteTag, int]], tag: SiteTag, place: int) -> None:
    for index in range(len(waiting) - 1, -1, -1):
        opener, start = waiting[index]
        if (opener.form, opener.name) == (tag.form, tag.name):
            pairs.names.add((tag.form, tag.name))
            pairs.ends[start] = place
            del waiting[index:]
            return
