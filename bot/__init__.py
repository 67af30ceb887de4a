"""The Slack bot: receives events, works them off and monitors itself."""
