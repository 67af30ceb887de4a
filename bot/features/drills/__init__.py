"""Drills: all runbook entries are tried at night with made-up alerts."""
