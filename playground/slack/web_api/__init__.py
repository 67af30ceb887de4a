"""Slack's Web API, method by method."""
