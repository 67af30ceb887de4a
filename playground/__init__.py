"""Local stand-ins for Slack, Google and a model server, over their wire protocols."""
