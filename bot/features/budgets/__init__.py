"""Warns of a daily budget for the language model that is nearly spent, and reports a spent one."""
