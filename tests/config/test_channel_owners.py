"""Which domain a channel belongs to."""

from __future__ import annotations

from config.domain import Domain, domain_of


def domain(name: str, *channels: str) -> Domain:
    return Domain.model_validate(
        {"domain": name, "title": name, "channels": channels, "sources": {}}
    )


SECURITY, TEA = domain("security", "C0SECURITY", "G0SECURITY"), domain("tea", "C0TEA0")


def test_a_domain_owns_each_of_its_channels() -> None:
    owners = [domain_of((SECURITY, TEA), one) for one in ("C0SECURITY", "C0TEA0", "G0SECURITY")]
    assert owners == [SECURITY, TEA, SECURITY]


def test_nobody_owns_another_channel_a_direct_message_or_none() -> None:
    for channel in ("C0OTHER", "C0TEA", "D0YOU", ""):
        assert domain_of((SECURITY, TEA), channel) is None
