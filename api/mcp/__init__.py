"""The Model Context Protocol: the same agents as tools for other assistants."""
