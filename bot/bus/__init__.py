"""Durable events and timers: stored before Slack gets its ack, handled once."""
