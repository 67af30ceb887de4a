"""A Slack workspace: its people, sockets, events, faults."""
