"""The domain files that come with the source are the demo's, and get in nobody's way."""

from __future__ import annotations

from pathlib import Path

import config
from config.domain import Domain
from config.domain_files import domain_paths, read_domain
from config.settings import Settings

SHIPPED = Path(config.__file__).parent
"""Its `domains/` are the demo's; the image has none."""


def is_demo(domain: Domain) -> bool:
    """Whether its file is one that comes with the source, here or in a copy of it.

    A team's file that took its place reads another folder."""
    shipped = SHIPPED / "domains" / domain.path.name
    return (
        domain.sources.google_drive.folders == [f"demo-{domain.domain}"]
        and shipped.is_file()
        and shipped.read_bytes() == domain.path.read_bytes()
    )


def holds_demo(config_dir: Path) -> bool:
    read = (read_domain(path)[0] for path in domain_paths(config_dir))
    return any(domain is not None and is_demo(domain) for domain in read)


def for_the_demo(settings: Settings) -> Settings:
    """The demo's domains, whatever a team's own are; and then a data folder inside the team's, so
    that neither is found in the other's place."""
    if holds_demo(settings.config_dir):
        return settings
    return settings.model_copy(
        update={"config_dir": SHIPPED, "data_dir": settings.data_dir / "demo"}
    )
