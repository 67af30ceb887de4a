"""Fetches pictures of documents and questions, checks their bytes and re-encodes them."""
