"""Answers can't ping anybody or link anywhere: only citations and allowed hosts stay links.

A model repeats what documents say, and a document may say `<!channel>` or link to a stranger. So
an answer is read as a tree, and only the nodes named here are written again; of all others their
words remain. See docs/decisions/072-answers-as-trees.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from markdown_it.tree import SyntaxTreeNode

from bot.message.answer_tree import TAG_START, tree_of
from bot.message.harmless_words import (
    BREAK,
    LOOKALIKE,
    WORD,
    broken,
    core,
    is_address,
    unlinked,
    unpinged,
    visible,
)
from bot.message.web_address import Links, host_of, links_to, written
from loaders.inline import code_span, escape

__all__ = ["Links", "defang", "links_to"]

_SIGN = re.compile(r"[^\w\s.,;:!?'\"()/+=-]|_")
_REMARK = re.compile(r"(\[\d{1,3}\])\(")
"""A citation, then a remark in brackets."""
_DEFINITION = re.compile(r"\[[^\]^][^\]]*\](?=:)")
"""What would name an address for a `[label]` elsewhere; a footnote's does not."""
_ENTITY = re.compile(r"&(?=#?\w{1,31};)")
_LINE_SIGN = re.compile(
    r"[ ]*(?=(?:\#{1,6}|[-+*]|\d{1,9}[.)])(?:\s|$)|>|=+\s*$|~{3}|[-|:][-|: ]*$"
    r"|[*_](?:\s*[*_]){2,}\s*$)"
)
"""What would begin a heading, a list, a quote, code, a table or a rule."""
_NUMBER = re.compile(r"\d{1,9}(?=[.)])")
_LANGUAGE = re.compile(r"[\w+#-]{1,20}")


def defang(markdown: str, links: Links) -> str:
    """The same words, harmless. What this returns, it returns again when given it."""
    return _Writer(visible(markdown), links).written()


class _Writer:
    """Writes a tree as markdown: what it has no method for is written as its words."""

    def __init__(self, markdown: str, links: Links) -> None:
        self._root = tree_of(markdown)
        self._lines = markdown.split("\n")
        self._links = links
        self._blocks: dict[str, Callable[[SyntaxTreeNode], str]] = {
            "paragraph": self._paragraph,
            "heading": self._heading,
            "fence": self._code_block,
            "code_block": self._code_block,
            "blockquote": self._quote,
            "bullet_list": self._list,
            "ordered_list": self._list,
            "table": self._table,
            "hr": lambda node: node.markup[:3],
        }

    def written(self) -> str:
        return self._stacked(self._root)

    def _stacked(self, parent: SyntaxTreeNode) -> str:
        """Blocks one under the other, as close as they were."""
        pieces: list[str] = []
        before = ""
        for node in parent.children:
            text = self._blocks.get(node.type, self._stacked)(node)
            if not text and node.type == "paragraph":
                continue
            if pieces:
                pieces.append("\n" if self._close(before, node) else "\n\n")
            pieces.append(text)
            before = node.type
        return "".join(pieces)

    def _close(self, before: str, node: SyntaxTreeNode) -> bool:
        """Whether a block stood right under the one before it, and may."""
        start = node.map[0] if node.map else 0
        if not self._lines[start - 1].strip(" \t>"):
            return False
        if before in ("heading", "fence", "hr") or node.type == "list_item":
            return True
        numbered = node.type == "ordered_list" and node.children[0].info != "1"
        return node.type not in ("paragraph", "code_block", "table") and not numbered

    def _paragraph(self, node: SyntaxTreeNode) -> str:
        lines = self._inline(node).strip().split("\n")
        return "\n".join(_begun(line, first=not at) for at, line in enumerate(lines))

    def _heading(self, node: SyntaxTreeNode) -> str:
        words = self._inline(node).replace("\n", " ").strip()
        return f"{'#' * int(node.tag[1:])} {words}"

    def _code_block(self, node: SyntaxTreeNode) -> str:
        content = _unsigned(node.content.removesuffix("\n"))
        longest = max((len(run) for run in re.findall("`+", content)), default=0)
        if longest > 2:
            content = unlinked(content)  # another reader may see the code end there
        fence = "`" * max(3, longest + 1)
        language = _LANGUAGE.match(node.info.strip())
        return f"{fence}{language[0] if language else ''}\n{content}\n{fence}"

    def _quote(self, node: SyntaxTreeNode) -> str:
        return "\n".join(f"> {line}".rstrip() for line in self._stacked(node).split("\n"))

    def _list(self, node: SyntaxTreeNode) -> str:
        pieces: list[str] = []
        for item in node.children:
            mark = f"{item.info}{item.markup} "
            inside = self._stacked(item).replace("\n", "\n" + " " * len(mark))
            if pieces:
                pieces.append("\n" if self._close("list_item", item) else "\n\n")
            pieces.append((mark + re.sub(r"\n +(?=\n|$)", "\n", inside)).rstrip())
        return "".join(pieces)

    def _table(self, node: SyntaxTreeNode) -> str:
        rows = [row for part in node.children for row in part.children]
        lines: list[str] = []
        for at, row in enumerate(rows):
            cells = [self._inline(cell).replace("\n", " ") for cell in row.children]
            if at and row.map and "|" not in self._lines[row.map[0]]:
                # By the specification a line of text right below a table is a row of it.
                lines += ["", *(cell for other in rows[at:] for cell in self._row_words(other))]
                break
            lines.append("| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", c) for c in cells) + " |")
            if not at:
                lines.append("|" + " --- |" * len(cells))
        return "\n".join(lines)

    def _row_words(self, row: SyntaxTreeNode) -> Iterator[str]:
        words = " ".join(filter(None, (self._inline(cell) for cell in row.children)))
        yield _begun(words, first=True)

    def _inline(self, node: SyntaxTreeNode) -> str:
        """With as few escapes as it takes to be read as it is meant."""
        careful = self._spans(node, escape)
        if "\\" not in careful:
            return careful
        light = self._spans(node, _as_written)
        return light if _shape(light) == _shape(careful) else careful

    def _spans(self, node: SyntaxTreeNode, guard: Callable[[str], str]) -> str:
        return _Spans(self._links, guard, label=False).written(node)


class _Spans:
    """Writes what stands in a line."""

    def __init__(self, links: Links, guard: Callable[[str], str], *, label: bool) -> None:
        self._links = links
        self._guard = guard
        self._label = label
        self._pieces: list[str] = []
        self._words: list[str] = []
        """Not yet written: what stands together is looked at together."""

    def written(self, node: SyntaxTreeNode) -> str:
        self._add(node.children)
        self._flush()
        return _joined(self._pieces)

    def _add(self, nodes: list[SyntaxTreeNode]) -> None:
        for node in nodes:
            kind = node.type
            if kind == "text":
                self._words.append(node.content.replace("\n", " "))
            elif kind in ("em", "strong", "s"):
                self._emphasis(node)
            elif kind == "code_inline":
                self._put(_code(_in_label(node.content) if self._label else node.content))
            elif kind in ("softbreak", "hardbreak"):
                self._put("\n" if kind == "softbreak" else "  \n")
            elif kind == "link":
                self._link(str(node.attrs.get("href", "")), node)
            elif kind == "slack_link":
                self._slack_link(node)
            elif kind == "tag":
                if node.content[:3].lower() == "<br":
                    self._put("<br>")
            else:  # an image, and whatever a later parser may know: its words
                self._add(node.children)

    def _put(self, markdown: str) -> None:
        self._flush()
        self._pieces.append(markdown)

    def _flush(self) -> None:
        text = visible("".join(self._words)).replace("\n", " ")
        self._words = []
        if text:
            self._pieces.append(self._prose(text))

    def _emphasis(self, node: SyntaxTreeNode) -> None:
        inner = self._inside(node, label=self._label)
        core = inner.strip()
        if not core:
            self._put(inner)
            return
        start = inner[: len(inner) - len(inner.lstrip())]
        self._put(f"{start}{node.markup}{core}{node.markup}{inner[len(inner.rstrip()) :]}")

    def _inside(self, node: SyntaxTreeNode, *, label: bool) -> str:
        return _Spans(self._links, self._guard, label=label).written(node)

    def _link(self, url: str, node: SyntaxTreeNode) -> None:
        words = _words_of(node)
        if self._links.allow(url):
            inside = self._guard(url) if words == url else self._inside(node, label=True)
            self._put(_linked(url, inside, words))
        elif words.isdigit() and ":" not in url:
            self._words.append(f"[{words}] ({url})")
        else:
            self._add(node.children)

    def _slack_link(self, node: SyntaxTreeNode) -> None:
        url, words = node.content, str(node.meta["label"])
        if self._links.allow(url):
            self._put(_linked(url, self._plain(_in_label(visible(words or url))), words or url))
        else:
            self._words.append(words or url)

    def _prose(self, text: str) -> str:
        if self._label:
            return self._plain(_in_label(text))
        pieces: list[str] = []
        at = 0
        for word in WORD.finditer(text):
            if is_address(word[0]):
                start, end = (word.start() + place for place in core(word[0]))
                address = self._address(text[start:end])
                pieces += [self._plain(text[at:start]), address]
                at = end
        return _joined([*pieces, self._plain(text[at:])])

    def _address(self, text: str) -> str:
        if self._links.allow(text):
            return _linked(text, self._guard(text), text)
        return _code(text) if is_address(text) else self._plain(broken(text))

    def _plain(self, text: str) -> str:
        """Words with nothing that any reader of markdown could take for a link or a ping."""
        if not _SIGN.search(text):
            return text
        text = _REMARK.sub(r"\1 (", text.replace("`", LOOKALIKE))
        text = text.replace("](", f"]{BREAK}(")
        text = _ENTITY.sub("&" + BREAK, text)
        text = TAG_START.sub("<" + BREAK, text)
        return self._guard(unpinged(text)).replace("\\<", "<").replace("\\][", "][")


def _joined(pieces: list[str]) -> str:
    """One after the other; two that are code stay two."""
    shown = [piece for piece in pieces if piece]
    for at in range(1, len(shown)):
        if shown[at].startswith("`") and shown[at - 1].endswith("`"):
            shown[at] = BREAK + shown[at]
    return "".join(shown)


def _in_label(text: str) -> str:
    """A label can't end its own link early."""
    return re.sub(r"[\[\]]", "", unlinked(text))


def _linked(url: str, label: str, words: str) -> str:
    """A link whose label says where it leads, when it names another place."""
    host = host_of(url)
    said = words.endswith(f"({host})")
    if not said and any(is_address(w) and not _leads(w, host) for w in WORD.findall(words)):
        label = f"{label.strip()} ({unlinked(host)})"
    return f"[{label.strip() or 'link'}]({written(url)})"


def _leads(word: str, host: str) -> bool:
    start, end = core(word)
    shown = re.sub("^https?://", "", word[start:end].lower())
    return shown.startswith(host) and shown[len(host) : len(host) + 1] in ("", "/", ":", "?", "#")


def _code(content: str) -> str:
    content = _unsigned(content)
    if "`" in content:
        return code_span(unlinked(content))  # a reader of fewer rules would see it end there
    return f"`{content}`" if content.strip() == content else code_span(content)


def _unsigned(code: str) -> str:
    """Code keeps every character, except that Slack's control sequences are broken."""
    return re.sub("<(?=[!@#])", f"<{BREAK}", code)


def _words_of(node: SyntaxTreeNode) -> str:
    return "".join(inner.content for inner in node.walk(include_self=False) if not inner.children)


def _begun(line: str, *, first: bool) -> str:
    """A line of a paragraph that begins nothing else."""
    if label := _DEFINITION.match(line):
        return f"{label[0]}{BREAK}{line[label.end() :]}"
    sign = _LINE_SIGN.match(line)
    if not sign:
        return line
    at = sign.end()
    if number := _NUMBER.match(line, at):
        if not first and number[0] != "1":
            return line  # only a list that counts from one may interrupt a paragraph
        at = number.end()
    return f"{line[:at]}\\{line[at:]}"


def _as_written(text: str) -> str:
    return text


def _shape(markdown: str) -> list[tuple[str, str]]:
    """What a line is read as."""
    found = tree_of(f"x {markdown}").walk(include_self=False)
    return [(node.type, node.content if not node.children else "") for node in found]
