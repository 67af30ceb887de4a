"""What Slack refuses in blocks: types, places, limits."""
