"""The drill: each runbook entry is tried with a made-up alert."""
