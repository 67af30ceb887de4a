"""Google's client, with rate limits, retries and translated errors."""
