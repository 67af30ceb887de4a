"""App Home and the assistant pane."""
