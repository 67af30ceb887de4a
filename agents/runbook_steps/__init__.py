"""The numbered steps of a runbook's section, read out of its chunks without losing a word."""
