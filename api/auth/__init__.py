"""Who may call the API and how often: tokens, addresses, browsers, limits."""
