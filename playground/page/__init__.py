"""The page that shows the workspace in a browser."""
