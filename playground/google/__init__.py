"""Docs, Drive and the token endpoint over HTTP, and a reader for citations."""
