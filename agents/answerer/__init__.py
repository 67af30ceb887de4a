"""The answer node: writes an answer from its sources, and looks up what is missing."""
