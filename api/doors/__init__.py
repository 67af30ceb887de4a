"""Who may use the API, and how much of it: tokens, addresses, browsers, bounds."""
