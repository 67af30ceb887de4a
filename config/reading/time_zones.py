"""Time zones by their IANA names, as people write them."""

from __future__ import annotations

from difflib import get_close_matches
from zoneinfo import ZoneInfo, available_timezones


def time_zone_problem(written: str) -> str:
    """What is wrong with a name and which one may be meant; empty when nothing is."""
    try:
        ZoneInfo(written)
    except (KeyError, ValueError, OSError):  # also a path that leads out of the zones, or a folder
        nearest = _nearest(written)
        hint = f"did you mean {nearest!r}?" if nearest else "write it as in Europe/Berlin"
        return f"is no time zone of the IANA database; {hint}"
    return ""


def _nearest(written: str) -> str:
    """By the whole name, or by the city alone; empty when nothing is near."""
    said = written.strip().replace(" ", "_").casefold()
    zones = sorted(available_timezones())
    cities = {zone.rpartition("/")[2].casefold(): zone for zone in zones}
    whole = {zone.casefold(): zone for zone in zones}
    for names in (cities, whole):
        if close := get_close_matches(said, names, n=1, cutoff=0.75):
            return names[close[0]]
    return ""
