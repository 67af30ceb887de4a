"""Checks of a draft answer's claims against the sources that it cites."""
