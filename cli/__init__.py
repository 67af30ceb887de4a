"""The `oncall` command, and everything that prints to a terminal."""
