"""Untrusted text made safe: no link and no mention that nobody meant."""
