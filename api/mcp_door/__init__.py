"""The Model Context Protocol: the same agents as tools of other assistants."""
