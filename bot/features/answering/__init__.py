"""From a mention to its reply: intake, limits, attempts."""
