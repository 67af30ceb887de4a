"""Local files and exports: HTML, Markdown, Word, PDF, text."""
