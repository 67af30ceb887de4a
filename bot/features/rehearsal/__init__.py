"""Rehearsals: past alerts as a private drill, in a direct message."""
