"""Rotas from calendars and YAML, and who is on call at a time."""
