"""Messages and views as the page shows them: Slack's JSON, with safe HTML beside every text."""

from __future__ import annotations

from html import escape
from typing import Any

from playground.page.emoji import EMOJI, with_emoji
from playground.page.safe_markup import TABLE_OPEN, Markup, link, marked, mention
from playground.slack.web_api.chat_methods import streaming
from playground.slack.workspace import Json

_STYLES = (("code", "code"), ("bold", "strong"), ("italic", "em"), ("strike", "s"))
_SHOWN = ("ts", "thread_ts", "user", "username", "edited", "files", "subtype", "ephemeral_to")


class Render:
    """Everything returned is a copy that may go to a browser."""

    def __init__(self, markup: Markup) -> None:
        self.markup = markup

    def message(self, message: Json) -> Json:
        shown: Json = {name: message[name] for name in _SHOWN if name in message}
        blocks = [] if "client_msg_id" in message else message.get("blocks", [])
        attachments = [self._attachment(item) for item in message.get("attachments", [])]
        return {
            **shown,
            "bot": "bot_id" in message,
            "html": "" if blocks else self.markup.mrkdwn(message.get("text", "")),
            "source": self.markup.plain(message.get("text", "")),
            "blocks": self.decorated(blocks),
            "attachments": attachments,
            "reactions": [
                {**reaction, "character": EMOJI.get(reaction["name"], f":{reaction['name']}:")}
                for reaction in message.get("reactions", [])
            ],
            "streaming": streaming(message, self.markup.workspace.clock()),
        }

    def decorated(self, node: Any) -> Any:
        """A copy in which every text object has its `html`, or its emoji in place."""
        if isinstance(node, list):
            return [self.decorated(item) for item in node]
        if not isinstance(node, dict):
            return node
        kind, text = node.get("type"), node.get("text")
        if kind == "mrkdwn" and isinstance(text, str):
            return {**node, "html": self.markup.mrkdwn(text)}
        if kind == "plain_text" and isinstance(text, str):
            return {**node, "text": with_emoji(text)}
        if kind == "markdown" and isinstance(text, str):
            return {**node, "html": self.markup.markdown(text)}
        if kind == "rich_text":
            return {**node, "html": self.rich_text(node)}
        if kind == "table":
            return {"type": "table", "html": self.table(node)}
        if kind == "data_table":
            return self.data_table(node)
        if kind == "url" and isinstance(text, str):
            return {**node, "html": link(str(node.get("url", "")), text)}
        return {name: self.decorated(value) for name, value in node.items()}

    def rich_text(self, block: Json) -> str:
        return "".join(self._rich(element) for element in block.get("elements", []))

    def table(self, block: Json) -> str:
        """The first row is the head, as Slack shows it."""
        settings = block.get("column_settings") or []
        rows = []
        for number, row in enumerate(block.get("rows", [])):
            tag = "td" if number else "th"
            cells = [
                f"<{tag}{_align(settings, column)}>{self._cell(cell)}</{tag}>"
                for column, cell in enumerate(row)
            ]
            rows.append(f"<tr>{''.join(cells)}</tr>")
        head, body = rows[:1], rows[1:]
        inside = f"<thead>{''.join(head)}</thead><tbody>{''.join(body)}</tbody>"
        return f"{TABLE_OPEN}<table>{inside}</table></div>"

    def data_table(self, block: Json) -> Json:
        """Cells with what they are sorted by: a column's amounts where all are, else its words."""
        head, *body = [[self._cell(cell) for cell in row] for row in block.get("rows", [])] or [[]]
        raw = block.get("rows", [])[1:]
        numeric = [
            all(row[at].get("type") == "raw_number" for row in raw) for at in range(len(head))
        ]
        by = [[_sorted_by(cell, numeric[at]) for at, cell in enumerate(row)] for row in raw]
        return {
            "type": "data_table",
            "block_id": block.get("block_id", ""),
            "caption": with_emoji(str(block.get("caption", ""))),
            "page_size": int(block.get("page_size", 5)),
            "row_header": int(block.get("row_header_column_index", 0)),
            "numeric": numeric,
            "head": [{"html": html} for html in head],
            "rows": [
                [{"html": html, "by": key} for html, key in zip(*row, strict=True)]
                for row in zip(body, by, strict=True)
            ],
        }

    def _cell(self, cell: Json) -> str:
        if cell.get("type") == "rich_text":
            return self.rich_text(cell)
        text = str(cell.get("text", cell.get("value", "")))
        return marked(escape(with_emoji(text)).replace("\n", "<br>"))

    def _rich(self, element: Json) -> str:
        kind, inside = element.get("type"), element.get("elements", [])
        if kind == "rich_text_list":
            tag = "ol" if element.get("style") == "ordered" else "ul"
            items = "".join(f"<li>{self._rich_inline(item)}</li>" for item in inside)
            start = f' start="{int(element.get("offset", 0)) + 1}"' if tag == "ol" else ""
            return f'<{tag}{start} class="indent-{int(element.get("indent", 0))}">{items}</{tag}>'
        html = self._rich_inline(element)
        if kind == "rich_text_preformatted":
            return f"<pre><code>{html}</code></pre>"
        html = html.replace("\n", "<br>")
        return f"<blockquote>{html}</blockquote>" if kind == "rich_text_quote" else f"<p>{html}</p>"

    def _rich_inline(self, section: Json) -> str:
        return "".join(self._part(part) for part in section.get("elements", []))

    def _part(self, part: Json) -> str:
        kind = part.get("type")
        if kind == "text":
            html = escape(with_emoji(str(part.get("text", ""))))
        elif kind == "link":
            html = link(str(part.get("url", "")), str(part.get("text") or part.get("url", "")))
        elif kind == "emoji":
            html = EMOJI.get(str(part.get("name")), f":{escape(str(part.get('name')))}:")
        elif kind == "broadcast":
            html = mention(f"@{part.get('range')}", "broadcast", "")
        elif kind == "date":
            html = escape(str(part.get("fallback", "")))
        else:
            marks = {"user": "@", "channel": "#", "usergroup": "!subteam^"}
            target = part.get(f"{kind}_id", "")
            html = self.markup.reference(f"{marks[kind]}{target}") if kind in marks else ""
        style = part.get("style") or {}
        for name, tag in _STYLES:
            if style.get(name):
                html = f"<{tag}>{html}</{tag}>"
        return html

    def _attachment(self, attachment: Json) -> Json:
        title = str(attachment.get("title", ""))
        url = str(attachment.get("title_link", ""))
        color = str(attachment.get("color", "")).removeprefix("#")
        return {
            "color": {"good": "good", "warning": "warning", "danger": "danger"}.get(color, color),
            "title": link(url, title) if url else escape(title),
            "html": self.markup.mrkdwn(str(attachment.get("text") or "")),
            "pretext": self.markup.mrkdwn(str(attachment.get("pretext") or "")),
            "fields": [
                {
                    "title": str(field.get("title", "")),
                    "html": self.markup.mrkdwn(str(field.get("value", ""))),
                }
                for field in attachment.get("fields", [])
            ],
            "blocks": self.decorated(attachment.get("blocks", [])),
            "footer": str(attachment.get("footer", "")),
        }


def _sorted_by(cell: Json, numeric: bool) -> float | str:
    if numeric:
        return float(cell["value"])
    return _words(cell).casefold()


def _words(element: Json) -> str:
    inside = element.get("elements") or []
    return str(element.get("text", "")) + "".join(_words(one) for one in inside)


def _align(settings: list[Any], column: int) -> str:
    wish = settings[column].get("align") if column < len(settings) and settings[column] else None
    return f' class="{wish}"' if wish in ("center", "right") else ""
