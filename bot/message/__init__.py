"""An answer as Slack messages: rendered, shown while it grows, delivered once."""
