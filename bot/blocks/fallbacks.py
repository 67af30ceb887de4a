"""Fallback versions of a message, with older kinds of blocks in place of newer ones. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bot.blocks.kit import Json, actions, button, characters, context, section
from bot.blocks.markdown import as_mrkdwn, fit_pieces
from bot.blocks.plan import current_status
from bot.blocks.render import FEEDBACK, SlackMessage
from bot.blocks.sanitize.markdown import sanitize_markdown
from bot.blocks.sanitize.text import Links, sanitize_mrkdwn
from bot.blocks.tables import Grid, aligned, compact, grid_of, table_block

NEWEST = frozenset(("data_table", "plan"))
NEWER = NEWEST | {"markdown", "table", "context_actions"}
"""Kinds of blocks that a workspace may not support."""
SECTION_LIMIT = 2_900
MAX_CHARACTERS = 11_500
"""Characters of all blocks: Slack accepts 12,000 of markdown, and about 13,200 in all."""
AsText = Callable[[Grid], str]


def fallback_versions(message: SlackMessage) -> list[SlackMessage]:
    """The message, then without the newest blocks, then without all newer ones; each form once."""
    versions = [message]
    for form in (older_version(message), plain_version(message)):
        if form.blocks != versions[-1].blocks:
            versions.append(form)
    return versions


def newer_kinds(blocks: Sequence[Json]) -> frozenset[str]:
    return NEWER & {block["type"] for block in blocks}


def older_version(message: SlackMessage) -> SlackMessage:
    """Keeps one table in the older format, since Slack accepts one per message; the others become
    text, and the steps a line."""
    return _rewrite(message, lambda as_text: _older_blocks(message.blocks, message.links, as_text))


def plain_version(message: SlackMessage) -> SlackMessage:
    """The message with sections and buttons only."""

    def plain(as_text: AsText) -> Iterator[Json]:
        for block in message.blocks:
            yield from _plain_block(block, message.links, as_text)

    return _rewrite(message, plain)


def _rewrite(message: SlackMessage, rewrite: Callable[[AsText], Iterator[Json]]) -> SlackMessage:
    """Rewrites with aligned tables, unless their spaces make the message too long for Slack."""
    blocks = list(rewrite(aligned))
    if characters(blocks) > MAX_CHARACTERS:
        blocks = list(rewrite(compact))
    return SlackMessage(text=message.text, blocks=blocks, links=message.links)


def _older_blocks(blocks: Sequence[Json], links: Links, as_text: AsText) -> Iterator[Json]:
    has_table = False
    for block in blocks:
        if block["type"] == "plan":
            yield _step_line(block)
        elif block["type"] != "data_table":
            yield block
        elif has_table:
            yield {"type": "markdown", "text": sanitize_markdown(as_text(grid_of(block)), links)}
        else:
            has_table = True
            yield table_block(grid_of(block))


def _plain_block(block: Json, links: Links, as_text: AsText) -> Iterator[Json]:
    kind = block["type"]
    if kind == "markdown":
        yield from _sections(block["text"], links)
    elif kind in ("data_table", "table"):
        yield from _sections(as_text(grid_of(block)), links)
    elif kind == "plan":
        yield _step_line(block)
    elif kind == "context_actions":
        pair = block["elements"][0]
        yield actions(
            [
                button(side["text"]["text"], f"{FEEDBACK}_{name}", side["value"])
                for name, side in (
                    ("helpful", pair["positive_button"]),
                    ("unhelpful", pair["negative_button"]),
                )
            ]
        )
    else:
        yield block


def _step_line(plan: Json) -> Json:
    return context([f"_{sanitize_mrkdwn(current_status(plan))[:300]}_"], block_id="oncall_status")


def _sections(markdown: str, links: Links) -> Iterator[Json]:
    def older(cut: str) -> str:
        return as_mrkdwn(sanitize_markdown(cut, links), links)

    for piece in fit_pieces(markdown, SECTION_LIMIT, older):
        yield section(piece)
