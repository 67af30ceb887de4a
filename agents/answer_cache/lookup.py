"""Looking up what was answered before, as a step of the agents."""

from __future__ import annotations

from dataclasses import replace

from agents.answer import Answer
from agents.answer_cache.cache import AnswerCache
from agents.plan import Trace
from agents.state import State
from telemetry import metrics


def look_up(cache: AnswerCache | None, asked: str, state: State) -> State:
    """The state with `cached`, when `asked` was answered before; told at once."""
    if cache is None:
        return state
    found = cache.find(asked, state["question"], state["snapshot"])
    noted: State = {**state, "notes": (*state["notes"], *([found.note] if found.note else []))}
    looked_up = "hit" if found.answer else "unavailable" if found.unavailable else "miss"
    metrics.ANSWER_CACHE.labels(state["snapshot"].domain, looked_up).inc()
    if found.answer is None:
        return {**noted, "cache_similarity": found.nearest}
    state["progress"].delta(found.answer.text)
    return {**noted, "cached": found.answer}


def cached_answer(state: State, total_ms: float) -> Answer:
    """What the look-up found, with what it took."""
    return replace(
        state["cached"],
        usage=state["usage"],
        timings_ms={**state.get("timings_ms", {}), "total": total_ms},
        trace=Trace(plan=state.get("plan"), notes=state.get("notes", ())),
    )
