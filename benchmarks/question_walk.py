"""What one question passes on its way through `bot/`: modules, functions, ways out.

    python -m benchmarks.question_walk

A mention is answered over the real Socket Mode by agents that answer at once; every function of
`bot/` that runs between the event's arrival and its answer is noted. Reading fewer files to follow
a question is what the rooms of `bot/` are for."""

from __future__ import annotations

import ast
import threading
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from rich.console import Console
from rich.table import Table
from sqlalchemy import create_engine

from agents.answer import Answer, Question
from agents.steps import Progress
from benchmarks.material.bare_bot import bare_bot
from config.domain import Domain, Sources
from config.settings import Settings
from playground.slack_stand_in import SlackStandIn

BOT = Path(__file__).resolve().parents[1] / "bot"
CHANNEL = "C0SECURITY"
SAME_FOR_EVERY_CALL = (
    "slack/client.py", "bus/inbox.py", "bus/stored_items.py", "slack/socket_mode.py",
)  # fmt: skip
"""How Slack is reached and how items are stored: not what happens to a question."""


class Walk:
    """Notes each function of `bot/` at its first call while `on`."""

    def __init__(self) -> None:
        self.on = False
        self.functions: dict[tuple[str, int], str] = {}

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if not self.on or event != "call" or not code.co_filename.startswith(str(BOT)):
            return
        module = str(Path(code.co_filename).relative_to(BOT))
        if not module.startswith(SAME_FOR_EVERY_CALL) and not code.co_name.startswith("<"):
            self.functions.setdefault((module, code.co_firstlineno), code.co_name)


def answer_at_once(question: Question, progress: Progress | None) -> Answer:
    return Answer(text="Every 90 days.", path="company_specific_rag_success", confidence=0.9)


def walked() -> Walk:
    """A mention, answered; the threads of the bot start with the profiler in them."""
    walk = Walk()
    threading.setprofile(walk)
    with TemporaryDirectory() as folder, SlackStandIn() as slack:
        settings = Settings.model_validate(
            {
                "slack_bot_token": slack.bot_token,
                "slack_app_token": slack.app_token,
                "slack_signing_secret": slack.signing_secret,
                "slack_api_url": slack.api_url,
                "data_dir": Path(folder),
                "database_url": None,
            }
        )
        engine = create_engine(f"sqlite:///{folder}/state.sqlite")
        domain = Domain(domain="keys", title="Keys", channels=[CHANNEL], sources=Sources())
        bot = bare_bot(settings, domain, engine, ask=lambda name: answer_at_once)
        bot.start()
        walk.on = True
        thread = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> how often?")
        slack.wait_for_reply(CHANNEL, thread, until=_is_answered)
        walk.on = False
        bot.stop(5.0)
        engine.dispose()
    return walk


def _is_answered(message: dict[str, Any]) -> bool:
    payload = message.get("metadata", {}).get("event_payload", {})
    return bool(payload.get("state") == "answered")


def returns(module: str, line: int) -> int:
    """`return` statements of the function whose definition begins at this line."""
    tree = ast.parse((BOT / module).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first == line:
                return sum(isinstance(inside, ast.Return) for inside in ast.walk(node))
    return 0


def main() -> None:
    functions = walked().functions
    by_module: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for (module, line), name in functions.items():
        by_module[module].append((line, name))
    table = Table("module of bot/", "functions passed", "returns", box=None)
    ways_out = 0
    for module, passed in by_module.items():
        count = sum(returns(module, line) for line, _ in passed)
        ways_out += count
        table.add_row(module, ", ".join(name for _, name in passed), str(count))
    console = Console(width=160)
    console.print(table)
    console.print(f"{len(by_module)} modules, {len(functions)} functions, {ways_out} returns")


if __name__ == "__main__":
    main()
