"""Replays golden questions before a new index or configuration goes live."""
