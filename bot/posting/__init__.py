"""Posts answers to Slack, streamed or whole, once, even after a crash."""
