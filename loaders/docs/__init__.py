"""Google Docs' JSON to blocks."""
