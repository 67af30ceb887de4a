from __future__ import annotations

from config.servers.capabilities import LIFETIME, Capabilities, suspects


def test_a_fallback_is_tried_again_after_an_hour() -> None:
    now = [0.0]
    record = Capabilities(lambda: now[0])
    record.learn({"schema": 1}, LIFETIME)
    now[0] = LIFETIME - 1
    record.learn({"schema": 1, "limit": 1}, LIFETIME)
    assert record.fallbacks() == {"schema": 1, "limit": 1}
    now[0] = LIFETIME
    assert record.fallbacks() == {"limit": 1}


def test_suspects_come_one_by_one_and_then_together() -> None:
    trials = [*suspects(("temperature", "limit"), {"schema": 2})]
    assert trials == [
        {"schema": 2, "temperature": 1},
        {"schema": 2, "limit": 1},
        {"schema": 2, "limit": 2},
        {"schema": 2, "temperature": 1, "limit": 2},
    ]
