"""Comments on documents: the one thing that this program writes at Google.

What Drive's guide *Manage comments and replies* says (November 2026): every comments method wants
`fields`; Google's editors show a comment with an `anchor` of ours as one without. So there is none:
the comment names the place in its words, and quotes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from config.errors import ConfigError
from loaders.google.google_client import GoogleClient
from loaders.google.google_errors import GoogleRefused

CommentOutcome = Literal["made", "off", "refused", "gone", "later"]
"""`off`: nobody switched comments on. `later`: Google did not answer properly."""
PAGE = 100


@dataclass(frozen=True, kw_only=True)
class Commented:
    outcome: CommentOutcome
    id: str = ""
    why: str = ""
    """Of a refusal, in words."""


def comment_once(
    client: GoogleClient, document: str, *, mark: str, content: str, quoted: str
) -> Commented:
    """Write a comment, unless one with its mark stands there: a reply may have been lost, or the
    process that asked.

    `mark`: part of the content, and of no other comment's. `quoted`: words of the place meant."""
    body: dict[str, Any] = {"content": content}
    if quoted:
        body["quotedFileContent"] = {"mimeType": "text/plain", "value": quoted}
    request = client.comments.create(fileId=document, body=body, fields="id")
    try:
        made = client.call_unless(lambda: _marked(client, document, mark), request)
    except GoogleRefused as refused:
        return _refused(refused)
    except ConfigError as error:
        return Commented(outcome="refused", why=error.problem)
    return Commented(outcome="made", id=str(made.get("id") or ""))


def _refused(refused: GoogleRefused) -> Commented:
    if refused.temporary or refused.status == 0:
        return Commented(outcome="later", why=refused.in_words())
    if refused.status in (404, 410):
        return Commented(outcome="gone", why=refused.in_words())
    if refused.reason == "insufficientFilePermissions":
        return Commented(outcome="refused", why="my account is no commenter there")
    return Commented(outcome="refused", why=refused.in_words())


def _marked(client: GoogleClient, document: str, mark: str) -> Any:
    comments = client.comments
    request = comments.list(
        fileId=document, fields="nextPageToken,comments(id,content)", pageSize=PAGE
    )
    for page in client.pages(comments, request):
        for comment in page.get("comments") or ():
            if mark in str(comment.get("content") or ""):
                return comment
    return None
