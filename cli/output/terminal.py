"""Answers and documents on a terminal or in a pipe. Links and commands stay on one line; control
characters in untrusted text are made visible."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import typer

from agents.answer import Answer, Citation, Passage
from agents.confidence import confidence_level

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.segment import Segment


_OBEYED = {code: " " for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def visible(text: str) -> str:
    """Replace control characters that move the cursor, set colors or rename the window."""
    return text.translate(_OBEYED)


def lines_console() -> Console:
    """For lines with markup. The terminal wraps them at its width; a pipe gets them whole."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def table_console() -> Console:
    """For tables: at the terminal's width, and in a pipe one line per row."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else _NEVER_BROKEN)


_NEVER_BROKEN = 10_000
"""Width in columns for output that must not wrap."""


def markdown_shown(text: str) -> Markdown:
    """Treats HTML-like text such as `--key <id>` as plain text, and does not wrap code."""
    return _as_markdown(_parser().parse(text))


def print_markdown(text: str, *, margin: int = 0) -> None:
    """Wrap prose at the terminal's width, without breaking links and long words.

    In a pipe the text stays as is, one line per paragraph."""
    text = visible(text)
    if not sys.stdout.isatty():
        lines = text.strip().splitlines()
        typer.echo("\n".join(" " * margin + line if line else "" for line in lines))
        return
    from rich.console import Console
    from rich.padding import Padding

    console = Console(highlight=False)
    for number, block in enumerate(_blocks(_parser().parse(text))):
        if number:
            console.print()
        if block[0].type == "table_open":
            console.print(Padding(_as_markdown(block), (0, 0, 0, margin)))
            continue
        whole = console.options.update_width(_NEVER_BROKEN)
        for line in console.render_lines(_as_markdown(block, _BLANK_IN_CODE), whole, pad=False):
            _print_wrapped(line, margin, console)


def _print_wrapped(line: list[Segment], margin: int, console: Console) -> None:
    """Wrap at spaces only; continuation lines are indented to the first word."""
    from rich.cells import cell_len
    from rich.text import Text

    text = Text.assemble(*((one.text, one.style or "") for one in line if not one.control))
    text.rstrip()
    if not text.plain:
        return
    lead = re.match(r" *(?:[•*-]|\d+\.?)? *", text.plain)
    indent = margin + len(lead[0] if lead else "")
    breaks, used = [], margin
    for word in re.finditer(r"[^ ]+ *", text.plain):
        if used + cell_len(word[0].rstrip(" ")) > console.width and used > indent:
            breaks.append(word.start())
            used = indent
        used += cell_len(word[0])
    for number, part in enumerate(text.divide(breaks)):
        part.rstrip()
        part.plain = part.plain.replace(_BLANK_IN_CODE, " ")
        before = " " * (indent if number else margin)
        console.print(Text(before).append_text(part), soft_wrap=True)


def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    html = ["html_inline", "html_block"]
    return MarkdownIt().enable(["strikethrough", "table"]).disable(html)


def _blocks(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """Split tokens into blocks: paragraphs, lists, tables and so on."""
    block: list[Token] = []
    depth = 0
    for token in tokens:
        block.append(token)
        depth += token.nesting
        if depth == 0:
            yield block
            block = []


_BLANK_IN_CODE = "\ue000"
"""A non-breaking placeholder for spaces in code, from Unicode's private use area."""


def _as_markdown(tokens: list[Token], blank: str = " ") -> Markdown:
    """`blank` replaces spaces within code."""
    from rich.console import ConsoleOptions, RenderResult
    from rich.markdown import CodeBlock, Markdown
    from rich.padding import Padding
    from rich.text import Text

    class Code(CodeBlock):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            code = Text(str(self.text).rstrip().replace(" ", blank))
            yield Padding(code, (0, 0, 0, 2), expand=False)

    class Unbroken(Markdown):
        elements = {**Markdown.elements, "fence": Code, "code_block": Code}  # noqa: RUF012 - rich's

    for inline in (child for token in tokens for child in token.children or ()):
        if inline.type == "code_inline":
            inline.content = inline.content.replace(" ", blank)
    text = Unbroken("")
    text.parsed = tokens
    return text


def print_answer(answer: Answer, *, question: str = "", domain: str = "") -> None:
    """Print the answer and its sources, worded like a reply in a thread.

    `question` and `domain`: for the suggested follow-up commands."""
    print_markdown(answer.lead if answer.passages else answer.text)
    _print_passages(answer.passages, origin=answer.from_title)
    for other in answer.beside:
        _print_passages(other.passages, origin=other.title)
    for command in _commands(answer, question, domain):
        typer.echo(f"{typer.style('→', fg='cyan')} {visible(command)}")
    if not answer.passages:
        _print_sources(answer)
    if notes := "  ".join(_notes(answer)):
        typer.echo("\n" + typer.style(notes, dim=True))


def _commands(answer: Answer, question: str, domain: str) -> Iterator[str]:
    """Follow-up commands to copy."""
    for option in answer.options:
        yield f"oncall ask {domain} {shlex.quote(option)}"
    for other in answer.beside:
        yield f"oncall ask {other.domain} {shlex.quote(question or '…')}"


def _print_passages(passages: tuple[Passage, ...], *, origin: str) -> None:
    """`origin`: the domain's title, if the domain was chosen automatically."""
    if passages and origin:
        typer.echo("\n" + typer.style(f"From {visible(origin)}", bold=True))
    for passage in passages:
        typer.echo()
        pictured = ", as a model described it" if passage.citation.from_picture else ""
        typer.echo(_place(passage.citation) + pictured)
        typer.echo(_address(passage.citation).strip())
        print_markdown(passage.text, margin=3)


def _print_sources(answer: Answer) -> None:
    """Citations of the same place share its lines."""
    if answer.citations:
        marks: dict[str, list[str]] = {}
        for citation in answer.citations:
            where = f"{_place(citation)}\n{_address(citation)}"
            marks.setdefault(where, []).append(f"[{citation.number}]")
        typer.echo()
        for where, numbers in marks.items():
            typer.echo(f"{' '.join(numbers)} {where}".rstrip())
    elif answer.nearest:
        typer.echo("\n" + typer.style("The nearest documents", bold=True))
        for citation in answer.nearest:
            typer.echo(f"• {_place(citation)}\n{_address(citation)}".rstrip())


def _place(citation: Citation) -> str:
    name = " › ".join(dict.fromkeys(filter(None, (citation.title, citation.heading))))
    page = f" · page {citation.page}" if citation.page else ""
    age = f" · {citation.modified_at:%Y-%m-%d}" if citation.modified_at else ""
    picture = " · a picture there" if citation.from_picture else ""
    titled = typer.style(visible(name or citation.document), fg="cyan", bold=True)
    return titled + page + age + picture


def _address(citation: Citation) -> str:
    """The URL, or the path of a file without one."""
    where = citation.url or citation.document
    return f"    {typer.style(visible(where), fg='blue')}" if where else ""


def _notes(answer: Answer) -> Iterator[str]:
    """Yields caveats for the reader, without details of how the answer was made."""
    has_note = answer.passages or answer.beside or answer.found_nothing
    if answer.from_title and not has_note:
        yield f"From {answer.from_title}."
    if answer.path == "company_specific_rag_failure":
        yield "I am not sure of this: read the sources before you act on it."
    elif answer.from_documents:
        yield f"Confidence: {confidence_level(answer.confidence)}."
    elif answer.path == "general_llm_knowledge":
        yield "General knowledge, not from your team's documents."
    if answer.path == "cached":
        yield "The same was asked before."
    yield from answer.notices
    if answer.degraded and not (answer.spent or answer.passages):
        yield "The language model didn't answer, so this may be less than it could be."
