"""Durable work: stored before it is acknowledged, worked off once."""
