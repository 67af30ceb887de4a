"""Slack, asked about an installation: its tokens, what they may do, its channels."""
