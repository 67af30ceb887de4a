"""What the bot shows unasked: App Home and the agent pane."""
