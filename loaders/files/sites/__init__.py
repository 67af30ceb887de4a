"""Reads what site generators add to Markdown: headers, boxes, tabs and tags."""
