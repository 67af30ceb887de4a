"""A rota written by hand: a YAML list of `{from, to, user}`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, tzinfo
from typing import Any

import yaml

from bot.handoff.shift import Shift
from config.errors import ConfigError
from config.parsing.schedules import EMAIL, GROUP, MENTION, USER

_REMEDY = "write each shift as {from: 2026-11-02, to: 2026-11-09, user: U0INES}"
_KEYS = {"from", "to", "user"}
_MAX_SHOWN = 40


def yaml_shifts(text: str, *, rota: str, zone: tzinfo = UTC) -> Iterator[Shift]:
    """Every shift of the list, in UTC; users as Slack ids or e-mail addresses.

    `zone`: of times without one.

    Raises ConfigError that names `rota`, the entry (from 1) and its line."""
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
    except RecursionError:
        raise _wrong(rota, "is nested too deeply") from None
    except yaml.YAMLError as error:
        said = " ".join(str(error).split())
        raise _wrong(rota, f"{_not_a_rota(text)}: {said}") from None
    if root is not None and not isinstance(root, yaml.SequenceNode):
        raise _wrong(rota, _not_a_rota(text))
    if root is None or not root.value:
        raise _wrong(rota, "holds no shifts")
    for number, node in enumerate(root.value, start=1):
        try:
            yield _shift(loader, node, zone)
        except (ValueError, OverflowError, RecursionError, yaml.YAMLError) as error:
            said = " ".join(str(error).split())
            line = node.start_mark.line + 1
            raise _wrong(rota, f"has a wrong shift {number} (line {line}): {said}") from None


def _shift(loader: yaml.SafeLoader, node: yaml.Node, zone: tzinfo) -> Shift:
    entry: Any = loader.construct_document(node)
    if not isinstance(node, yaml.MappingNode):
        raise ValueError(f"expected from, to and user, not {_shown(entry)}")
    keys = [key.value for key, _ in node.value]
    if twice := sorted({str(key) for key in keys if keys.count(key) > 1}):
        raise ValueError(f"{twice[0]!r} is given twice")
    if unknown := [key for key in entry if key not in _KEYS]:
        raise ValueError(f"unknown key {_shown(unknown[0])}")
    if missing := sorted(_KEYS - set(entry)):
        raise ValueError(f"no {' and no '.join(missing)}")
    start, end = _time(entry["from"], zone), _time(entry["to"], zone)
    if end <= start:
        raise ValueError("it ends before it starts")
    return Shift(start, end, _user(entry["user"]))


def _time(value: object, zone: tzinfo) -> datetime:
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day)
    elif isinstance(value, str):
        moment = datetime.fromisoformat(value)
    else:
        raise ValueError(f"{_shown(value)} is no time")
    # In UTC at once: two times of one zone are compared by the clock on the wall, which goes back
    # an hour in autumn.
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)


def _user(value: object) -> str:
    if isinstance(value, str):
        if mentioned := re.fullmatch(MENTION, value):
            return mentioned[1]
        if re.fullmatch(f"{USER}|{GROUP}|{EMAIL}", value):
            return value
    raise ValueError(f"user {_shown(value)} is no Slack user or group id and no e-mail address")


def _shown(value: object) -> str:
    if not isinstance(value, str):
        return f"a {type(value).__name__}" if value is not None else "nothing"
    return repr(value if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]}…")


def _not_a_rota(text: str) -> str:
    begins = text.strip().partition("\n")[0].strip()[:_MAX_SHOWN]
    return f"is neither an iCal calendar nor a list of shifts (it begins with `{begins}`)"


def _wrong(rota: str, problem: str) -> ConfigError:
    return ConfigError(f"the rota {rota!r} {problem}", remedy=_REMEDY)
