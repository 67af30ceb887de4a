"""Markdown as Slack's older mrkdwn, for a workspace that refuses `markdown` blocks. Pure."""

from __future__ import annotations

from markdown_it.tree import SyntaxTreeNode

from bot.message.blockkit import link
from bot.message.harmless.answer_tree import numbered, tree_of
from bot.message.harmless.harmless_words import LOOKALIKE, escaped, mrkdwn, unlinked
from bot.message.harmless.web_address import Links

_SIGNS = {"em": "_", "strong": "*", "s": "~"}


def as_mrkdwn(markdown: str, links: Links) -> str:
    """What `defang` made of an answer: its code stays code, its links links."""
    return _stacked(tree_of(markdown), links)


def _stacked(parent: SyntaxTreeNode, links: Links) -> str:
    apart = "\n" if parent.type in ("list_item", "bullet_list", "ordered_list") else "\n\n"
    return apart.join(filter(None, (_block(node, links) for node in parent.children)))


def _block(node: SyntaxTreeNode, links: Links) -> str:
    if node.type in ("fence", "code_block"):
        content = node.content.removesuffix("\n")
        whole = content if "```" not in content else unlinked(content.replace("```", "'''"))
        return f"```\n{escaped(whole)}\n```"
    if node.type == "blockquote":
        return "\n".join(f"> {line}" for line in _stacked(node, links).split("\n"))
    if node.type in ("ordered_list", "bullet_list"):
        items = enumerate(node.children)
        return "\n".join(_item(item, numbered(node, count), links) for count, item in items)
    if node.type == "hr":
        return "———"
    if node.type == "tr":
        return " | ".join(_spans(cell.children, links) for cell in node.children)
    if node.type == "heading":
        return f"*{_spans(node.children, links)}*"
    return _spans(node.children, links) if node.type == "paragraph" else _stacked(node, links)


def _item(node: SyntaxTreeNode, number: str, links: Links) -> str:
    """Indented below its mark, but for code: what is copied from there has no spaces before it."""
    shown = []
    for block in node.children:
        text = _block(block, links)
        is_code = block.type in ("fence", "code_block")
        shown.append(text if is_code else text.replace("\n", "\n    "))
    mark = f"{number}{node.markup}" if number else "•"
    inside = [
        one if one.startswith("```") or at == 0 else f"    {one}" for at, one in enumerate(shown)
    ]
    return f"{mark} " + "\n".join(filter(None, inside))


def _spans(nodes: list[SyntaxTreeNode], links: Links) -> str:
    return "".join(_span(node, links) for node in nodes)


def _span(node: SyntaxTreeNode, links: Links) -> str:
    if node.type == "text":
        return mrkdwn(node.content.replace("`", LOOKALIKE))
    if node.type == "code_inline":
        content = node.content
        whole = content if "`" not in content else unlinked(content.replace("`", LOOKALIKE))
        return f"`{escaped(whole)}`"
    if node.type in ("softbreak", "hardbreak", "tag"):
        return "\n"
    inner = _spans(node.children, links)
    if node.type == "link" and links.allow(url := str(node.attrs.get("href", ""))):
        words = "".join(n.content for n in node.walk(include_self=False) if not n.children)
        return link(url, words)
    sign = _SIGNS.get(node.type, "") if inner.strip() else ""
    return f"{sign}{inner}{sign}"
