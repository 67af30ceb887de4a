"""Slack's protocol: the Web API, sockets, events, threads."""
