"""Previews of links to documents, for everyone who may read them."""
