"""Pages that people open in a browser: documents without a web address, and notices."""
