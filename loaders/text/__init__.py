"""Plain text, links and markdown, as every reader writes them."""
