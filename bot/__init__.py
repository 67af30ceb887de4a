"""Slack, put together: who listens, what is worked off, who watches."""
