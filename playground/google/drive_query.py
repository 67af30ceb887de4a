"""Two small languages of the Drive API: search queries, and the `fields` that a caller wants."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playground.google.memory_drive import StoredFile

Test = Callable[[StoredFile], bool]
Fields = dict[str, "Fields"]

TOKEN = re.compile(r"\s*('(?:[^'\\]|\\.)*'|[(){}]|!=|>=|<=|=|>|<|[\w.]+)")
FIELD_TOKEN = re.compile(r"\s*([\w*]+|[(),/])\s*")


class BadQuery(ValueError):
    """The query or field selection is not one that Drive understands."""


def parse_query(query: str) -> Test:
    """A predicate for `q`: and, or, not, parentheses over parents, name, mimeType, trashed,
    appProperties."""
    if not query.strip():
        return lambda file: True
    reader = _QueryReader(_tokens(TOKEN, query))
    test = reader.disjunction()
    if reader.rest:
        raise BadQuery(f"Invalid Value: unexpected {reader.rest[0]!r}")
    return test


def _tokens(pattern: re.Pattern[str], text: str) -> list[str]:
    found, end = [], 0
    text = text.rstrip()
    while end < len(text):
        match = pattern.match(text, end)
        if not match:
            raise BadQuery(f"Invalid Value at {text[end:]!r}")
        found.append(match[1])
        end = match.end()
    return found


class _QueryReader:
    def __init__(self, tokens: list[str]) -> None:
        self.rest = tokens

    def take(self) -> str:
        if not self.rest:
            raise BadQuery("Invalid Value: the query ends too early")
        return self.rest.pop(0)

    def next_is(self, token: str) -> bool:
        if self.rest and self.rest[0] == token:
            self.rest.pop(0)
            return True
        return False

    def disjunction(self) -> Test:
        tests = [self.conjunction()]
        while self.next_is("or"):
            tests.append(self.conjunction())
        return lambda file: any(test(file) for test in tests)

    def conjunction(self) -> Test:
        tests = [self.term()]
        while self.next_is("and"):
            tests.append(self.term())
        return lambda file: all(test(file) for test in tests)

    def term(self) -> Test:
        if self.next_is("not"):
            negated = self.term()
            return lambda file: not negated(file)
        if self.next_is("("):
            test = self.disjunction()
            if not self.next_is(")"):
                raise BadQuery("Invalid Value: a parenthesis is not closed")
            return test
        left, operator, right = self.take(), self.take(), self.take()
        if (left, operator, right) == ("appProperties", "has", "{"):
            return self.app_property()
        return _comparison(left, operator, right)

    def app_property(self) -> Test:
        words = [self.take() for _ in range(8)]
        if words[0:2] + words[3:6] + words[7:] != ["key", "=", "and", "value", "=", "}"]:
            raise BadQuery("Invalid Value: appProperties has { key='…' and value='…' }")
        key, value = _text(words[2]), _text(words[6])
        return lambda file: file.app_properties.get(key) == value


def _comparison(left: str, operator: str, right: str) -> Test:
    if operator == "in" and right == "parents":
        parent = _text(left)
        return lambda file: parent in file.parents
    if left == "trashed" and operator in {"=", "!="} and right in {"true", "false"}:
        wanted = (right == "true") is (operator == "=")
        return lambda file: file.trashed is wanted
    attributes: dict[str, Callable[[StoredFile], str]] = {
        "mimeType": lambda file: file.mime_type,
        "name": lambda file: file.name,
    }
    if left not in attributes or operator not in {"=", "!=", "contains"}:
        raise BadQuery(f"Invalid Value: {left} {operator}")
    read, value = attributes[left], _text(right)
    if operator == "contains":
        return lambda file: value in read(file)
    return lambda file: (read(file) == value) is (operator == "=")


def _text(token: str) -> str:
    if not token.startswith("'"):
        raise BadQuery(f"Invalid Value: {token} needs quotes")
    return re.sub(r"\\(.)", r"\1", token[1:-1])


def parse_fields(selection: str) -> Fields:
    """`nextPageToken,files(id,owners/displayName)` → nested names; `*` selects everything."""
    tokens = _tokens(FIELD_TOKEN, selection)
    fields = _field_list(tokens)
    if tokens:
        raise BadQuery(f"Invalid field selection {selection}")
    return fields


def _field_list(tokens: list[str]) -> Fields:
    fields: Fields = {}
    while tokens and tokens[0] not in {")", ","}:
        name, here = tokens.pop(0), fields
        if not re.fullmatch(r"\w+|\*", name):
            raise BadQuery(f"Invalid field selection {name}")
        here = here.setdefault(name, {})
        while tokens and tokens[0] == "/":
            tokens.pop(0)
            here = here.setdefault(tokens.pop(0) if tokens else "", {})
        if tokens and tokens[0] == "(":
            tokens.pop(0)
            here.update(_field_list(tokens))
            if not tokens or tokens.pop(0) != ")":
                raise BadQuery("Invalid field selection: a parenthesis is not closed")
        if not tokens or tokens[0] != ",":
            break
        tokens.pop(0)
    return fields


def select(value: Any, fields: Fields) -> Any:
    """Only what was asked for; fields that are not there are left out."""
    if not fields or "*" in fields:
        return value
    if isinstance(value, list):
        return [select(item, fields) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: select(value[name], inner) for name, inner in fields.items() if name in value}
