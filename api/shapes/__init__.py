"""What is sent to the API and what comes back, as its OpenAPI page says it, with examples."""
