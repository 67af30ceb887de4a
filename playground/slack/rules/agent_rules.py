"""Rules for the blocks that agents answer with: tables, plans and their tasks, rich text.

Limits: docs.slack.dev/reference/block-kit/blocks, data-table-block, table-block, plan-block and
task-card-block. That a plan's title is a bare string, and that `pending` is for tasks inside a
plan, is what workspaces were seen to enforce beyond those pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playground.slack.rules.rule_parts import Json, Problems, count, items, length, problem, url

MAX_COLUMNS = 20
TABLE_ROWS = 100
DATA_TABLE_ROWS = 201
TABLE_CHARACTERS = {"table": 10_000, "data_table": 20_000}
"""In all cells of one block, and of all such blocks of a message."""
CELLS = ("raw_text", "raw_number", "rich_text")
TASK_STATES = ("pending", "in_progress", "complete", "error")


def table(block: Json, where: str) -> Problems:
    yield from count(block.get("rows"), f"{where}/rows", TABLE_ROWS)
    yield from _rows(block.get("rows"), f"{where}/rows")
    settings = block.get("column_settings")
    if settings is not None:
        yield from count(settings, f"{where}/column_settings", MAX_COLUMNS, dict, type(None))
        for pointer, setting in items(settings, f"{where}/column_settings", MAX_COLUMNS):
            if setting.get("align", "left") not in ("left", "center", "right"):
                yield problem("must be a valid enum value", f"{pointer}/align")
            if not isinstance(setting.get("is_wrapped", False), bool):
                yield problem("must be a boolean", f"{pointer}/is_wrapped")


def data_table(block: Json, where: str) -> Problems:
    if "caption" not in block:
        yield problem("missing required field: caption", where)
    else:
        yield from _string(block["caption"], f"{where}/caption")
    rows = block.get("rows")
    yield from count(rows, f"{where}/rows", DATA_TABLE_ROWS, list)
    if isinstance(rows, list) and len(rows) == 1:
        yield problem("must provide a list with at least 2 items", f"{where}/rows")
    yield from _rows(rows, f"{where}/rows", header=CELLS[:2])
    widths = [len(row) for row in _lists(rows)]
    if any(width != widths[0] for width in widths):
        yield problem("all rows must have the same number of values", f"{where}/rows")
    yield from _whole(block, "page_size", 1, 100, where)
    yield from _whole(block, "row_header_column_index", 0, max([*widths[:1], 1]) - 1, where)


def plan(block: Json, where: str) -> Problems:
    if "title" not in block:
        yield problem("missing required field: title", where)
    else:
        yield from _string(block["title"], f"{where}/title")
    tasks = block.get("tasks", [])
    if not isinstance(tasks, list):
        yield problem("must be an array", f"{where}/tasks")
    seen: set[str] = set()
    for pointer, task in items(tasks, f"{where}/tasks", 1_000):
        if task.get("type", "task_card") != "task_card":
            yield problem(f"unsupported type: {task.get('type')}", f"{pointer}/type")
        yield from _task(task, pointer, TASK_STATES)
        if str(task.get("task_id")) in seen:
            yield problem(f"task_id {task.get('task_id')!r} already exists", f"{pointer}/task_id")
        seen.add(str(task.get("task_id")))


def task_card(block: Json, where: str) -> Problems:
    """One that stands alone waits for nothing: `pending` is refused."""
    yield from _task(block, where, TASK_STATES[1:])


def rich_text(block: Json, where: str) -> Problems:
    kinds = ("section", "list", "preformatted", "quote")
    yield from count(block.get("elements"), f"{where}/elements", 1000)
    for pointer, element in items(block.get("elements"), f"{where}/elements", 1000):
        if element.get("type") not in [f"rich_text_{kind}" for kind in kinds]:
            yield problem(f"unsupported type: {element.get('type')}", f"{pointer}/type")
        elif not isinstance(element.get("elements"), list):
            yield problem("missing required field: elements", pointer)
        else:
            yield from _pieces(element, pointer)


def too_much_in_tables(blocks: Sequence[Any]) -> Problems:
    """Of each table, and of all tables of a message together."""
    for kind, most in TABLE_CHARACTERS.items():
        total = 0
        for number, block in enumerate(blocks):
            if isinstance(block, Mapping) and block.get("type") == kind:
                total += sum(_characters(cell) for row in _lists(block.get("rows")) for cell in row)
                if total > most:
                    said = f"table cells must be less than {most + 1} characters"
                    yield problem(said, f"/blocks/{number}/rows")
                    break


def _rows(rows: object, where: str, *, header: Sequence[str] = CELLS) -> Problems:
    for number, row in enumerate(rows if isinstance(rows, list) else []):
        pointer = f"{where}/{number}"
        yield from count(row, pointer, MAX_COLUMNS)
        for cell_pointer, cell in items(row, pointer, MAX_COLUMNS):
            kind = cell.get("type")
            if kind not in (header if number == 0 else CELLS):
                yield problem(f"unsupported type: {kind}", f"{cell_pointer}/type")
            elif kind == "rich_text":
                yield from rich_text(cell, cell_pointer)
            elif kind == "raw_text":
                yield from length(cell.get("text"), f"{cell_pointer}/text", 20_000)
            else:
                yield from _number(cell, cell_pointer)


def _number(cell: Json, where: str) -> Problems:
    value = cell.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield problem("must be a number", f"{where}/value")
    if "text" in cell:
        yield from length(cell["text"], f"{where}/text", 20_000)


def _task(task: Json, where: str, states: Sequence[str]) -> Problems:
    for name in ("task_id", "title"):
        if name not in task:
            yield problem(f"missing required field: {name}", where)
        else:
            yield from _string(task[name], f"{where}/{name}")
    if task.get("status", "complete") not in states:
        yield problem("must be a valid enum value", f"{where}/status")
    for name in ("details", "output"):
        if name not in task:
            continue
        if not isinstance(task[name], dict) or task[name].get("type") != "rich_text":
            yield problem("must be an object of type rich_text", f"{where}/{name}")
        else:
            yield from rich_text(task[name], f"{where}/{name}")
    if "sources" in task:
        yield from count(task["sources"], f"{where}/sources", 1_000)
        for pointer, source in items(task["sources"], f"{where}/sources", 1_000):
            if source.get("type") != "url":
                yield problem(f"unsupported type: {source.get('type')}", f"{pointer}/type")
            yield from url(source.get("url"), f"{pointer}/url")
            yield from length(source.get("text"), f"{pointer}/text", 3_000)


def _pieces(element: Json, where: str) -> Problems:
    for pointer, piece in items(element["elements"], f"{where}/elements", 1_000):
        kind = str(piece.get("type"))
        if kind.startswith("rich_text_") and isinstance(piece.get("elements"), list):
            yield from _pieces(piece, pointer)
        elif kind == "text":
            yield from length(piece.get("text"), f"{pointer}/text", 40_000)


def _string(value: object, where: str) -> Problems:
    if not isinstance(value, str):
        yield problem("must provide a string", where)
    elif not value:
        yield problem("must be more than 0 characters", where)


def _whole(block: Json, name: str, least: int, most: int, where: str) -> Problems:
    value = block.get(name, least)
    if isinstance(value, bool) or not isinstance(value, int):
        yield problem("must be an integer", f"{where}/{name}")
    elif value < least:
        yield problem(f"must be greater than or equal to {least}", f"{where}/{name}")
    elif value > most:
        yield problem(f"must be less than or equal to {most}", f"{where}/{name}")


def _lists(rows: object) -> list[list[Any]]:
    return [row for row in rows if isinstance(row, list)] if isinstance(rows, list) else []


def _characters(cell: Any) -> int:
    """Characters that a cell shows."""
    if isinstance(cell, Mapping):
        own = cell.get("text")
        if isinstance(own, str):
            return len(own)
        inside = cell.get("elements")
        return sum(map(_characters, inside)) if isinstance(inside, list) else 0
    return 0
